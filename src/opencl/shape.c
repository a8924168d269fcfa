/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/util.h"
#include "opencl/shape.h"

static unsigned n_channels(cl_channel_order order)
{
	switch (order) {
	case CL_R:
	case CL_A:
	case CL_INTENSITY:
	case CL_LUMINANCE:
	case CL_DEPTH:
		return 1;
	case CL_RG:
	case CL_RA:
		return 2;
	case CL_RGBA:
	case CL_BGRA:
	case CL_ARGB:
	case CL_ABGR:
	case CL_sRGBA:
	case CL_sBGRA:
		return 4;
	default:
		return 0;
	}
}

static size_t channel_bytes(cl_channel_type type)
{
	switch (type) {
	case CL_SNORM_INT8:
	case CL_UNORM_INT8:
	case CL_SIGNED_INT8:
	case CL_UNSIGNED_INT8:
		return 1;
	case CL_SNORM_INT16:
	case CL_UNORM_INT16:
	case CL_SIGNED_INT16:
	case CL_UNSIGNED_INT16:
	case CL_HALF_FLOAT:
		return 2;
	case CL_SIGNED_INT32:
	case CL_UNSIGNED_INT32:
	case CL_FLOAT:
		return 4;
	default:
		return 0;
	}
}

/* Return: false if it has no side of that length, or of an own meaning. */
static bool shape_take_sides(struct slu_shape *s)
{
	const cl_image_desc *d = &s->desc;

	s->size[0] = d->image_width;
	s->size[1] = s->size[2] = 1;
	switch (d->image_type) {
	case CL_MEM_OBJECT_IMAGE1D:
		break;
	case CL_MEM_OBJECT_IMAGE1D_ARRAY:
		s->size[1] = d->image_array_size;
		break;
	case CL_MEM_OBJECT_IMAGE2D:
		s->size[1] = d->image_height;
		break;
	case CL_MEM_OBJECT_IMAGE2D_ARRAY:
		s->size[1] = d->image_height;
		s->size[2] = d->image_array_size;
		break;
	case CL_MEM_OBJECT_IMAGE3D:
		s->size[1] = d->image_height;
		s->size[2] = d->image_depth;
		break;
	default:
		return false;
	}
	for (unsigned i = 0; i < 3; i++)
		if (!s->size[i] || s->size[i] > UINT32_MAX)
			return false;
	return true;
}

static size_t row_bytes(const struct slu_shape *s)
{
	return s->size[0] * s->element_bytes;
}

static uint64_t slice_bytes(const struct slu_shape *s)
{
	return (uint64_t)row_bytes(s) * s->size[1];
}

uint64_t slu_shape_bytes(const struct slu_shape *s)
{
	return slice_bytes(s) * s->size[2];
}

/* Whether the program sees slices: layers of an array, or planes. */
static bool has_slices(const struct slu_shape *s)
{
	return s->desc.image_type == CL_MEM_OBJECT_IMAGE3D ||
	       s->desc.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
	       s->desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
}

static bool shape_take_pitches(struct slu_shape *s, bool has_host_ptr)
{
	const cl_image_desc *d = &s->desc;
	bool is_row_sliced = d->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
	size_t row = row_bytes(s), slice;

	if (!has_host_ptr && (d->image_row_pitch || d->image_slice_pitch))
		return false;
	if (d->image_row_pitch &&
	    (d->image_row_pitch < row || d->image_row_pitch % s->element_bytes))
		return false;
	s->row_pitch = d->image_row_pitch ? d->image_row_pitch : row;
	slice = is_row_sliced ? s->row_pitch : s->row_pitch * s->size[1];
	if (d->image_slice_pitch && !has_slices(s))
		return false;
	if (d->image_slice_pitch &&
	    (d->image_slice_pitch < slice || d->image_slice_pitch % s->row_pitch))
		return false;
	s->slice_pitch = !has_slices(s) ? 0 : d->image_slice_pitch ? d->image_slice_pitch : slice;
	return true;
}

bool slu_shape_init(struct slu_shape *s, const cl_image_format *format, const cl_image_desc *desc,
		    bool has_host_ptr)
{
	*s = (struct slu_shape){ .format = *format, .desc = *desc };
	s->element_bytes = n_channels(format->image_channel_order) *
			   channel_bytes(format->image_channel_data_type);
	if (!s->element_bytes || desc->num_mip_levels || desc->num_samples || desc->mem_object)
		return false;
	return shape_take_sides(s) && shape_take_pitches(s, has_host_ptr);
}

/* From the beginning of one row of the program's bytes to the next one's, and of slices. */
static size_t given_row(const struct slu_shape *s)
{
	return s->desc.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? s->slice_pitch : s->row_pitch;
}

static size_t given_slice(const struct slu_shape *s)
{
	return s->size[2] > 1 ? s->slice_pitch : 0;
}

bool slu_shape_is_tight(const struct slu_shape *s)
{
	return (s->size[1] == 1 || given_row(s) == row_bytes(s)) &&
	       (s->size[2] == 1 || given_slice(s) == slice_bytes(s));
}

void slu_shape_pack(const struct slu_shape *s, const void *host, void *to)
{
	const char *from = host;
	char *row = to;

	for (size_t z = 0; z < s->size[2]; z++)
		for (size_t y = 0; y < s->size[1]; y++) {
			memcpy(row, from + z * given_slice(s) + y * given_row(s), row_bytes(s));
			row += row_bytes(s);
		}
}

/* One row's part, whole rows of one slice, or whole slices: the largest that begins here. */
uint64_t slu_shape_next_box(const struct slu_shape *s, uint64_t offset, uint64_t bytes,
			    struct slu_shape_box *ret_box)
{
	uint64_t row = row_bytes(s), slice = slice_bytes(s), all = slu_shape_bytes(s);
	uint64_t in_slice = offset % slice, in_row = in_slice % row;
	size_t n;

	bytes = SLU_MIN(bytes, slu_sub_floor(all, offset));
	if (!bytes)
		return 0;
	*ret_box = (struct slu_shape_box){
		.origin = { in_row / s->element_bytes, in_slice / row, offset / slice },
		.region = { s->size[0], s->size[1], 1 },
		.offset = offset,
	};
	if (!in_slice && bytes >= slice) {
		n = bytes / slice;
		ret_box->region[2] = n;
		return n * slice;
	}
	if (!in_row && bytes >= row) {
		n = SLU_MIN(bytes, slice - in_slice) / row;
		ret_box->region[1] = n;
		return n * row;
	}
	bytes = SLU_MIN(bytes, row - in_row);
	ret_box->region[0] = bytes / s->element_bytes;
	ret_box->region[1] = 1;
	return bytes;
}
