/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The form of an instruction: its opcode with all modifiers, "ld.global.nc.v4.f32", taken apart.
 * Which forms exist stands in opcodes.def and nowhere else; a form is matched once for each
 * distinct text of a module and then shared by all instructions that have it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/slot.h"

enum slu_ptx_type {
	SLU_PTX_TYPE_NONE,
	SLU_PTX_TYPE_B8,
	SLU_PTX_TYPE_B16,
	SLU_PTX_TYPE_B32,
	SLU_PTX_TYPE_B64,
	SLU_PTX_TYPE_U8,
	SLU_PTX_TYPE_U16,
	SLU_PTX_TYPE_U32,
	SLU_PTX_TYPE_U64,
	SLU_PTX_TYPE_S8,
	SLU_PTX_TYPE_S16,
	SLU_PTX_TYPE_S32,
	SLU_PTX_TYPE_S64,
	SLU_PTX_TYPE_F16,
	SLU_PTX_TYPE_F16X2,
	SLU_PTX_TYPE_BF16,
	SLU_PTX_TYPE_BF16X2,
	SLU_PTX_TYPE_TF32,
	SLU_PTX_TYPE_F32,
	SLU_PTX_TYPE_F64,
	SLU_PTX_TYPE_PRED,
	_SLU_PTX_TYPE_MAX,
};

enum slu_ptx_space {
	SLU_PTX_SPACE_GENERIC,
	SLU_PTX_SPACE_GLOBAL,
	SLU_PTX_SPACE_CONST,
	SLU_PTX_SPACE_SHARED,
	SLU_PTX_SPACE_LOCAL,
	SLU_PTX_SPACE_PARAM,
	_SLU_PTX_SPACE_MAX,
};

enum slu_ptx_sreg {
	SLU_PTX_SREG_TID_X,
	SLU_PTX_SREG_TID_Y,
	SLU_PTX_SREG_TID_Z,
	SLU_PTX_SREG_NTID_X,
	SLU_PTX_SREG_NTID_Y,
	SLU_PTX_SREG_NTID_Z,
	SLU_PTX_SREG_CTAID_X,
	SLU_PTX_SREG_CTAID_Y,
	SLU_PTX_SREG_CTAID_Z,
	SLU_PTX_SREG_NCTAID_X,
	SLU_PTX_SREG_NCTAID_Y,
	SLU_PTX_SREG_NCTAID_Z,
	SLU_PTX_SREG_LANEID,
	SLU_PTX_SREG_WARPID,
	SLU_PTX_SREG_NWARPID,
	SLU_PTX_SREG_SMID,
	SLU_PTX_SREG_NSMID,
	SLU_PTX_SREG_GRIDID,
	SLU_PTX_SREG_LANEMASK_EQ,
	SLU_PTX_SREG_LANEMASK_LE,
	SLU_PTX_SREG_LANEMASK_LT,
	SLU_PTX_SREG_LANEMASK_GE,
	SLU_PTX_SREG_LANEMASK_GT,
	SLU_PTX_SREG_CLOCK,
	SLU_PTX_SREG_CLOCK_HI,
	SLU_PTX_SREG_CLOCK64,
	SLU_PTX_SREG_GLOBALTIMER,
	SLU_PTX_SREG_GLOBALTIMER_LO,
	SLU_PTX_SREG_GLOBALTIMER_HI,
	SLU_PTX_SREG_TOTAL_SMEM_SIZE,
	SLU_PTX_SREG_DYNAMIC_SMEM_SIZE,
	SLU_PTX_SREG_ENVREG1, /* where blocks of a grid wait for each other: the upper half */
	SLU_PTX_SREG_ENVREG2, /* the lower half */
	SLU_PTX_SREG_ZERO, /* what reads as zero: every other %envreg, %pm0, the fourth of %tid */
	SLU_PTX_SREG_ZERO64,
	_SLU_PTX_SREG_MAX,
};

enum slu_ptx_opcode {
#define SLU_PTX_OPCODE(name) SLU_PTX_OP_##name,
#include "ptx/opcodes.def"
	_SLU_PTX_OP_MAX,
};

/* Who runs a row: one file of the interpreter each. */
enum slu_ptx_family {
	SLU_PTX_FAMILY_INT,   /* integer arithmetic and bits */
	SLU_PTX_FAMILY_CARRY, /* integer arithmetic with a carry */
	SLU_PTX_FAMILY_WORD,  /* parts of a word */
	SLU_PTX_FAMILY_VIDEO, /* bytes and halves of a word, with a second operation */
	SLU_PTX_FAMILY_FLOAT, /* f32 and f64 */
	SLU_PTX_FAMILY_HALF,  /* f16, bf16 and two of them */
	SLU_PTX_FAMILY_CMP,   /* compare and select */
	SLU_PTX_FAMILY_PRED,  /* logic on predicates */
	SLU_PTX_FAMILY_MOVE,
	SLU_PTX_FAMILY_CVT,
	SLU_PTX_FAMILY_WARP,   /* lanes of a warp exchange values */
	SLU_PTX_FAMILY_MATRIX, /* lanes of a warp multiply matrices together */
	SLU_PTX_FAMILY_LOAD,
	SLU_PTX_FAMILY_STORE,
	SLU_PTX_FAMILY_ATOM,
	SLU_PTX_FAMILY_COPY,	/* from global to shared memory */
	SLU_PTX_FAMILY_STACK,	/* local memory taken while running */
	SLU_PTX_FAMILY_PHASE,	/* barriers in memory */
	SLU_PTX_FAMILY_TEXTURE, /* reads through a texture object, and what one says of itself */
	SLU_PTX_FAMILY_SURFACE, /* the same of a surface object, and writes */
	SLU_PTX_FAMILY_FENCE,
	SLU_PTX_FAMILY_FLOW,
	SLU_PTX_FAMILY_BAR,
	SLU_PTX_FAMILY_NOP, /* accepted, without effect here */
	_SLU_PTX_FAMILY_MAX,
};

