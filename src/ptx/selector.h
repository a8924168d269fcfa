/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which parts of a register a video instruction means: "%r1.b2" is a byte, "%r1.h0" a half, and of
 * those that work on several parts at once "%r1.h31" and "%r1.b7654" say where each comes from;
 * numbers from 2 or 4 on are of the other source. At a destination "%r1.b310" says which parts
 * are written.
 *
 * In an operand it is one number, and 0 where nothing is written.
 */

#include "ptx/operand.h"

#define SLU_PTX_SELECTOR_MAX 4u

static inline bool slu_ptx_selector_is_half(uint16_t s)
{
	return s >> 14 & 1;
}

static inline unsigned slu_ptx_selector_count(uint16_t s)
{
	return s ? (s >> 12 & 3) + 1u : 0;
}

/* The @i-th digit, from the right. */
static inline unsigned slu_ptx_selector_digit(uint16_t s, unsigned i)
{
	return s >> 3 * i & 7;
}

/* How many parts of a word an opcode works on at once: 1, 2, 4. */
unsigned slu_ptx_selector_lanes(const struct slu_ptx_form *form);

/* Behind a register; nothing may be there. */
int slu_ptx_parse_selector(struct slu_ptx_parser *p, struct slu_ptx_raw *raw);

/* All operands of an instruction that may have selectors or signs, together. */
int slu_ptx_check_selectors(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			    const struct slu_ptx_raw *raws, unsigned n_raws);
