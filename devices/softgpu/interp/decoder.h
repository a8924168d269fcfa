/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What decodes a function, in pieces: decoder.c hands out rows and insns, decode-operands.c fills
 * the operands in, decode-csr.c knows rounding modes, decode-lines.c puts what knows lines in its
 * place, and decode.c puts it all together.
 */

#include "softgpu/interp/extra.h"

struct dev_interp_decoder {
	const struct slu_ptx_function *function;
	struct dev_interp_code *code;
	const struct dev_interp_isa *isa;
	struct slu_ptx_error *error;
	bool is_check;	     /* nobody will run the code */
	uint32_t *reg_place; /* row of a register, or number of a predicate */
	uint32_t *starts;    /* first insn of each instruction */
	uint8_t *is_leader;
	uint8_t *is_line;    /* by register: may be a line */
	uint32_t *spread_in; /* by register: the basic block in which its row was made to hold */
	uint32_t block;	     /* which basic block this is */
	uint32_t n_allocated;
	uint32_t n_fills_allocated;
	uint32_t half_slot; /* where a narrow row fits in beside another; 0 if nowhere */
	uint32_t scratch;   /* row for results that nobody wants */
	uint32_t sink;	    /* predicate likewise */
	uint32_t csr;	    /* in force at this place */
};

/* decoder.c */
/* Return: DEV_INTERP_E_REFUSED, with the place and @why in the error. */
int dev_interp_decoder_refuse(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			      const char *why);
/* Bytes of a register; whether its row has 8 a lane. */
unsigned dev_interp_decoder_reg_size(const struct dev_interp_decoder *d, uint32_t reg);
bool dev_interp_decoder_is_wide(const struct dev_interp_decoder *d, uint32_t reg);
uint32_t dev_interp_decoder_take_row(struct dev_interp_decoder *d, bool is_wide);
/* One word for each strip. */
uint32_t dev_interp_decoder_take_pred(struct dev_interp_decoder *d);
struct dev_interp_insn *dev_interp_decoder_take_insn(struct dev_interp_decoder *d,
						     const struct slu_ptx_instr *source);
/* The row of a value that is known before the function runs; equal ones share it. */
int dev_interp_decoder_fill_row(struct dev_interp_decoder *d, const struct dev_interp_fill *fill,
				uint32_t *ret_row);
/* The row of an operand, whatever it is. */
int dev_interp_decoder_row_of(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
			      const struct slu_ptx_operand *o, bool is_wide, uint32_t *ret_row);

/* decode-operands.c: hands the operands out in the order of the row's words */
int dev_interp_decoder_bind_operands(struct dev_interp_decoder *d,
				     const struct slu_ptx_instr *instr, struct dev_interp_insn *in);

/* decode-csr.c: which state of MXCSR an instruction wants, 0 if it does not care; and the one that
 * most of a function's instructions want */
uint32_t dev_interp_csr_of(const struct slu_ptx_form *form);
uint32_t dev_interp_csr_usual(const struct slu_ptx_function *f);

/* decode-lines.c */
int dev_interp_decoder_note_liners(struct dev_interp_decoder *d);
/* Does what runs the instruction know lines? Of the others, operands are spread in front of them.
 */
bool dev_interp_decoder_knows_lines(const struct dev_interp_decoder *d,
				    const struct slu_ptx_instr *instr);
int dev_interp_decoder_spread(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr);
/* Of those that do: puts what knows lines in front of the handler of rows, which is in insn->run.
 */
void dev_interp_decoder_bind_lines(struct dev_interp_decoder *d, const struct slu_ptx_instr *instr,
				   struct dev_interp_insn *in);
/* Likewise: says which operands may be lines, before a handler is chosen. */
void dev_interp_decoder_note_lines(const struct dev_interp_decoder *d,
				   const struct slu_ptx_instr *instr, struct dev_interp_insn *in);
