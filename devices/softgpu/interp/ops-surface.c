/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suld and sust: bytes of an image as they are. The first coordinate counts bytes and is a multiple
 * of what is moved; what is beside the image ends the kernel (.trap), is moved to the edge
 * (.clamp), or is read as zero and not written (.zero). The layer is a coordinate like the others.
 */
#include "ptx/texture.h"
#include "softgpu/interp/extra.h"
#include "softgpu/interp/image.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

/* The slice is the last of three, whatever the shape. */
static void order(const struct slu_ptx_shape *shape, const uint32_t *given, int64_t at[3])
{
	at[0] = at[1] = at[2] = 0;
	for (unsigned k = 0; k < shape->n_dims; k++)
		at[k] = (int32_t)given[k + shape->is_layered];
	if (shape->is_layered)
		at[2] = given[0];
}

/* A cube's faces are layers here. */
static bool fits(const struct slu_ptx_shape *shape, const struct dev_interp_image *m)
{
	return m && m->n_dims == shape->n_dims &&
	       (m->is_layered || m->is_cube) == shape->is_layered;
}

static const struct dev_interp_insn *surface_run(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const struct dev_interp_launch *launch = w->block->launch;
	struct slu_ptx_shape shape = slu_ptx_shape_of(form);
	bool is_write = form->opcode == SLU_PTX_OP_sust;
	unsigned element = in->element, size = element * in->n, row_bytes = in->is_wide_row ? 8 : 4;
	const uint64_t *objects = ROW(w, in->a);
	const struct dev_interp_image *m = NULL;
	uint64_t object = 0;

	MASKED_LANES(w->mask)
	{
		uint32_t given[4] = { 0 };
		uint8_t bytes[16] = { 0 };
		bool is_beside = false;
		uint64_t address;
		int64_t at[3];

		if (!m || object != objects[i])
			m = launch->find_image
				    ? launch->find_image(launch->userdata, objects[i], true)
				    : NULL;
		object = objects[i];
		if (!fits(&shape, m) || m->size[0] * m->texel_bytes < size)
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_OBJECT, i, object, size,
						is_write);
		for (unsigned k = 0; k < shape.n_coordinates; k++)
			given[k] = ((const uint32_t *)ROW(w, in->extra->rows[0][k]))[i];
		order(&shape, given, at);
		if (at[0] & (size - 1))
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_MISALIGNED, i,
						(uint64_t)at[0], size, is_write);
		for (unsigned k = 0; k < 3; k++) {
			int64_t last = k ? (int64_t)m->size[k] - 1
					 : (int64_t)(m->size[0] * m->texel_bytes - size);

			if (at[k] >= 0 && at[k] <= last)
				continue;
			is_beside = true;
			at[k] = at[k] < 0 ? 0 : last;
		}
		if (is_beside && HAS(trap))
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_TRAP, i, object, size,
						is_write);
		if (is_write)
			for (unsigned k = 0; k < in->n; k++)
				memcpy(bytes + k * element, w->rows + in->x[k] + i * row_bytes,
				       element);
		if (!is_beside || !HAS(zero)) {
			uint8_t *place;

			address = m->address + (uint64_t)at[2] * m->slice +
				  (uint64_t)at[1] * m->pitch + (uint64_t)at[0];
			place = DEV_ISA(memory_find)(w->block, address, size,
						     is_write ? DEV_INTERP_WRITE : DEV_INTERP_READ);
			if (!place)
				return dev_interp_fault(w, in, DEV_INTERP_FAULT_ADDRESS, i, address,
							size, is_write);
			memcpy(is_write ? place : bytes, is_write ? bytes : place, size);
		}
		for (unsigned k = 0; !is_write && k < in->n; k++) {
			uint64_t value = 0;

			memcpy(&value, bytes + k * element, element);
			memcpy(w->rows + in->x[k] + i * row_bytes, &value, row_bytes);
		}
	}
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(surface_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler surface = { surface_run, surface_run };

	return form->opcode == SLU_PTX_OP_suq ? &DEV_ISA(texture_query) : &surface;
}
