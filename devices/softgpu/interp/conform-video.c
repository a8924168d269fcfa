/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Video instructions: of each form one kernel that has it many times, each time with other
 * selectors and signs, in all lanes, under a guard and behind a branch, over edge and random
 * values.
 */
#include "softgpu/interp/test-conform.h"

#include "softgpu/interp/reference.h"

#define N_THREADS  96u
#define N_VARIANTS 15u

static bool video_knows(const struct slu_ptx_form *form)
{
	static const struct dev_reference_video plain = { "", "", "", false, false, false };
	static const uint32_t zeroes[3];
	uint32_t any;

	return form->row->family == SLU_PTX_FAMILY_VIDEO &&
	       dev_reference_video(form, &plain, zeroes, &any);
}

struct variant {
	char d[8], a[8], b[8];
	struct dev_reference_video text;
	bool has_third; /* source */
};

/* how many parts at once the name's last digit says */
static unsigned lanes_of(const struct slu_ptx_form *form)
{
	char last = form->row->name[strlen(form->row->name) - 1];

	return last == '2' || last == '4' ? (unsigned)(last - '0') : 1;
}

static void choose_scalar(char to[8])
{
	static const char *const all[] = { "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1" };

	snprintf(to, 8, "%s", all[dev_conform_random() % SLU_ARRAY_SIZE(all)]);
}

static void choose_source(char to[8], unsigned lanes)
{
	size_t n;

	if (lanes == 1) {
		choose_scalar(to);
		return;
	}
	if (dev_conform_random() % 3 == 0)
		return;
	n = (size_t)snprintf(to, 8, lanes == 2 ? ".h" : ".b");
	for (unsigned i = 0; i < lanes; i++)
		to[n++] = (char)('0' + dev_conform_random() % (2 * lanes));
	to[n] = 0;
}

static void choose_mask(char to[8], unsigned lanes)
{
	unsigned mask = (unsigned)(dev_conform_random() % (1u << lanes));
	size_t n;

	if (!mask)
		return;
	n = (size_t)snprintf(to, 8, lanes == 2 ? ".h" : ".b");
	for (unsigned i = lanes; i-- > 0;)
		if (mask >> i & 1)
			to[n++] = (char)('0' + i);
	to[n] = 0;
}

static void choose_signs(const struct slu_ptx_form *form, struct dev_reference_video *text)
{
	uint64_t r = dev_conform_random();

	if (slu_ptx_form_has(form, SLU_PTX_MOD_po))
		return;
	text->a_is_minus = r & 1;
	text->b_is_minus = r >> 1 & 1;
	text->c_is_minus = text->a_is_minus == text->b_is_minus && (r >> 2 & 1);
}

static void video_choose(const struct slu_ptx_form *form, struct variant *ret)
{
	unsigned lanes = lanes_of(form);

	*ret = (struct variant){ .has_third = true };
	choose_source(ret->a, lanes);
	choose_source(ret->b, lanes);
	if (form->slots[0].kind == SLU_PTX_SLOT_DEST_PART && lanes == 1) {
		choose_scalar(ret->d);
		ret->has_third = *ret->d;
	} else if (form->slots[0].kind == SLU_PTX_SLOT_DEST_PART) {
		choose_mask(ret->d, lanes);
	} else if (form->opcode == SLU_PTX_OP_vmad) {
		choose_signs(form, &ret->text);
	}
	ret->text.d = ret->d;
	ret->text.a = ret->a;
	ret->text.b = ret->b;
}

static const char *video_sign(bool is_minus)
{
	return is_minus ? "-" : "";
}

/* thread i has four words of input, the last one is what was in the destination before */
static void write_kernel(const struct slu_ptx_form *form, const struct variant *variants,
			 struct dev_conform_text *t)
{
	t->size = 0;
	dev_conform_put(
		t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%g; .reg .b32 %%r<8>; .reg .b64 %%d<4>;\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out];\n"
		"mov.u32 %%r0, %%tid.x; mad.wide.u32 %%d1, %%r0, 16, %%d1;\n"
		"mad.wide.u32 %%d2, %%r0, %u, %%d2;\n"
		"ld.global.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%d1]; and.b32 %%r6, %%r4, 1;\n"
		"setp.ne.u32 %%g, %%r6, 0;\n",
		dev_conform_head(form), N_VARIANTS * 4);
	for (unsigned k = 0; k < N_VARIANTS; k++) {
		const struct variant *v = &variants[k];

		dev_conform_put(t, "mov.b32 %%r5, %%r4;\n");
		if (k % 3 == 1)
			dev_conform_put(t, "@%%g ");
		if (k % 3 == 2)
			dev_conform_put(t, "@!%%g bra SKIP%u;\n", k);
		dev_conform_put(t, "%s %%r5%s, %s%%r1%s, %s%%r2%s", form->text, v->d,
				video_sign(v->text.a_is_minus), v->a,
				video_sign(v->text.b_is_minus), v->b);
		if (v->has_third)
			dev_conform_put(t, ", %s%%r3", video_sign(v->text.c_is_minus));
		dev_conform_put(t, ";\nSKIP%u: st.global.u32 [%%d2+%u], %%r5;\n", k, k * 4);
	}
	dev_conform_put(t, "ret;\n}\n");
}

static void video_run(const char *text, const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;
	struct variant variants[N_VARIANTS];
	uint32_t *in = (uint32_t *)dev_conform_in;
	const uint32_t *out = (const uint32_t *)dev_conform_out;

	for (unsigned k = 0; k < N_VARIANTS; k++)
		video_choose(form, &variants[k]);
	for (unsigned i = 0; i < 4 * N_THREADS; i++)
		in[i] = (uint32_t)dev_conform_value(SLU_PTX_TYPE_U32);
	write_kernel(form, variants, &t);
	dev_conform_launch(text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS * N_VARIANTS; i++) {
		const uint32_t *x = in + i / N_VARIANTS * 4;
		const struct variant *v = &variants[i % N_VARIANTS];
		uint32_t want;

		assert_true(dev_reference_video(form, &v->text, x, &want));
		if (i % N_VARIANTS % 3 && !(x[3] & 1))
			want = x[3];
		if (out[i] != want)
			fail_msg("%s d%s, %sa%s, %sb%s, %sc: of %x %x %x %x comes %x, not %x", text,
				 v->d, video_sign(v->text.a_is_minus), v->a,
				 video_sign(v->text.b_is_minus), v->b,
				 video_sign(v->text.c_is_minus), x[0], x[1], x[2], x[3], out[i],
				 want);
	}
}

const struct dev_conform_case dev_conform_video = { "video", video_knows, video_run };
