/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tex, tld4 and txq, after the chapter "Texture Fetching" of the programming guide. Coordinates are
 * exact; the weights of a linear filter are rounded to 8 bits behind the point, halves up; the sum
 * is rounded once. There is one level, so that a level and gradients change nothing.
 */
#include "ptx/texture.h"
#include "softgpu/interp/extra.h"
#include "softgpu/interp/half.h"
#include "softgpu/interp/image.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)
/* beyond this no image goes, and a number still has its place among the integers */
#define FAR 0x1p40

/* One read of one lane. */
struct sample {
	struct dev_interp_warp *warp;
	const struct dev_interp_insn *insn;
	const struct dev_interp_image *image;
	unsigned lane;
	uint64_t slice; /* the layer and face; 0 where there are none */
	bool has_failed;
};

union value {
	uint32_t bits;
	float f;
};

struct texel {
	union value c[4];
};

/* Where a coordinate falls: on texel @first, or between it and @second. */
struct spot {
	int64_t first, second; /* below 0: beside the image */
	double weight;	       /* of the second */
};

static float channel_float(enum dev_image_format format, uint32_t bits)
{
	union value v = { .bits = bits };

	switch (format) {
	case DEV_IMAGE_U8:
		return (float)bits / 255;
	case DEV_IMAGE_U16:
		return (float)bits / 65535;
	case DEV_IMAGE_S8:
		return fmaxf((float)(int32_t)bits / 127, -1);
	case DEV_IMAGE_S16:
		return fmaxf((float)(int32_t)bits / 32767, -1);
	case DEV_IMAGE_F16:
		return dev_half_to_float((uint16_t)bits, false);
	default:
		return v.f;
	}
}

static uint32_t channel_bits(enum dev_image_format format, const uint8_t *from)
{
	uint32_t bits = 0;

	memcpy(&bits, from, dev_image_channel_bytes(format));
	switch (format) {
	case DEV_IMAGE_S8:
		return (uint32_t)(int8_t)bits;
	case DEV_IMAGE_S16:
		return (uint32_t)(int16_t)bits;
	default:
		return bits;
	}
}

/* The texel at these places; a place below 0 has the border's colour. */
static struct texel fetch(struct sample *s, int64_t x, int64_t y, int64_t z)
{
	const struct dev_interp_image *m = s->image;
	enum dev_image_format format = (enum dev_image_format)m->format;
	unsigned size = dev_image_channel_bytes(format);
	struct texel t = { 0 };
	const uint8_t *from;
	uint64_t address;

	if (x < 0 || y < 0 || z < 0) {
		memcpy(&t, m->border, sizeof(t));
		return t;
	}
	address = m->address + ((uint64_t)z + s->slice) * m->slice + (uint64_t)y * m->pitch +
		  (uint64_t)x * m->texel_bytes;
	from = DEV_ISA(memory_readable)(s->warp->block, address, m->texel_bytes);
	if (!from) {
		dev_interp_fault(s->warp, s->insn, DEV_INTERP_FAULT_ADDRESS, s->lane, address,
				 m->texel_bytes, false);
		s->has_failed = true;
		return t;
	}
	for (unsigned k = 0; k < m->n_channels; k++) {
		t.c[k].bits = channel_bits(format, from + k * size);
		if (m->is_float)
			t.c[k].f = channel_float(format, t.c[k].bits);
	}
	/* an image without alpha is opaque */
	if (m->n_channels < 4) {
		if (m->is_float)
			t.c[3].f = 1;
		else
			t.c[3].bits = 1;
	}
	return t;
}

/* A texel's number, which may be beside the image, as one inside, or -1 for the border. */
static int64_t place_inside(int64_t i, uint64_t size, enum dev_image_edge edge)
{
	int64_t n = (int64_t)size;

	if (i >= 0 && i < n)
		return i;
	switch (edge) {
	case DEV_IMAGE_WRAP:
		i %= n;
		return i < 0 ? i + n : i;
	case DEV_IMAGE_BORDER:
		return -1;
	default: /* a coordinate that is mirrored is at most one texel beside the edge */
		return i < 0 ? 0 : n - 1;
	}
}

