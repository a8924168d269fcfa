/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/matrix.h"

static const struct {
	const char *name;
	enum slu_ptx_element element;
	unsigned bits;
} elements[] = {
	{ "f16", SLU_PTX_ELEMENT_F16, 16 },   { "bf16", SLU_PTX_ELEMENT_BF16, 16 },
	{ "tf32", SLU_PTX_ELEMENT_TF32, 32 }, { "f32", SLU_PTX_ELEMENT_F32, 32 },
	{ "f64", SLU_PTX_ELEMENT_F64, 64 },   { "b1", SLU_PTX_ELEMENT_B1, 1 },
	{ "s4", SLU_PTX_ELEMENT_S4, 4 },      { "u4", SLU_PTX_ELEMENT_U4, 4 },
	{ "s8", SLU_PTX_ELEMENT_S8, 8 },      { "u8", SLU_PTX_ELEMENT_U8, 8 },
	{ "s32", SLU_PTX_ELEMENT_S32, 32 },
};

/* What the text says, in its order. */
struct words {
	unsigned m, n, k;
	bool is_column[2];
	unsigned n_layouts;
	unsigned types[4]; /* index into elements */
	unsigned n_types;
	char part; /* of wmma.load.a and its like */
};

static bool is_word(const char *text, size_t size, const char *word)
{
	return strlen(word) == size && !memcmp(text, word, size);
}

static void read_shape(const char *text, struct words *w)
{
	char *end;

	w->m = (unsigned)strtoul(text + 1, &end, 10);
	w->n = *end == 'n' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
	w->k = *end == 'k' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
}

static void read_word(const char *text, size_t size, struct words *w)
{
	if (*text == 'm' && size > 3 && text[1] >= '1' && text[1] <= '9')
		read_shape(text, w);
	else if ((is_word(text, size, "row") || is_word(text, size, "col")) && w->n_layouts < 2)
		w->is_column[w->n_layouts++] = *text == 'c';
	else if (size == 1)
		w->part = *text;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(elements) && w->n_types < 4; i++)
		if (is_word(text, size, elements[i].name))
			w->types[w->n_types++] = (unsigned)i;
}

static struct words read_words(const char *text)
{
	struct words w = { 0 };

	for (text += strcspn(text, "."); *text; text += strcspn(text, ".")) {
		text++;
		read_word(text, strcspn(text, "."), &w);
	}
	return w;
}

static void set_part(struct slu_ptx_matrix *m, enum slu_ptx_part part, unsigned type,
		     bool is_column)
{
	struct slu_ptx_fragment *f = &m->parts[part];
	unsigned n_matrices = m->is_four ? 4 : 1;

	f->element = elements[type].element;
	f->bits = elements[type].bits;
	f->is_column = is_column;
	f->rows = part == SLU_PTX_PART_B ? m->k : m->m;
	f->columns = part == SLU_PTX_PART_A ? m->k : m->n;
	f->n_elements = f->rows * f->columns * n_matrices / 32;
	/* wmma has every f16 of A and B twice */
	if (m->is_opaque && f->element == SLU_PTX_ELEMENT_F16 && part <= SLU_PTX_PART_B)
		f->n_elements = 16;
	f->reg_size = f->bits == 64 ? 8 : 4;
	f->n_regs = f->n_elements * f->bits / (f->reg_size * 8);
}

static void set_parts(const struct slu_ptx_form *form, const struct words *w,
		      struct slu_ptx_matrix *m)
{
	/* wmma.mma of f16 names only D and C */
	bool is_short = w->n_types == 2;
	unsigned a = is_short ? 0 : w->types[1], b = is_short ? 0 : w->types[2];

	m->is_opaque = form->opcode == SLU_PTX_OP_wmma;
	m->is_four = form->opcode == SLU_PTX_OP_mma && m->k == 4 && m->m == 8 &&
		     elements[a].element == SLU_PTX_ELEMENT_F16;
	set_part(m, SLU_PTX_PART_A, a, w->is_column[0]);
	set_part(m, SLU_PTX_PART_B, b, w->is_column[1]);
	set_part(m, SLU_PTX_PART_C, w->types[w->n_types - 1], false);
	set_part(m, SLU_PTX_PART_D, w->types[0], false);
}

bool slu_ptx_matrix_of(const struct slu_ptx_form *form, const char *text,
		       struct slu_ptx_matrix *ret_matrix)
{
	struct slu_ptx_matrix m = { 0 };
	struct words w;

	switch (form->opcode) {
	case SLU_PTX_OP_ldmatrix:
		m.m = m.n = 8;
		m.parts[SLU_PTX_PART_D].element = SLU_PTX_ELEMENT_F16;
		m.parts[SLU_PTX_PART_D].n_regs = slu_ptx_form_has(form, SLU_PTX_MOD_x4)	  ? 4
						 : slu_ptx_form_has(form, SLU_PTX_MOD_x2) ? 2
											  : 1;
		m.parts[SLU_PTX_PART_D].reg_size = 4;
		break;
	case SLU_PTX_OP_mma:
	case SLU_PTX_OP_wmma:
		w = read_words(text);
		m.m = w.m;
		m.n = w.n;
		m.k = w.k;
		if (w.part) {
			m.is_opaque = true;
			set_part(&m, (enum slu_ptx_part)(w.part - 'a'), w.types[0], w.is_column[0]);
		} else {
			set_parts(form, &w, &m);
		}
		break;
	default:
		return false;
	}
	*ret_matrix = m;
	return true;
}
