/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Video instructions, read from the text: the name says what is done, a selector's letter and
 * digits what it is done to. Words are arrays of bytes here, and numbers are as long as they like.
 */
#include "softgpu/interp/reference-parts.h"

static bool video_is(const struct slu_ptx_form *form, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(form->row->name, name, n) && strlen(form->row->name + n) <= 1 &&
	       (!form->row->name[n] || strchr("24", form->row->name[n]));
}

/* byte or half @index of the 8 bytes of two words, the first one lowest; a word if @size is 4 */
static __int128 video_part(const uint32_t words[2], unsigned index, unsigned size, bool is_signed)
{
	uint8_t bytes[8];
	__int128 v = 0;

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
	for (unsigned i = 0; i < size; i++)
		v += (__int128)bytes[index * size + i] << 8 * i;
	if (is_signed && bytes[index * size + size - 1] >= 128)
		v -= (__int128)1 << 8 * size;
	return v;
}

static unsigned size_by(const char *selector)
{
	return !*selector ? 4 : selector[1] == 'h' ? 2 : 1;
}

static __int128 video_selected(uint32_t word, const char *selector, bool is_signed)
{
	const uint32_t words[2] = { word, 0 };

	return video_part(words, *selector ? (unsigned)(selector[2] - '0') : 0, size_by(selector),
			  is_signed);
}

static __int128 video_operation(const struct slu_ptx_form *form, __int128 a, __int128 b)
{
	__int128 power = 1;

	if (video_is(form, "vadd"))
		return a + b;
	if (video_is(form, "vsub"))
		return a - b;
	if (video_is(form, "vavrg"))
		return a + b >= 0 ? (a + b + 1) / 2 : floor_shift(a + b, 1);
	if (video_is(form, "vabsdiff"))
		return a - b < 0 ? b - a : a - b;
	if (video_is(form, "vmin"))
		return SLU_MIN(a, b);
	if (video_is(form, "vmax"))
		return SLU_MAX(a, b);
	if (video_is(form, "vshl") || video_is(form, "vshr")) {
		for (__int128 n = HAS(wrap) ? b % 32 : SLU_MIN(b, 32); n > 0; n--)
			power *= 2;
		if (video_is(form, "vshl"))
			return a * power;
		/* downwards */
		return a >= 0 ? a / power : -((-a + power - 1) / power);
	}
	return HAS(eq)	 ? a == b
	       : HAS(ne) ? a != b
	       : HAS(lt) ? a < b
	       : HAS(le) ? a <= b
	       : HAS(gt) ? a > b
			 : a >= b;
}

static __int128 video_saturated(__int128 x, unsigned size, bool is_signed)
{
	__int128 all = (__int128)1 << 8 * size;
	__int128 least = is_signed ? -all / 2 : 0, most = is_signed ? all / 2 - 1 : all - 1;

	return x < least ? least : x > most ? most : x;
}

static uint32_t video_placed(uint32_t word, unsigned index, unsigned size, __int128 x)
{
	for (unsigned i = 0; i < size; i++) {
		unsigned shift = 8 * (index * size + i);

		word &= ~(UINT32_C(0xff) << shift);
		word |= (uint32_t)((unsigned __int128)x >> 8 * i & 0xff) << shift;
	}
	return word;
}

static uint32_t video_scalar(const struct slu_ptx_form *form,
			     const struct dev_reference_video *text, const uint32_t in[3])
{
	bool is_set = video_is(form, "vset");
	bool d_signed = !is_set && form->types[0] == SLU_PTX_TYPE_S32;
	__int128 a =
		video_selected(in[0], text->a, form->types[is_set ? 0 : 1] == SLU_PTX_TYPE_S32);
	__int128 b =
		video_selected(in[1], text->b, form->types[is_set ? 1 : 2] == SLU_PTX_TYPE_S32);
	__int128 t = video_operation(form, a, b), c;

	if (HAS(sat))
		t = video_saturated(t, size_by(text->d), d_signed);
	if (*text->d)
		return video_placed(in[2], (unsigned)(text->d[2] - '0'), size_by(text->d), t);
	/* both as numbers of the destination's type */
	t = video_selected((uint32_t)(unsigned __int128)t, "", d_signed);
	c = video_selected(in[2], "", d_signed);
	if (HAS(add))
		t += c;
	if (HAS(min))
		t = SLU_MIN(t, c);
	if (HAS(max))
		t = SLU_MAX(t, c);
	return (uint32_t)(unsigned __int128)t;
}

