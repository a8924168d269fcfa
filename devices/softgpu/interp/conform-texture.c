/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tex, tld4 and txq over images of all formats, with every address mode, filter and kind of
 * coordinate, chosen at random. Every thread reads at its own place; the reference is in
 * reference-image.c. A filter's result may differ in the last bits of the largest texel.
 */
#include <inttypes.h>
#include <math.h>

#include "ptx/texture.h"
#include "softgpu/interp/reference-image.h"
#include "softgpu/interp/test-conform.h"

#define HAS(m)	  slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define N_THREADS 64u
#define N_IMAGES  20u
#define TEXELS	  16384u /* in the input: where the image begins */
#define OBJECT	  UINT64_C(0x123456789a)

static struct dev_interp_image image;

static const struct dev_interp_image *find(void *userdata, uint64_t object, bool is_surface)
{
	(void)userdata;
	return object == OBJECT && !is_surface ? &image : NULL;
}

static bool texture_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_TEXTURE;
}

static uint64_t below(uint64_t n)
{
	return dev_conform_random() % n;
}

/* Numbers of everyday size, where any bits would be none. */
static void fill_texels(size_t n)
{
	uint8_t *to = dev_conform_in + TEXELS;

	dev_conform_scramble(to, n);
	for (size_t i = 0; image.format == DEV_IMAGE_F32 && i < n / 4; i++)
		((float *)to)[i] = (float)((double)below(2000001) / 1000 - 1000);
	for (size_t i = 0; image.format == DEV_IMAGE_F16 && i < n / 2; i++)
		((uint16_t *)to)[i] &= 0xdfff;
}

static void make_image(const struct slu_ptx_form *form)
{
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	bool is_integer = form->n_types > 1 && form->types[1] == SLU_PTX_TYPE_S32;
	static const uint8_t channels[] = { 1, 2, 4 };

	image = (struct dev_interp_image){
		.address = (uint64_t)(uintptr_t)(dev_conform_in + TEXELS),
		.n_dims = shape.is_cube	 ? 2
			  : shape.n_dims ? shape.n_dims
					 : (uint8_t)(1 + below(3)),
		.is_layered = shape.is_layered,
		.is_cube = shape.is_cube,
		.format = (uint8_t)below(DEV_IMAGE_F32 + 1),
		.n_channels = channels[below(3)],
		.is_normalized = shape.is_cube || (!is_integer && below(2)),
	};
	for (unsigned k = 0; k < 3; k++)
		image.size[k] = k < image.n_dims ? 1 + below(9) : 1;
	if (shape.is_cube)
		image.size[1] = image.size[0];
	if (shape.is_layered || shape.is_cube)
		image.size[2] = (shape.is_cube ? 6 : 1) * (shape.is_layered ? 1 + below(4) : 1);
	image.texel_bytes = (uint8_t)(image.n_channels *
				      dev_image_channel_bytes((enum dev_image_format)image.format));
	image.pitch = image.size[0] * image.texel_bytes + 16 * below(3);
	image.slice = image.pitch * image.size[1] + 32 * below(3);
	image.is_float =
		image.format >= DEV_IMAGE_F16 ||
		(image.format != DEV_IMAGE_U32 && image.format != DEV_IMAGE_S32 && below(2));
	image.is_filtered = image.is_float && below(2);
	image.is_linear = is_integer && image.n_dims == 1 && !image.is_layered && below(2);
	for (unsigned k = 0; k < 3; k++)
		image.edges[k] = (uint8_t)(image.is_normalized ? below(4) : 1 + 2 * below(2));
	for (unsigned k = 0; k < 4; k++) {
		float f = (float)below(100) - 50;

		memcpy(&image.border[k], &f, 4);
	}
	if (image.is_linear)
		memset(image.border, 0, sizeof(image.border));
	fill_texels(image.slice * image.size[2]);
}

/* A coordinate in texels and beside them: mostly anywhere, sometimes at an edge or in a middle. */
static float coordinate(unsigned dim)
{
	double n = (double)image.size[dim], x;

	/* never halfway between two weights: a mirror would turn the rounding round */
	x = (((double)below(1 << 18) + 0.37) / (1 << 16) - 1.5) * n;
	if (!below(4) && image.edges[dim] != DEV_IMAGE_MIRROR)
		x = floor(x) + (double)below(2) / 2;
	return (float)(image.is_normalized ? x / n : x);
}

static void fill_coordinates(const struct slu_ptx_form *form)
{
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	uint32_t *to = (uint32_t *)dev_conform_in;

	for (unsigned i = 0; i < N_THREADS; i++, to += 4)
		for (unsigned k = 0, dim = 0; k < 4; k++) {
			float f;

			if (shape.is_layered && !k) {
				to[k] = (uint32_t)below(6);
				continue;
			}
			f = shape.is_cube ? (float)((double)below(2001) / 1000 - 1)
					  : coordinate(dim++ % 3);
			if (form->types[1] == SLU_PTX_TYPE_S32)
				to[k] = (uint32_t)((int32_t)below(30) - 10);
			else
				memcpy(&to[k], &f, 4);
		}
}

