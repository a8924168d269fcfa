/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ptx/selector.h"

#define IS_THERE (1u << 15)
#define IS_HALF	 (1u << 14)

unsigned slu_ptx_selector_lanes(const struct slu_ptx_form *form)
{
	char last = form->row->name[strlen(form->row->name) - 1];

	return last == '2' ? 2 : last == '4' ? 4 : 1;
}

int slu_ptx_parse_selector(struct slu_ptx_parser *p, struct slu_ptx_raw *raw)
{
	struct slu_ptx_token t = p->lexer.token;
	unsigned n, bits = 0;

	if (t.kind != SLU_PTX_TOKEN_DIRECTIVE)
		return 0;
	n = (unsigned)t.size - 1;
	if ((*t.text != 'b' && *t.text != 'h') || n < 1 || n > SLU_PTX_SELECTOR_MAX)
		return slu_ptx_refuse_token(p, "a selector");
	for (unsigned i = 1; i <= n; i++) {
		if (t.text[i] < '0' || t.text[i] > '7')
			return slu_ptx_refuse_token(p, "a selector");
		bits = bits << 3 | (unsigned)(t.text[i] - '0');
	}
	bits |= IS_THERE | (*t.text == 'h' ? IS_HALF : 0) | (n - 1) << 12;
	raw->operand.selector = (uint16_t)bits;
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* Parts that are written: each once, the highest first. */
static bool is_mask(uint16_t s, unsigned lanes)
{
	for (unsigned i = 0; i < slu_ptx_selector_count(s); i++)
		if (slu_ptx_selector_digit(s, i) >= lanes ||
		    (i && slu_ptx_selector_digit(s, i) <= slu_ptx_selector_digit(s, i - 1)))
			return false;
	return true;
}

/* Parts that are read: as many as there are lanes, from both sources. */
static bool is_choice(uint16_t s, unsigned lanes)
{
	for (unsigned i = 0; i < lanes; i++)
		if (slu_ptx_selector_digit(s, i) >= 2 * lanes)
			return false;
	return slu_ptx_selector_count(s) == lanes;
}

static bool fits(uint16_t s, unsigned lanes, bool is_destination)
{
	bool is_half = slu_ptx_selector_is_half(s);

	if (lanes == 1)
		return slu_ptx_selector_count(s) == 1 &&
		       slu_ptx_selector_digit(s, 0) < (is_half ? 2u : 4u);
	return is_half == (lanes == 2) &&
	       (is_destination ? is_mask(s, lanes) : is_choice(s, lanes));
}

int slu_ptx_check_selectors(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			    const struct slu_ptx_raw *raws, unsigned n_raws)
{
	unsigned lanes = slu_ptx_selector_lanes(form);
	bool is_product, is_addend;

	for (unsigned i = 0; i < n_raws; i++)
		if (raws[i].operand.selector && !fits(raws[i].operand.selector, lanes, i == 0))
			return slu_ptx_refuse(
				p, &raws[i].token, "'%.*s' has a selector that '%s' does not take",
				slu_ptx_shown(&raws[i].token), raws[i].token.text, form->text);
	/* the rest of the word must come from somewhere */
	if (raws[0].operand.selector && n_raws < 4)
		return slu_ptx_refuse(p, &raws[0].token,
				      "'%s' into a part takes 4 operands, not %u", form->text,
				      n_raws);
	if (form->opcode != SLU_PTX_OP_vmad)
		return 0;
	is_product = raws[1].operand.is_negated != raws[2].operand.is_negated;
	is_addend = raws[3].operand.is_negated;
	if (is_product && is_addend)
		return slu_ptx_refuse(p, &raws[3].token,
				      "'%s' negates the product or what is added, not both",
				      form->text);
	if (slu_ptx_form_has(form, SLU_PTX_MOD_po) &&
	    (raws[1].operand.is_negated || raws[2].operand.is_negated || is_addend))
		return slu_ptx_refuse(p, &raws[1].token, "'%s' negates nothing", form->text);
	return 0;
}
