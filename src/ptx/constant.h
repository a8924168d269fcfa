/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Constants: literals, and expressions of them. Integers have 64 bits and a sign or none; a
 * literal has one unless it does not fit or ends in U, and an operation on two has none as soon as
 * one of them has none. Floating-point expressions are computed with double precision. A literal
 * of 32 exact bits (0f3F800000) stands alone: only a sign goes with it.
 *
 *   lowest  ?:   ||   &&   |   ^   &   == !=   < <= > >=   << >>   + -   * / %   + - ! ~ (.u64)
 *
 * The registers' own sign is the remainder's as well: it is one only if a blank stands behind it.
 */

#include "ptx/parser.h"

struct slu_ptx_constant {
	enum slu_ptx_token_kind kind; /* INT, F32 or F64 */
	bool is_unsigned;	      /* INT: .u64, else .s64 */
	uint64_t bits;
	struct slu_ptx_token token; /* where it begins */
};

/* May what begins so be a constant? A word may not, but for WARP_SZ. */
bool slu_ptx_may_be_constant(const struct slu_ptx_token *t);
/* @expected: what a refusal says is wanted. */
int slu_ptx_parse_constant(struct slu_ptx_parser *p, const char *expected,
			   struct slu_ptx_constant *ret_constant);
/* An integer from 0 to @max. Between < and > comparisons need parentheses. */
int slu_ptx_parse_count(struct slu_ptx_parser *p, const char *expected, uint64_t max,
			uint64_t *ret_count);

/* "+4*3 - 2" behind a name or register, added to *offset. */
bool slu_ptx_at_offset(const struct slu_ptx_parser *p);
int slu_ptx_parse_offset(struct slu_ptx_parser *p, int64_t *offset);