static void put_kernel(struct dev_conform_text *t, const struct slu_ptx_form *form, bool is_guarded)
{
	static const char *const coordinates[] = { "", "{%r2}", "{%r2, %r3}", "",
						   "{%r2, %r3, %r4, %r5}" };
	static const char *const gradients[] = { "", "{%r2}", "{%r2, %r3}", "",
						 "{%r2, %r3, %r4, %r5}" };
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);

	t->size = 0;
	dev_conform_put(
		t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<3>; .reg .b32 %%r<12>; .reg .b64 %%d<8>;\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mov.u64 %%d5, %" PRIu64 "; setp.eq.u32 %%p2, %%r1, %%r1;\n"
		"mad.wide.u32 %%d3, %%r1, 16, %%d1; mad.wide.u32 %%d4, %%r1, 20, %%d2;\n"
		"ld.global.v4.u32 {%%r2, %%r3, %%r4, %%r5}, [%%d3]; mov.u32 %%r6, 7;\n"
		"mov.u32 %%r7, 7; mov.u32 %%r8, 7; mov.u32 %%r9, 7; and.b32 %%r10, %%r1, 1;\n"
		"setp.eq.u32 %%p1, %%r10, 1;\n%s %s {%%r6, %%r7, %%r8, %%r9}%s, [%%d5, %s]",
		dev_conform_head(form), OBJECT, is_guarded ? "@%p1" : "", form->text,
		is_guarded ? "|%p2" : "", coordinates[shape.n_coordinates]);
	if (HAS(level))
		dev_conform_put(t, ", %%r2");
	if (HAS(grad))
		dev_conform_put(t, ", %s, %s", gradients[shape.n_gradients],
				gradients[shape.n_gradients]);
	dev_conform_put(t,
			";\nselp.u32 %%r11, 1, 0, %%p2; st.global.u32 [%%d4], %%r6;\n"
			"st.global.u32 [%%d4+4], %%r7; st.global.u32 [%%d4+8], %%r8;\n"
			"st.global.u32 [%%d4+12], %%r9; st.global.u32 [%%d4+16], %%r11; ret;\n}\n");
}

/* The face of a cube, by the guide's table; a direction on an edge has none. */
static bool find_face(const float *v, long double at[2], unsigned *ret_face)
{
	static const struct {
		int s_axis, s_sign, t_axis, t_sign;
	} faces[] = { { 2, -1, 1, -1 }, { 2, 1, 1, -1 }, { 0, 1, 2, 1 },
		      { 0, 1, 2, -1 },	{ 0, 1, 1, -1 }, { 0, -1, 1, -1 } };
	unsigned axis = 3;
	long double m;

	for (unsigned k = 0; k < 3; k++)
		if (fabsf(v[k]) > fabsf(v[(k + 1) % 3]) && fabsf(v[k]) > fabsf(v[(k + 2) % 3]))
			axis = k;
	if (axis == 3)
		return false;
	*ret_face = axis * 2 + (v[axis] < 0);
	m = fabsl((long double)v[axis]);
	at[0] = (faces[*ret_face].s_sign * (long double)v[faces[*ret_face].s_axis] / m + 1) / 2;
	at[1] = (faces[*ret_face].t_sign * (long double)v[faces[*ret_face].t_axis] / m + 1) / 2;
	return true;
}

/* Divided and rounded to a float, a coordinate may fall on another weight, or texel. */
static bool is_near_a_step(const long double *at)
{
	for (unsigned k = 0; k < 2; k++) {
		long double x = at[k] * 512;

		if (fabsl(x - roundl(x)) < 0.01L)
			return true;
	}
	return false;
}

