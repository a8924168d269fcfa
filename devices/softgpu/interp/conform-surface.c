/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suld, sust and suq: every thread moves its own bytes, at places inside an image and beside it. Of
 * several threads that store to one place the last one wins here, which is one of the answers.
 */
#include <inttypes.h>

#include "ptx/texture.h"
#include "softgpu/interp/image.h"
#include "softgpu/interp/test-conform.h"

#define HAS(m)	  slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define N_THREADS 64u
#define PIXELS	  16384u /* in the input: where the image begins */
#define VALUES	  4096u	 /* what is stored */
#define OBJECT	  UINT64_C(0x42)
#define MOST	  40000u

static struct dev_interp_image image;
static uint8_t before[MOST];

static const struct dev_interp_image *find(void *userdata, uint64_t object, bool is_surface)
{
	(void)userdata;
	return object == OBJECT && is_surface ? &image : NULL;
}

static bool surface_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_SURFACE;
}

static uint64_t below(uint64_t n)
{
	return dev_conform_random() % n;
}

static void make_image(const struct slu_ptx_shape *shape, unsigned size)
{
	image = (struct dev_interp_image){
		.address = (uint64_t)(uintptr_t)(dev_conform_in + PIXELS),
		.n_dims = shape->n_dims ? shape->n_dims : 2,
		.is_layered = shape->is_layered && below(2),
		.texel_bytes = (uint8_t)size,
		.n_channels = 1,
	};
	/* a cube has layers as well, its faces */
	image.is_cube = shape->is_layered && !image.is_layered;
	for (unsigned k = 0; k < 3; k++)
		image.size[k] =
			k < image.n_dims || (k == 2 && shape->is_layered) ? 1 + below(7) : 1;
	image.pitch = image.size[0] * size + 16 * below(3);
	image.slice = image.pitch * image.size[1] + 16 * below(3);
	dev_conform_scramble(dev_conform_in + PIXELS, image.slice * image.size[2] + 64);
}

static int64_t to_edge(int64_t x, int64_t last)
{
	return x < 0 ? 0 : x > last ? last : x;
}

/* The byte that thread @given reaches; false where it reaches none. */
static bool place_of(const struct slu_ptx_form *form, const struct slu_ptx_shape *shape,
		     const int32_t *given, unsigned size, uint64_t *ret)
{
	int64_t x = given[shape->is_layered], y = 0, z = 0;
	int64_t w = (int64_t)(image.size[0] * size);

	if (shape->n_dims > 1)
		y = given[shape->is_layered + 1];
	if (shape->n_dims > 2)
		z = given[2];
	if (shape->is_layered)
		z = given[0];
	if (HAS(clamp)) {
		x = to_edge(x, w - size);
		y = to_edge(y, (int64_t)image.size[1] - 1);
		z = to_edge(z, (int64_t)image.size[2] - 1);
	}
	*ret = (uint64_t)z * image.slice + (uint64_t)y * image.pitch + (uint64_t)x;
	return x >= 0 && x < w && y >= 0 && y < (int64_t)image.size[1] && z >= 0 &&
	       z < (int64_t)image.size[2];
}

static void fill_coordinates(const struct slu_ptx_form *form, const struct slu_ptx_shape *shape,
			     unsigned size)
{
	int32_t *to = (int32_t *)dev_conform_in;

	for (unsigned i = 0; i < N_THREADS; i++, to += 4)
		for (unsigned k = 0; k < 4; k++) {
			bool is_layer = shape->is_layered && !k;
			unsigned dim = is_layer ? 2 : k - shape->is_layered;
			int32_t n = dim < 3 ? (int32_t)image.size[dim] : 1;

			to[k] = HAS(trap) || is_layer ? (int32_t)below((uint64_t)n)
						      : (int32_t)below(3 * (uint64_t)n) - n;
			if (is_layer && !HAS(trap) && !below(4))
				to[k] += n;
			if (!is_layer && !dim)
				to[k] *= (int32_t)size;
		}
}