/* @is_between: also the neighbour that a linear filter needs. */
static struct spot spot_of(const struct dev_interp_image *m, unsigned dim, float coordinate,
			   bool is_between)
{
	enum dev_image_edge edge = (enum dev_image_edge)m->edges[dim];
	double x = coordinate, whole;
	struct spot spot;

	/* a comparison with what is no number is false */
	if (!(x > -FAR))
		x = isnan(coordinate) ? 0 : -FAR;
	if (x > FAR)
		x = FAR;
	if (m->is_normalized) {
		whole = floor(x);
		if (edge == DEV_IMAGE_WRAP)
			x -= whole;
		else if (edge == DEV_IMAGE_MIRROR)
			x = fmod(whole, 2) != 0 ? 1 - (x - whole) : x - whole;
		x *= (double)m->size[dim];
	}
	if (is_between)
		x -= 0.5;
	whole = floor(x);
	spot.first = place_inside((int64_t)whole, m->size[dim], edge);
	spot.second = place_inside((int64_t)whole + 1, m->size[dim], edge);
	spot.weight = floor((x - whole) * 256 + 0.5) / 256;
	return spot;
}

static struct texel sample_linear(struct sample *s, const struct spot spots[3])
{
	unsigned n_dims = s->image->n_dims;
	double sums[4] = { 0 };
	struct texel t;

	for (unsigned corner = 0; corner < 1u << n_dims; corner++) {
		int64_t at[3] = { 0 };
		double weight = 1;

		for (unsigned k = 0; k < n_dims; k++) {
			bool is_second = corner >> k & 1;

			at[k] = is_second ? spots[k].second : spots[k].first;
			weight *= is_second ? spots[k].weight : 1 - spots[k].weight;
		}
		/* what has no weight is not looked at: it may be infinite */
		if (weight == 0)
			continue;
		t = fetch(s, at[0], at[1], at[2]);
		for (unsigned k = 0; k < 4; k++)
			sums[k] += weight * (double)t.c[k].f;
	}
	for (unsigned k = 0; k < 4; k++)
		t.c[k].f = (float)sums[k];
	return t;
}

/* The face that a direction points to, and where on it. */
static unsigned face_of(float x, float y, float z, float *ret_s, float *ret_t)
{
	float ax = fabsf(x), ay = fabsf(y), az = fabsf(z), m, s, t;
	unsigned face;

	if (ax >= ay && ax >= az) {
		face = signbit(x) ? 1 : 0;
		m = ax;
		s = signbit(x) ? z : -z;
		t = -y;
	} else if (ay >= az) {
		face = signbit(y) ? 3 : 2;
		m = ay;
		s = x;
		t = signbit(y) ? -z : z;
	} else {
		face = signbit(z) ? 5 : 4;
		m = az;
		s = signbit(z) ? -x : x;
		t = -y;
	}
	*ret_s = (s / m + 1) / 2;
	*ret_t = (t / m + 1) / 2;
	return face;
}

/* The four texels of which a linear filter would make one: their component of that number. */
static struct texel sample_four(struct sample *s, const struct spot spots[3], unsigned component)
{
	const struct spot *x = &spots[0], *y = &spots[1];
	struct texel t;

	t.c[0] = fetch(s, x->first, y->second, 0).c[component];
	t.c[1] = fetch(s, x->second, y->second, 0).c[component];
	t.c[2] = fetch(s, x->second, y->first, 0).c[component];
	t.c[3] = fetch(s, x->first, y->first, 0).c[component];
	return t;
}

static struct texel sample_at(struct sample *s, const struct slu_ptx_form *form,
			      const union value coordinates[3])
{
	const struct dev_interp_image *m = s->image;
	bool is_gather = form->opcode == SLU_PTX_OP_tld4;
	struct spot spots[3] = { 0 };

	if (form->types[1] == SLU_PTX_TYPE_S32) {
		int64_t at[3] = { 0 };

		for (unsigned k = 0; k < m->n_dims; k++)
			at[k] = place_inside((int32_t)coordinates[k].bits, m->size[k],
					     m->is_linear ? DEV_IMAGE_BORDER
							  : (enum dev_image_edge)m->edges[k]);
		return fetch(s, at[0], at[1], at[2]);
	}
	for (unsigned k = 0; k < m->n_dims; k++)
		spots[k] = spot_of(m, k, coordinates[k].f, m->is_filtered || is_gather);
	if (is_gather)
		return sample_four(s, spots, HAS(r) ? 0 : HAS(g) ? 1 : HAS(b) ? 2 : 3);
	return m->is_filtered ? sample_linear(s, spots)
			      : fetch(s, spots[0].first, spots[1].first, spots[2].first);
}