static struct dev_reference_texel gather(const struct slu_ptx_form *form, const long double *at,
					 uint64_t slice)
{
	static const int corners[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
	unsigned component = HAS(r) ? 0 : HAS(g) ? 1 : HAS(b) ? 2 : 3;
	struct dev_reference_texel all = { .is_float = image.is_float }, t;

	for (unsigned k = 0; k < 4; k++) {
		int64_t place[3] = { (int64_t)floorl(at[0] - 0.5L) + corners[k][0],
				     (int64_t)floorl(at[1] - 0.5L) + corners[k][1], 0 };

		t = dev_reference_image_texel(&image, place, slice);
		all.f[k] = t.f[component];
		all.n[k] = t.n[component];
	}
	return all;
}

/* Return: false where the guide does not say what is read. */
static bool expected(const struct slu_ptx_form *form, const uint32_t *given,
		     struct dev_reference_texel *ret)
{
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	bool is_integer = form->types[1] == SLU_PTX_TYPE_S32;
	uint64_t slice = 0, n_layers = shape.is_cube ? image.size[2] / 6 : image.size[2];
	long double at[3] = { 0 };
	float f[3] = { 0 };
	unsigned face;

	if (shape.is_layered)
		slice = SLU_MIN(*given++, n_layers - 1);
	for (unsigned k = 0; k < shape.n_dims; k++) {
		memcpy(&f[k], &given[k], 4);
		at[k] = is_integer ? (int32_t)given[k] : (long double)f[k];
	}
	if (shape.is_cube) {
		if (!find_face(f, at, &face))
			return false;
		slice = slice * 6 + face;
	}
	for (unsigned k = 0; image.is_normalized && k < image.n_dims; k++)
		at[k] *= image.size[k];
	if (shape.is_cube && is_near_a_step(at))
		return false;
	/* whether a mirror turns the four round */
	if (form->opcode == SLU_PTX_OP_tld4 &&
	    (image.edges[0] == DEV_IMAGE_MIRROR || image.edges[1] == DEV_IMAGE_MIRROR))
		return false;
	*ret = form->opcode == SLU_PTX_OP_tld4
		       ? gather(form, at, slice)
		       : dev_reference_image_read(&image, at, slice,
						  image.is_filtered && !is_integer);
	return true;
}

/* A filter's sum is rounded in other places; everything else is exact. */
static bool is_right(const struct dev_reference_texel *want, unsigned c, uint32_t bits, float f)
{
	long double largest = image.format == DEV_IMAGE_F16 ? 65536 : 1000;

	if (!want->is_float)
		return bits == want->n[c];
	return image.is_filtered ? fabsl((long double)f - want->f[c]) <= largest * 0x1p-23L
				 : f == (float)want->f[c];
}

static void compare(const struct slu_ptx_form *form, bool is_guarded)
{
	for (unsigned i = 0; i < N_THREADS; i++) {
		const uint32_t *given = (const uint32_t *)dev_conform_in + 4 * (size_t)i;
		const uint32_t *got = (const uint32_t *)dev_conform_out + 5 * (size_t)i;
		bool is_off = is_guarded && !(i & 1);
		struct dev_reference_texel want = { .n = { 7, 7, 7, 7 } };

		if (got[4] != 1)
			fail_msg("%s: the predicate of thread %u is false", form->text, i);
		if (!is_off && !expected(form, given, &want))
			continue;
		for (unsigned c = 0; c < 4; c++) {
			float f;

			memcpy(&f, &got[c], 4);
			if (!is_right(&want, c, got[c], f))
				fail_msg("%s: thread %u, channel %u: %#x (%.9g) instead of %#x "
					 "(%.9Lg); format %u, %u channels, %lux%lux%lu, edges %u "
					 "%u %u, "
					 "filter %u, normalized %u, at %#x %#x %#x",
					 form->text, i, c, got[c], (double)f, want.n[c], want.f[c],
					 image.format, image.n_channels, image.size[0],
					 image.size[1], image.size[2], image.edges[0],
					 image.edges[1], image.edges[2], image.is_filtered,
					 image.is_normalized, given[0], given[1], given[2]);
		}
	}
}

static void run_query(const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;
	uint32_t n_layers = image.is_layered ? (uint32_t)image.size[2] : 0;
	uint32_t want = HAS(width)		 ? (uint32_t)image.size[0]
			: HAS(height)		 ? (image.n_dims > 1 ? (uint32_t)image.size[1] : 0)
			: HAS(depth)		 ? (image.n_dims > 2 ? (uint32_t)image.size[2] : 0)
			: HAS(array_size)	 ? n_layers
			: HAS(normalized_coords) ? image.is_normalized
						 : 1;

	t.size = 0;
	dev_conform_put(
		&t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%r<4>; "
		".reg .b64 %%d<4>;\nld.param.u64 %%d1, [out]; mov.u32 %%r1, %%tid.x; "
		"mad.wide.u32 %%d1, %%r1, 4, %%d1; mov.u64 %%d2, %" PRIu64
		";\n%s %%r2, [%%d2]; st.global.u32 [%%d1], %%r2; ret;\n}\n",
		dev_conform_head(form), OBJECT, form->text);
	dev_conform_launch(form->text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(((uint32_t *)dev_conform_out)[i], want);
}

static void texture_run(const char *text, const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;

	(void)text;
	dev_conform_bed.find_image = find;
	for (unsigned n = 0; n < N_IMAGES; n++) {
		make_image(form);
		if (form->opcode == SLU_PTX_OP_txq) {
			run_query(form);
			continue;
		}
		fill_coordinates(form);
		put_kernel(&t, form, n & 1);
		dev_conform_launch(form->text, t.text, 1, N_THREADS);
		compare(form, n & 1);
		/* an object of another shape, and none */
		if (n)
			continue;
		image.n_dims = 4;
		dev_conform_launch_fault(form->text, t.text, 1, N_THREADS, DEV_INTERP_FAULT_OBJECT);
		dev_conform_bed.find_image = NULL;
		dev_conform_launch_fault(form->text, t.text, 1, N_THREADS, DEV_INTERP_FAULT_OBJECT);
		dev_conform_bed.find_image = find;
	}
}

const struct dev_conform_case dev_conform_texture = { "texture", texture_knows, texture_run };
