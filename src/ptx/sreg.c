/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/operand.h"

static const struct {
	const char *name;
	enum slu_ptx_sreg sreg;
	bool has_components;
	bool is_wide;
} sregs[] = {
	{ "%tid", SLU_PTX_SREG_TID_X, true, false },
	{ "%ntid", SLU_PTX_SREG_NTID_X, true, false },
	{ "%ctaid", SLU_PTX_SREG_CTAID_X, true, false },
	{ "%nctaid", SLU_PTX_SREG_NCTAID_X, true, false },
	{ "%laneid", SLU_PTX_SREG_LANEID, false, false },
	{ "%warpid", SLU_PTX_SREG_WARPID, false, false },
	{ "%nwarpid", SLU_PTX_SREG_NWARPID, false, false },
	{ "%smid", SLU_PTX_SREG_SMID, false, false },
	{ "%nsmid", SLU_PTX_SREG_NSMID, false, false },
	{ "%gridid", SLU_PTX_SREG_GRIDID, false, true },
	{ "%lanemask_eq", SLU_PTX_SREG_LANEMASK_EQ, false, false },
	{ "%lanemask_le", SLU_PTX_SREG_LANEMASK_LE, false, false },
	{ "%lanemask_lt", SLU_PTX_SREG_LANEMASK_LT, false, false },
	{ "%lanemask_ge", SLU_PTX_SREG_LANEMASK_GE, false, false },
	{ "%lanemask_gt", SLU_PTX_SREG_LANEMASK_GT, false, false },
	{ "%clock", SLU_PTX_SREG_CLOCK, false, false },
	{ "%clock_hi", SLU_PTX_SREG_CLOCK_HI, false, false },
	{ "%clock64", SLU_PTX_SREG_CLOCK64, false, true },
	{ "%globaltimer", SLU_PTX_SREG_GLOBALTIMER, false, true },
	{ "%globaltimer_lo", SLU_PTX_SREG_GLOBALTIMER_LO, false, false },
	{ "%globaltimer_hi", SLU_PTX_SREG_GLOBALTIMER_HI, false, false },
	{ "%envreg1", SLU_PTX_SREG_ENVREG1, false, false },
	{ "%envreg2", SLU_PTX_SREG_ENVREG2, false, false },
	{ "%current_graph_exec", SLU_PTX_SREG_ZERO64, false, true },
	{ "%total_smem_size", SLU_PTX_SREG_TOTAL_SMEM_SIZE, false, false },
	{ "%dynamic_smem_size", SLU_PTX_SREG_DYNAMIC_SMEM_SIZE, false, false },
};

bool slu_ptx_sreg_is_wide(enum slu_ptx_sreg sreg)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sregs); i++)
		if (sregs[i].sreg == sreg)
			return sregs[i].is_wide;
	return false;
}

/* %tid is a vector of four. */
static int whole_vector(struct slu_ptx_parser *p, enum slu_ptx_sreg first,
			struct slu_ptx_operand *o)
{
	struct slu_ptx_operand elements[4];

	for (unsigned i = 0; i < 4; i++)
		elements[i] =
			(struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_SREG,
						  .sreg = i < 3 ? (enum slu_ptx_sreg)(first + i)
								: SLU_PTX_SREG_ZERO };
	o->kind = SLU_PTX_OPERAND_VECTOR;
	o->n_elements = 4;
	o->elements = slu_ptx_arena_copy(p->module->arena, elements, sizeof(elements));
	return o->elements ? 0 : slu_error(-ENOMEM);
}

int slu_ptx_parse_sreg(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	const struct slu_ptx_token *t = &raw->token;

	raw->operand.kind = SLU_PTX_OPERAND_SREG;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(sregs); i++) {
		unsigned component;

		if (!slu_ptx_token_is(t, sregs[i].name))
			continue;
		raw->operand.sreg = sregs[i].sreg;
		if (!sregs[i].has_components)
			return 0;
		if (p->lexer.token.kind != SLU_PTX_TOKEN_DIRECTIVE)
			return whole_vector(p, sregs[i].sreg, &raw->operand);
		if (p->lexer.token.size != 1 || *p->lexer.token.text < 'w' ||
		    *p->lexer.token.text > 'z')
			return slu_ptx_refuse_token(p, ".x, .y, .z or .w");
		if (*p->lexer.token.text == 'w') {
			raw->operand.sreg = SLU_PTX_SREG_ZERO;
			slu_ptx_lexer_next(&p->lexer);
			return 0;
		}
		component = (unsigned)(*p->lexer.token.text - 'x');
		raw->operand.sreg = (enum slu_ptx_sreg)(sregs[i].sreg + component);
		slu_ptx_lexer_next(&p->lexer);
		return 0;
	}
	if (t->size >= 8 && !memcmp(t->text, "%envreg", 7)) {
		raw->operand.sreg = SLU_PTX_SREG_ZERO;
		return 0;
	}
	/* counters of events, of which there are none: %pm0 to %pm7, and with 64 bits */
	if (t->size >= 4 && !memcmp(t->text, "%pm", 3) && t->text[3] >= '0' && t->text[3] <= '7' &&
	    (t->size == 4 || (t->size == 7 && !memcmp(t->text + 4, "_64", 3)))) {
		raw->operand.sreg = t->size == 4 ? SLU_PTX_SREG_ZERO : SLU_PTX_SREG_ZERO64;
		return 0;
	}
	raw->is_unknown = true;
	return 0;
}