/* clang-format off */
/* Every modifier that is no type, space or vector width; the names come from the list itself. */
#define SLU_PTX_MODIFIERS(M) \
	M(rn) M(rz) M(rm) M(rp) M(rna) M(rni) M(rzi) M(rmi) M(rpi) M(ftz) M(sat) M(relu) \
	M(xorsign) M(approx) M(full) M(hi) M(lo) M(wide) M(to) M(cc) M(noftz) M(eq) M(ne) \
	M(lt) M(le) M(gt) M(ge) M(ls) M(hs) M(equ) M(neu) M(ltu) M(leu) M(gtu) M(geu) \
	M(num) M(nan) M(NaN) M(and) M(or) M(xor) M(add) M(min) M(max) M(inc) M(dec) M(exch) \
	M(cas) M(popc) M(volatile) M(relaxed) M(acquire) M(release) M(acq_rel) M(sc) \
	M(weak) M(mmio) M(cta) M(gpu) M(sys) M(gl) M(cluster) M(nc) M(ca) M(cg) M(cs) \
	M(lu) M(cv) M(wb) M(wt) M(uni) M(sync) M(aligned) M(arrive) M(red) M(warp) M(up) \
	M(down) M(bfly) M(idx) M(all) M(any) M(ballot) M(shiftamt) M(clamp) M(wrap) M(l) \
	M(r) M(f4e) M(b4e) M(rc8) M(ecl) M(ecr) M(rc16) M(proxy) M(alias) M(finite) \
	M(infinite) M(number) M(notanumber) M(normal) M(subnormal) M(pack) M(u4) M(s4) M(u2) \
	M(s2) M(satfinite) M(trans) M(row) M(col) M(load) M(store) M(mma) M(x1) M(x2) M(x4) \
	M(async) M(mask) M(wait_group) M(init) M(inval) \
	M(arrive_drop) M(noComplete) M(test_wait) M(parity) M(pending_count) M(noinc) M(po) M(shr7) M(range) M(cvt) \
	M(shr15) M(1d) M(2d) M(3d) M(a1d) M(a2d) M(cube) M(acube) M(level) M(grad) M(g) M(b) M(a) M(trap) \
	M(zero) M(width) M(height) M(depth) M(array_size) M(normalized_coords) M(num_mipmap_levels)
/* clang-format on */

enum slu_ptx_modifier {
	SLU_PTX_MOD_NONE,
#define M(name) SLU_PTX_MOD_##name,
	SLU_PTX_MODIFIERS(M)
#undef M
		_SLU_PTX_MOD_MAX,
};

struct slu_ptx_row;

struct slu_ptx_form {
	const char *text; /* "ld.global.nc.v4.f32" */
	enum slu_ptx_opcode opcode;
	const struct slu_ptx_row *row; /* of opcodes.def */
	enum slu_ptx_space space;
	uint8_t types[4]; /* in the order of the text; NONE behind the last */
	uint8_t n_types;
	uint8_t vector; /* 1, 2, 4, 8 */
	bool has_space;
	uint8_t n_slots;
	struct slu_ptx_slot slots[SLU_PTX_MAX_OPERANDS]; /* what its operands may be */
	uint64_t modifiers[3];				 /* one bit a modifier */
};

/* A row of opcodes.def. */
struct slu_ptx_row {
	enum slu_ptx_opcode opcode;
	enum slu_ptx_family family;
	const char *name;
	const char *modifiers;
	const char *operands; /* as words; a form has them as slots */
	unsigned target;      /* the first one that has it: 80 for sm_80; 0 for all */
};
extern const struct slu_ptx_row slu_ptx_rows[];
extern const size_t slu_ptx_n_rows;

static inline bool slu_ptx_form_has(const struct slu_ptx_form *form, enum slu_ptx_modifier m)
{
	return form->modifiers[m / 64] >> (m % 64) & 1;
}

/* Bytes of one value; 0 for NONE and PRED. */
unsigned slu_ptx_type_size(enum slu_ptx_type type);
const char *slu_ptx_type_name(enum slu_ptx_type type);
/* Return: the type of that name without its dot, or NONE. */
enum slu_ptx_type slu_ptx_type_find(const char *text, size_t size);
bool slu_ptx_type_is_float(enum slu_ptx_type type);
bool slu_ptx_type_is_signed(enum slu_ptx_type type);
/* Special registers have 32 bits, a few 64. */
bool slu_ptx_sreg_is_wide(enum slu_ptx_sreg sreg);

/*
 * Takes "add.rn.f32" (@size bytes) apart. Return: 0, or SLU_PTX_FORM_E_OPCODE if there is no such
 * opcode, SLU_PTX_FORM_E_FORM if no row of the opcode takes these modifiers. @ret_form->text is
 * left to the caller.
 */
enum {
	_SLU_PTX_FORM_E_SUCCESS,
	SLU_PTX_FORM_E_OPCODE,
	SLU_PTX_FORM_E_FORM,
};
int slu_ptx_form_match(const char *text, size_t size, struct slu_ptx_form *ret_form);
