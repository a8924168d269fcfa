/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an instruction has at one place among its operands: a word of opcodes.def, whose head says
 * what each letter means, read once when a form is matched. Everybody else goes by these.
 */

#include <stdbool.h>
#include <stdint.h>

#define SLU_PTX_MAX_OPERANDS 8

enum slu_ptx_slot_kind {
	SLU_PTX_SLOT_DEST,	       /* d D */
	SLU_PTX_SLOT_DEST_TWICE,       /* w */
	SLU_PTX_SLOT_DEST_PART,	       /* y */
	SLU_PTX_SLOT_DEST_PAIR,	       /* e */
	SLU_PTX_SLOT_DEST_VECTOR,      /* v */
	SLU_PTX_SLOT_DEST_MOV,	       /* M */
	SLU_PTX_SLOT_SOURCE,	       /* s S */
	SLU_PTX_SLOT_SOURCE_TWICE,     /* x */
	SLU_PTX_SLOT_SOURCE_PART,      /* Y */
	SLU_PTX_SLOT_SOURCE_SIGNED,    /* N */
	SLU_PTX_SLOT_SOURCE_VECTOR,    /* V */
	SLU_PTX_SLOT_SOURCE_MOV,       /* m */
	SLU_PTX_SLOT_SOURCE_VARIABLE,  /* c */
	SLU_PTX_SLOT_PRED_DEST,	       /* p */
	SLU_PTX_SLOT_PRED_PAIR,	       /* q */
	SLU_PTX_SLOT_PRED_SOURCE,      /* P */
	SLU_PTX_SLOT_ADDRESS,	       /* a */
	SLU_PTX_SLOT_SECOND_ADDRESS,   /* A */
	SLU_PTX_SLOT_INTEGER,	       /* i */
	SLU_PTX_SLOT_CONSTANT,	       /* k */
	SLU_PTX_SLOT_BYTES,	       /* z */
	SLU_PTX_SLOT_BYTES_OR_PRED,    /* o */
	SLU_PTX_SLOT_LABEL,	       /* l */
	SLU_PTX_SLOT_TARGETS,	       /* L */
	SLU_PTX_SLOT_FRAGMENT_WRITTEN, /* g */
	SLU_PTX_SLOT_FRAGMENT_READ,    /* G */
	SLU_PTX_SLOT_DEST_TEXEL,       /* t */
	SLU_PTX_SLOT_SOURCE_TEXEL,     /* u */
	SLU_PTX_SLOT_TEXTURE,	       /* T */
	SLU_PTX_SLOT_GRADIENT,	       /* n */
	SLU_PTX_SLOT_ANY,	       /* * */
};

struct slu_ptx_slot {
	uint8_t kind;
	uint8_t type;	   /* enum slu_ptx_type of the value, or NONE */
	uint8_t size;	   /* of the value in bytes; 0 where there is no type */
	uint8_t part;	   /* enum slu_ptx_part of a fragment */
	bool may_be_wider; /* the register, not the value */
	bool is_optional;
};

struct slu_ptx_form;

/* Fills in the slots of a form whose row and types are known. */
void slu_ptx_slot_fill(struct slu_ptx_form *form);

/*
 * The slot of the @k-th of @n_operands: of those that may be left out, the first ones are. NULL for
 * more operands than there are slots, which a call has.
 */
const struct slu_ptx_slot *slu_ptx_slot_of(const struct slu_ptx_form *form, unsigned n_operands,
					   unsigned k);
