/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "opencl/shape.h"

enum { STEPS = 400 };

static const cl_mem_object_type types[] = {
	CL_MEM_OBJECT_IMAGE1D,	     CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,
	CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D,
};
static const cl_image_format formats[] = {
	{ CL_R, CL_UNORM_INT8 },
	{ CL_RG, CL_HALF_FLOAT },
	{ CL_RGBA, CL_UNSIGNED_INT8 },
	{ CL_RGBA, CL_FLOAT },
};

static struct slu_shape random_shape(uint64_t *random)
{
	const cl_image_desc desc = {
		.image_type = types[slu_test_random(random) % SLU_ARRAY_SIZE(types)],
		.image_width = 1 + slu_test_random(random) % 20,
		.image_height = 1 + slu_test_random(random) % 9,
		.image_depth = 1 + slu_test_random(random) % 5,
		.image_array_size = 1 + slu_test_random(random) % 5,
	};
	struct slu_shape s;

	assert_true(slu_shape_init(&s, &formats[slu_test_random(random) % SLU_ARRAY_SIZE(formats)],
				   &desc, false));
	return s;
}

static uint64_t place(const struct slu_shape *s, size_t x, size_t y, size_t z)
{
	return ((z * s->size[1] + y) * s->size[0] + x) * s->element_bytes;
}

/* Each pixel of the box is the next one of the bytes. */
static void check_box(const struct slu_shape *s, const struct slu_shape_box *box, uint64_t bytes)
{
	uint64_t at = box->offset;

	for (unsigned i = 0; i < 3; i++) {
		assert_true(box->region[i] >= 1);
		assert_true(box->origin[i] + box->region[i] <= s->size[i]);
	}
	for (size_t z = 0; z < box->region[2]; z++)
		for (size_t y = 0; y < box->region[1]; y++)
			for (size_t x = 0; x < box->region[0]; x++) {
				assert_int_equal(place(s, box->origin[0] + x, box->origin[1] + y,
						       box->origin[2] + z),
						 at);
				at += s->element_bytes;
			}
	assert_int_equal(at, box->offset + bytes);
}

static void boxes_cover_a_run_of_bytes_once(void **state)
{
	uint64_t random = slu_test_seed(17);

	for (unsigned step = 0; step < STEPS; step++) {
		struct slu_shape s = random_shape(&random);
		uint64_t n_pixels = slu_shape_bytes(&s) / s.element_bytes;
		uint64_t from = slu_test_random(&random) % n_pixels * s.element_bytes;
		uint64_t bytes = (1 + slu_test_random(&random) % n_pixels) * s.element_bytes;
		uint64_t end = SLU_MIN(from + bytes, slu_shape_bytes(&s)), n;
		struct slu_shape_box box;
		unsigned n_boxes = 0;

		while ((n = slu_shape_next_box(&s, from, end - from, &box))) {
			assert_int_equal(box.offset, from);
			check_box(&s, &box, n);
			from += n;
			n_boxes++;
		}
		assert_int_equal(from, end);
		assert_in_range(n_boxes, 1, 7);
		/* beyond the end there is nothing, whatever the client rounds up to */
		assert_int_equal(slu_shape_next_box(&s, slu_shape_bytes(&s), 4096, &box), 0);
	}
}

static void packing_leaves_the_gaps_out(void **state)
{
	const cl_image_format format = { CL_R, CL_UNSIGNED_INT8 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE3D,
			       .image_width = 2,
			       .image_height = 2,
			       .image_depth = 2,
			       .image_row_pitch = 3,
			       .image_slice_pitch = 9 };
	char packed[8];
	struct slu_shape s;

	assert_true(slu_shape_init(&s, &format, &desc, true));
	assert_false(slu_shape_is_tight(&s));
	slu_shape_pack(&s, "ab.cd....ef.gh...", packed);
	assert_memory_equal(packed, "abcdefgh", 8);
	desc.image_row_pitch = desc.image_slice_pitch = 0;
	assert_true(slu_shape_init(&s, &format, &desc, true));
	assert_true(slu_shape_is_tight(&s));
}

static void what_is_unusual_is_not_ours(void **state)
{
	const cl_image_format format = { CL_RGBA, CL_FLOAT };
	const cl_image_format packed = { CL_RGB, CL_UNORM_SHORT_565 };
	const cl_image_desc good = { .image_type = CL_MEM_OBJECT_IMAGE2D,
				     .image_width = 4,
				     .image_height = 4 };
	cl_image_desc desc = good;
	struct slu_shape s;

	assert_true(slu_shape_init(&s, &format, &desc, false));
	assert_int_equal(slu_shape_bytes(&s), 256);
	assert_false(slu_shape_init(&s, &packed, &desc, false));
	desc.image_height = 0;
	assert_false(slu_shape_init(&s, &format, &desc, false));
	desc = good;
	desc.num_mip_levels = 2;
	assert_false(slu_shape_init(&s, &format, &desc, false));
	desc = good;
	desc.image_row_pitch = 64; /* without memory that it would be the pitch of */
	assert_false(slu_shape_init(&s, &format, &desc, false));
	assert_true(slu_shape_init(&s, &format, &desc, true));
	desc.image_row_pitch = 63;
	assert_false(slu_shape_init(&s, &format, &desc, true));
	desc = good;
	desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
	assert_false(slu_shape_init(&s, &format, &desc, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes_cover_a_run_of_bytes_once),
		cmocka_unit_test(packing_leaves_the_gaps_out),
		cmocka_unit_test(what_is_unusual_is_not_ours),
	};

	return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
