/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/texture.h"

#include "base/util.h"

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

struct slu_ptx_shape slu_ptx_shape_of(const struct slu_ptx_form *form)
{
	struct slu_ptx_shape s = { .is_layered = HAS(a1d) || HAS(a2d) || HAS(acube),
				   .is_cube = HAS(cube) || HAS(acube) };
	unsigned n;

	if (s.is_cube || HAS(3d))
		s.n_dims = 3;
	else if (HAS(2d) || HAS(a2d))
		s.n_dims = 2;
	else if (HAS(1d) || HAS(a1d))
		s.n_dims = 1;
	n = s.n_dims + (unsigned)s.is_layered;
	s.n_coordinates = (uint8_t)(n == 3 ? 4 : n);
	s.n_gradients = (uint8_t)(s.n_dims == 3 ? 4 : s.n_dims);
	return s;
}

/* One number of a vector: a register or a constant. */
static int check_number(struct slu_ptx_parser *p, const struct slu_ptx_raw *vector, unsigned k,
			struct slu_ptx_operand *element, enum slu_ptx_type type)
{
	struct slu_ptx_demand d = { .size = 4, .type = type };
	struct slu_ptx_raw raw = { .operand = *element,
				   .token = vector->token,
				   .literal = (enum slu_ptx_token_kind)vector->literals[k] };
	int r = slu_ptx_check_source(p, &raw, &d);

	element->imm = raw.operand.imm;
	return r;
}

int slu_ptx_check_texture(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			  const struct slu_ptx_slot *slot, const struct slu_ptx_raw *raw)
{
	struct slu_ptx_shape s = slu_ptx_shape_of(form);
	const struct slu_ptx_operand *o = &raw->operand;
	int r = 0;

	if (o->kind != SLU_PTX_OPERAND_ADDRESS || o->elements->kind != SLU_PTX_OPERAND_REG ||
	    o->offset ||
	    slu_ptx_type_size(
		    (enum slu_ptx_type)((uint8_t *)p->reg_types.items)[o->elements->reg]) != 8)
		return slu_ptx_refuse_operand(p, raw,
					      "a 64-bit register with a texture or surface object");
	if (o->n_elements != 1 + s.n_coordinates)
		return slu_ptx_refuse(p, &raw->token, "'%s' takes %u coordinates, not %u",
				      form->text, s.n_coordinates, o->n_elements - 1u);
	for (unsigned k = 0; !r && k < s.n_coordinates; k++)
		r = check_number(p, raw, k, &o->elements[1 + k],
				 k || !s.is_layered ? (enum slu_ptx_type)slot->type
						    : SLU_PTX_TYPE_U32);
	return r;
}

int slu_ptx_check_gradient(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			   const struct slu_ptx_slot *slot, const struct slu_ptx_raw *raw)
{
	unsigned n = slu_ptx_shape_of(form).n_gradients;
	int r = 0;

	if (raw->operand.kind != SLU_PTX_OPERAND_VECTOR || raw->operand.n_elements != n)
		return slu_ptx_refuse(p, &raw->token, "a vector of %u is wanted", n);
	for (unsigned k = 0; !r && k < n; k++)
		r = check_number(p, raw, k, &raw->operand.elements[k],
				 (enum slu_ptx_type)slot->type);
	return r;
}