static uint32_t video_mad(const struct slu_ptx_form *form, const struct dev_reference_video *text,
			  const uint32_t in[3])
{
	bool a_signed = form->types[1] == SLU_PTX_TYPE_S32;
	bool b_signed = form->types[2] == SLU_PTX_TYPE_S32;
	bool is_minus = text->a_is_minus ^ text->b_is_minus;
	bool is_signed = a_signed || b_signed || is_minus || text->c_is_minus;
	__int128 t =
		video_selected(in[0], text->a, a_signed) * video_selected(in[1], text->b, b_signed);

	if (is_minus)
		t = -t;
	/* ~c + 1, where ~c is a word: that of 0 is 2^32 - 1 or -1 */
	if (text->c_is_minus)
		t += video_selected(UINT32_MAX - in[2], "", is_signed) + 1;
	else
		t += video_selected(in[2], "", is_signed) + (HAS(po) ? 1 : 0);
	t = floor_shift(t, HAS(shr7) ? 7 : HAS(shr15) ? 15 : 0);
	if (HAS(sat))
		t = video_saturated(t, 4, is_signed);
	return (uint32_t)(unsigned __int128)t;
}

static uint32_t video_parallel(const struct slu_ptx_form *form,
			       const struct dev_reference_video *text, const uint32_t in[3])
{
	unsigned n = (unsigned)(form->row->name[strlen(form->row->name) - 1] - '0'), size = 4 / n;
	bool is_set = video_is(form, "vset");
	bool a_signed = form->types[is_set ? 0 : 1] == SLU_PTX_TYPE_S32;
	bool b_signed = form->types[is_set ? 1 : 2] == SLU_PTX_TYPE_S32;
	const char *a = *text->a ? text->a + 2 : n == 2 ? "10" : "3210";
	const char *b = *text->b ? text->b + 2 : n == 2 ? "32" : "7654";
	const char *mask = *text->d ? text->d + 2 : n == 2 ? "10" : "3210";
	uint32_t word = in[2], sum = in[2];

	for (unsigned k = 0; k < n; k++) {
		__int128 t = video_operation(
			form, video_part(in, (unsigned)(a[n - 1 - k] - '0'), size, a_signed),
			video_part(in, (unsigned)(b[n - 1 - k] - '0'), size, b_signed));

		if (!strchr(mask, (int)('0' + k)))
			continue;
		if (HAS(sat))
			t = video_saturated(t, size, !is_set && form->types[0] == SLU_PTX_TYPE_S32);
		word = video_placed(word, k, size, t);
		sum += (uint32_t)(unsigned __int128)t;
	}
	return HAS(add) ? sum : word;
}

bool dev_reference_video(const struct slu_ptx_form *form, const struct dev_reference_video *text,
			 const uint32_t in[3], uint32_t *ret_value)
{
	static const char *const names[] = { "vadd", "vsub", "vavrg", "vabsdiff", "vmin",
					     "vmax", "vshl", "vshr",  "vset" };

	if (!strcmp(form->row->name, "vmad")) {
		*ret_value = video_mad(form, text, in);
		return true;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(names); i++) {
		if (!video_is(form, names[i]))
			continue;
		*ret_value = form->row->name[strlen(names[i])] ? video_parallel(form, text, in)
							       : video_scalar(form, text, in);
		return true;
	}
	return false;
}
