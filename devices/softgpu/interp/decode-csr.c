/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding and the flushing of subnormals, which are a state of the CPU. */
#include "base/util.h"
#include "softgpu/interp/decoder.h"

/* rounded by our own arithmetic */
static bool is_narrow(uint8_t type)
{
	return type >= SLU_PTX_TYPE_F16 && type <= SLU_PTX_TYPE_TF32;
}

/* Which state of MXCSR an instruction wants; 0 if it does not care. */
uint32_t dev_interp_csr_of(const struct slu_ptx_form *form)
{
	static const struct {
		enum slu_ptx_modifier modifier;
		uint32_t bits;
	} modes[] = {
		{ SLU_PTX_MOD_rm, 1u << 13 },
		{ SLU_PTX_MOD_rp, 2u << 13 },
		{ SLU_PTX_MOD_rz, 3u << 13 },
	};
	uint32_t csr = DEV_INTERP_CSR_DEFAULT;

	switch (form->row->family) {
	case SLU_PTX_FAMILY_FLOAT:
		/* approximations flush by themselves: the library behind them wants no surprise */
		if (slu_ptx_form_has(form, SLU_PTX_MOD_approx) ||
		    slu_ptx_form_has(form, SLU_PTX_MOD_full))
			return csr;
		break;
	case SLU_PTX_FAMILY_CVT:
		if (!slu_ptx_type_is_float((enum slu_ptx_type)form->types[0]) &&
		    !slu_ptx_type_is_float((enum slu_ptx_type)form->types[1]))
			return 0;
		if (is_narrow(form->types[0]) || is_narrow(form->types[1]))
			return csr;
		break;
	case SLU_PTX_FAMILY_CMP:
		if (!slu_ptx_form_has(form, SLU_PTX_MOD_ftz))
			return slu_ptx_type_is_float(
				       (enum slu_ptx_type)form->types[form->n_types - 1])
				       ? csr
				       : 0;
		break;
	case SLU_PTX_FAMILY_HALF:
	case SLU_PTX_FAMILY_TEXTURE:
		return csr;
	case SLU_PTX_FAMILY_ATOM:
		return slu_ptx_type_is_float((enum slu_ptx_type)form->types[0]) ? csr : 0;
	default:
		return 0;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(modes); i++)
		if (slu_ptx_form_has(form, modes[i].modifier))
			csr |= modes[i].bits;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_ftz))
		csr |= 0x8040;
	return csr;
}

/* The function's usual state: the one that most of its instructions want. */
uint32_t dev_interp_csr_usual(const struct slu_ptx_function *f)
{
	uint32_t values[8], counts[8], best = DEV_INTERP_CSR_DEFAULT, best_count = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < f->n_instrs; i++) {
		uint32_t csr = dev_interp_csr_of(f->instrs[i].form);
		unsigned k = 0;

		if (!csr)
			continue;
		while (k < n && values[k] != csr)
			k++;
		if (k == n) {
			values[n] = csr;
			counts[n++] = 0;
		}
		if (++counts[k] > best_count) {
			best_count = counts[k];
			best = csr;
		}
	}
	return best;
}
