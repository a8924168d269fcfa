/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Operands on their way from the text into an instruction: read as they are written (operand.c),
 * then held against what a row of opcodes.def wants (check.c).
 */

#include "ptx/parser.h"

#define SLU_PTX_MAX_ELEMENTS 8 /* of a vector */

struct slu_ptx_raw {
	struct slu_ptx_operand operand;
	struct slu_ptx_token token; /* where it began */
	/* how a constant was written: INT, F32 or F64; of a vector, each of its elements */
	enum slu_ptx_token_kind literal;
	uint8_t literals[SLU_PTX_MAX_ELEMENTS];
	bool is_unknown; /* a name that nobody declared: perhaps a label further down */
	bool is_element; /* name[4], which is an address in brackets as well */
	bool is_minus;	 /* a sign in front of something that is no constant */
	bool is_paired;	 /* a vector with a predicate behind it: {…}|p, in operand.second */
};

/* What a slot demands of a value. */
struct slu_ptx_demand {
	unsigned size;	   /* bytes; 0: no register of values */
	bool may_be_wider; /* the register, not the value */
	enum slu_ptx_type type;
};

int slu_ptx_parse_raw(struct slu_ptx_parser *p, struct slu_ptx_raw *ret_raw);
/* A word with a %, which is @raw's token and behind us. */
int slu_ptx_parse_sreg(struct slu_ptx_parser *p, struct slu_ptx_raw *raw);

int slu_ptx_refuse_unknown(struct slu_ptx_parser *p, const struct slu_ptx_token *t);
int slu_ptx_refuse_operand(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw,
			   const char *expected);

/* @place: where it will stand, for a label that is not known yet. */
int slu_ptx_check_operand(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			  const struct slu_ptx_slot *slot, struct slu_ptx_raw *raw,
			  struct slu_ptx_operand *place);
/* A value that is read: constants become the bits of the demanded type. */
int slu_ptx_check_source(struct slu_ptx_parser *p, struct slu_ptx_raw *raw,
			 const struct slu_ptx_demand *d);
int slu_ptx_check_reg(struct slu_ptx_parser *p, const struct slu_ptx_raw *raw, uint32_t reg,
		      const struct slu_ptx_demand *d);
/* The operands of a mov together. */
int slu_ptx_check_pack(struct slu_ptx_parser *p, const struct slu_ptx_raw *raws);
