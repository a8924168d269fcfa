/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/reference-image.h"

#include <math.h>
#include <string.h>

/* 16-bit floats from their definition. */
static long double half_value(uint16_t h)
{
	long double sign = h >> 15 ? -1 : 1, fraction = h & 0x3ff;
	int exponent = h >> 10 & 31;

	return exponent ? sign * ldexpl(1 + fraction / 1024, exponent - 15)
			: sign * ldexpl(fraction / 1024, -14);
}

/* The number of the texel that continues the image at @i; below 0: the border. */
static int64_t continued(int64_t i, int64_t n, enum dev_image_edge edge)
{
	int64_t j;

	switch (edge) {
	case DEV_IMAGE_WRAP:
		return (i % n + n) % n;
	case DEV_IMAGE_MIRROR:
		j = (i % (2 * n) + 2 * n) % (2 * n);
		return j < n ? j : 2 * n - 1 - j;
	case DEV_IMAGE_CLAMP:
		return i < 0 ? 0 : i >= n ? n - 1 : i;
	default:
		return i >= 0 && i < n ? i : -1;
	}
}

struct dev_reference_texel dev_reference_image_texel(const struct dev_interp_image *m,
						     const int64_t at[3], uint64_t slice)
{
	struct dev_reference_texel t = { .is_float = m->is_float, .f[3] = 1, .n[3] = 1 };
	const uint8_t *p = (const uint8_t *)(uintptr_t)m->address + slice * m->slice;
	const uint64_t steps[] = { m->texel_bytes, m->pitch, m->slice };
	float f;

	for (unsigned k = 0; k < m->n_dims; k++) {
		int64_t i = continued(at[k], (int64_t)m->size[k],
				      m->is_linear ? DEV_IMAGE_BORDER
						   : (enum dev_image_edge)m->edges[k]);

		if (i < 0) {
			for (unsigned c = 0; c < 4; c++) {
				memcpy(&f, &m->border[c], 4);
				t.f[c] = (long double)f;
				t.n[c] = m->border[c];
			}
			return t;
		}
		p += (uint64_t)i * steps[k];
	}
	for (unsigned c = 0; c < m->n_channels; c++) {
		union {
			uint8_t u8;
			int8_t s8;
			uint16_t u16;
			int16_t s16;
			uint32_t u32;
			float f;
		} v;

		memcpy(&v, p + c * m->texel_bytes / m->n_channels, m->texel_bytes / m->n_channels);
		switch ((enum dev_image_format)m->format) {
		case DEV_IMAGE_U8:
			t.n[c] = v.u8;
			t.f[c] = v.u8 / 255.0L;
			break;
		case DEV_IMAGE_S8:
			t.n[c] = (uint32_t)v.s8;
			t.f[c] = v.s8 == -128 ? -1 : v.s8 / 127.0L;
			break;
		case DEV_IMAGE_U16:
			t.n[c] = v.u16;
			t.f[c] = v.u16 / 65535.0L;
			break;
		case DEV_IMAGE_S16:
			t.n[c] = (uint32_t)v.s16;
			t.f[c] = v.s16 == -32768 ? -1 : v.s16 / 32767.0L;
			break;
		case DEV_IMAGE_F16:
			t.f[c] = half_value(v.u16);
			break;
		case DEV_IMAGE_F32:
			t.f[c] = (long double)v.f;
			break;
		default:
			t.n[c] = v.u32;
			break;
		}
	}
	return t;
}

static struct dev_reference_texel between(const struct dev_interp_image *m, const long double *at,
					  uint64_t slice, int64_t *place, unsigned dim)
{
	struct dev_reference_texel low, high;
	long double x = at[dim] - 0.5L, weight = roundl((x - floorl(x)) * 256) / 256;

	if (dim == m->n_dims)
		return dev_reference_image_texel(m, place, slice);
	place[dim] = (int64_t)floorl(x);
	low = between(m, at, slice, place, dim + 1);
	place[dim] = (int64_t)floorl(x) + 1;
	high = between(m, at, slice, place, dim + 1);
	for (unsigned c = 0; c < 4; c++)
		low.f[c] = (1 - weight) * low.f[c] + weight * high.f[c];
	return low;
}

struct dev_reference_texel dev_reference_image_read(const struct dev_interp_image *m,
						    const long double at[3], uint64_t slice,
						    bool is_filtered)
{
	/* one more than there are: the last is looked at and not used */
	int64_t place[4] = { 0 };
	long double x[4] = { 0 };

	for (unsigned k = 0; k < m->n_dims; k++) {
		x[k] = at[k];
		place[k] = (int64_t)floorl(at[k]);
	}
	return is_filtered ? between(m, x, slice, place, 0)
			   : dev_reference_image_texel(m, place, slice);
}