static void put_kernel(struct dev_conform_text *t, const struct slu_ptx_form *form, bool is_guarded)
{
	static const char *const coordinates[] = { "", "{%r2}", "{%r2, %r3}", "",
						   "{%r2, %r3, %r4, %r5}" };
	static const char *const vectors[] = { "", "{%h0}", "{%h0, %h1}", "",
					       "{%h0, %h1, %h2, %h3}" };
	unsigned size = slu_ptx_type_size((enum slu_ptx_type)form->types[0]);
	const char *reg = size == 8 ? "b64" : size == 4 ? "b32" : "b16";
	const char *move = size == 8 ? "b64" : size == 4 ? "b32" : size == 2 ? "b16" : "b8";
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	bool is_store = form->opcode == SLU_PTX_OP_sust;

	t->size = 0;
	dev_conform_put(
		t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<3>; .reg .b32 %%r<12>; .reg .b64 %%d<8>; .reg .%s %%h<4>;\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mov.u64 %%d5, %" PRIu64 "; mad.wide.u32 %%d3, %%r1, 16, %%d1; mad.wide.u32 %%d4, "
		"%%r1, 16, %%d2;\nld.global.v4.u32 {%%r2, %%r3, %%r4, %%r5}, [%%d3];\n"
		"and.b32 %%r10, %%r1, 1; setp.eq.u32 %%p1, %%r10, 1;\n",
		dev_conform_head(form), reg, OBJECT);
	for (unsigned k = 0; k < form->vector; k++)
		dev_conform_put(t, "ld.global.%s %%h%u, [%%d3+%u];\n", move, k, VALUES + k * size);
	if (is_guarded)
		dev_conform_put(t, "@%%p1 ");
	if (is_store)
		dev_conform_put(t, "%s [%%d5, %s], %s;\n", form->text,
				coordinates[shape.n_coordinates], vectors[form->vector]);
	else
		dev_conform_put(t, "%s %s, [%%d5, %s];\n", form->text, vectors[form->vector],
				coordinates[shape.n_coordinates]);
	for (unsigned k = 0; k < form->vector; k++)
		dev_conform_put(t, "st.global.%s [%%d4+%u], %%h%u;\n", move, k * size, k);
	dev_conform_put(t, "ret;\n}\n");
}

static void compare(const struct slu_ptx_form *form, const struct slu_ptx_shape *shape,
		    unsigned size, bool is_guarded)
{
	bool is_store = form->opcode == SLU_PTX_OP_sust;
	const uint8_t *pixels = dev_conform_in + PIXELS;

	for (unsigned i = 0; i < N_THREADS; i++) {
		const uint8_t *value = dev_conform_in + VALUES + 16 * (size_t)i;
		uint8_t want[16] = { 0 };
		uint64_t place;
		bool is_there = place_of(form, shape, (int32_t *)dev_conform_in + 4 * (size_t)i,
					 size, &place);

		if (is_store || (is_guarded && !(i & 1)))
			memcpy(want, value, size);
		else if (is_there)
			memcpy(want, before + place, size);
		if (is_store && is_there && (!is_guarded || i & 1))
			memcpy(before + place, value, size);
		if (memcmp(dev_conform_out + 16 * (size_t)i, want, size))
			fail_msg("%s: thread %u read something else", form->text, i);
	}
	if (memcmp(pixels, before, image.slice * image.size[2] + 64))
		fail_msg("%s: the image is another one", form->text);
}

static void run_moves(const struct slu_ptx_form *form)
{
	unsigned size = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) * form->vector;
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	static struct dev_conform_text t;

	for (unsigned n = 0; n < 8; n++) {
		make_image(&shape, size);
		fill_coordinates(form, &shape, size);
		dev_conform_scramble(dev_conform_in + VALUES, 16 * N_THREADS);
		memcpy(before, dev_conform_in + PIXELS, MOST);
		put_kernel(&t, form, n & 1);
		dev_conform_launch(form->text, t.text, 1, N_THREADS);
		compare(form, &shape, size, n & 1);
	}
	/* beside the image, between two places, and nowhere */
	put_kernel(&t, form, false);
	((uint32_t *)dev_conform_in)[shape.is_layered] = size * 1000;
	if (HAS(trap))
		dev_conform_launch_fault(form->text, t.text, 1, 1, DEV_INTERP_FAULT_TRAP);
	((uint32_t *)dev_conform_in)[shape.is_layered] = 1;
	if (size > 1)
		dev_conform_launch_fault(form->text, t.text, 1, 1, DEV_INTERP_FAULT_MISALIGNED);
	dev_conform_bed.find_image = NULL;
	dev_conform_launch_fault(form->text, t.text, 1, N_THREADS, DEV_INTERP_FAULT_OBJECT);
	dev_conform_bed.find_image = find;
}

static void run_query(const struct slu_ptx_form *form)
{
	struct slu_ptx_shape shape = { 0 };
	static struct dev_conform_text t;
	uint32_t want;

	make_image(&shape, 4);
	image.is_layered = HAS(array_size);
	want = (uint32_t)(HAS(width)	? image.size[0]
			  : HAS(height) ? image.size[1]
			  : HAS(depth)	? 0
					: image.size[2]);
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

static void surface_run(const char *text, const struct slu_ptx_form *form)
{
	(void)text;
	dev_conform_bed.find_image = find;
	if (form->opcode == SLU_PTX_OP_suq)
		run_query(form);
	else
		run_moves(form);
}

const struct dev_conform_case dev_conform_surface = { "surface", surface_knows, surface_run };