/* Whether the instruction may read such an image. */
static bool fits(const struct slu_ptx_shape *shape, const struct dev_interp_image *m,
		 enum slu_ptx_type coordinates)
{
	unsigned n_dims = shape->is_cube ? 2 : shape->n_dims;

	return m && m->n_dims == n_dims && m->is_layered == shape->is_layered &&
	       m->is_cube == shape->is_cube && (!m->is_linear || coordinates == SLU_PTX_TYPE_S32);
}

/* The object of a lane; neighbours mostly have the same. */
static const struct dev_interp_image *image_of(const struct dev_interp_warp *w, uint64_t object,
					       uint64_t *last, const struct dev_interp_image *m)
{
	const struct dev_interp_launch *launch = w->block->launch;

	if (m && *last == object)
		return m;
	*last = object;
	return launch->find_image ? launch->find_image(launch->userdata, object, false) : NULL;
}

static const struct dev_interp_insn *texture_run(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	const uint64_t *objects = ROW(w, in->a);
	const struct dev_interp_image *m = NULL;
	uint64_t object = 0;

	MASKED_LANES(w->mask)
	{
		struct sample s = { .warp = w, .insn = in, .lane = i };
		union value at[4] = { 0 };
		struct texel t;

		m = image_of(w, objects[i], &object, m);
		if (!fits(&shape, m, (enum slu_ptx_type)form->types[1]))
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_OBJECT, i, objects[i], 0,
						false);
		s.image = m;
		for (unsigned k = 0; k < shape.n_coordinates; k++)
			at[k].bits = ((const uint32_t *)ROW(w, in->extra->rows[0][k]))[i];
		if (shape.is_layered) {
			uint64_t n_layers = shape.is_cube ? m->size[2] / 6 : m->size[2];

			s.slice = SLU_MIN(at[0].bits, n_layers - 1);
			memmove(at, at + 1, sizeof(at) - sizeof(at[0]));
		}
		if (shape.is_cube)
			s.slice = s.slice * 6 +
				  face_of(at[0].f, at[1].f, at[2].f, &at[0].f, &at[1].f);
		t = sample_at(&s, form, at);
		if (s.has_failed)
			return NULL;
		for (unsigned k = 0; k < 4; k++)
			((uint32_t *)ROW(w, in->x[k]))[i] = t.c[k].bits;
	}
	/* nothing of an image is missing */
	w->preds[in->p] |= w->mask;
	return in + 1;
}

static uint32_t query(const struct slu_ptx_form *form, const struct dev_interp_image *m)
{
	uint32_t n_slices = (uint32_t)m->size[2];

	if (HAS(width))
		return (uint32_t)m->size[0];
	if (HAS(height))
		return m->n_dims > 1 ? (uint32_t)m->size[1] : 0;
	if (HAS(depth))
		return m->n_dims > 2 ? n_slices : 0;
	if (HAS(array_size))
		return !m->is_layered ? 0 : m->is_cube ? n_slices / 6 : n_slices;
	return HAS(num_mipmap_levels) ? 1 : m->is_normalized;
}

static const struct dev_interp_insn *query_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const struct dev_interp_launch *launch = w->block->launch;
	const uint64_t *objects = ROW(w, in->a);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask)
	{
		bool is_surface = form->opcode == SLU_PTX_OP_suq;
		const struct dev_interp_image *m =
			launch->find_image
				? launch->find_image(launch->userdata, objects[i], is_surface)
				: NULL;

		if (!m)
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_OBJECT, i, objects[i], 0,
						false);
		d[i] = query(form, m);
	}
	return in + 1;
}

const struct dev_interp_handler DEV_ISA(texture_query) = { query_run, query_run };

const struct dev_interp_handler *DEV_ISA(texture_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler texture = { texture_run, texture_run };

	return form->opcode == SLU_PTX_OP_txq ? &DEV_ISA(texture_query) : &texture;
}
