/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/slot.h"

#include <assert.h>
#include <string.h>

#include "ptx/form.h"

/* D and S are d and s of a register that may be wider. */
static const char letters[] = {
	[SLU_PTX_SLOT_DEST] = 'd',
	[SLU_PTX_SLOT_DEST_TWICE] = 'w',
	[SLU_PTX_SLOT_DEST_PART] = 'y',
	[SLU_PTX_SLOT_DEST_PAIR] = 'e',
	[SLU_PTX_SLOT_DEST_VECTOR] = 'v',
	[SLU_PTX_SLOT_DEST_MOV] = 'M',
	[SLU_PTX_SLOT_SOURCE] = 's',
	[SLU_PTX_SLOT_SOURCE_TWICE] = 'x',
	[SLU_PTX_SLOT_SOURCE_PART] = 'Y',
	[SLU_PTX_SLOT_SOURCE_SIGNED] = 'N',
	[SLU_PTX_SLOT_SOURCE_VECTOR] = 'V',
	[SLU_PTX_SLOT_SOURCE_MOV] = 'm',
	[SLU_PTX_SLOT_SOURCE_VARIABLE] = 'c',
	[SLU_PTX_SLOT_PRED_DEST] = 'p',
	[SLU_PTX_SLOT_PRED_PAIR] = 'q',
	[SLU_PTX_SLOT_PRED_SOURCE] = 'P',
	[SLU_PTX_SLOT_ADDRESS] = 'a',
	[SLU_PTX_SLOT_SECOND_ADDRESS] = 'A',
	[SLU_PTX_SLOT_INTEGER] = 'i',
	[SLU_PTX_SLOT_CONSTANT] = 'k',
	[SLU_PTX_SLOT_BYTES] = 'z',
	[SLU_PTX_SLOT_BYTES_OR_PRED] = 'o',
	[SLU_PTX_SLOT_LABEL] = 'l',
	[SLU_PTX_SLOT_TARGETS] = 'L',
	[SLU_PTX_SLOT_FRAGMENT_WRITTEN] = 'g',
	[SLU_PTX_SLOT_FRAGMENT_READ] = 'G',
	[SLU_PTX_SLOT_DEST_TEXEL] = 't',
	[SLU_PTX_SLOT_SOURCE_TEXEL] = 'u',
	[SLU_PTX_SLOT_TEXTURE] = 'T',
	[SLU_PTX_SLOT_GRADIENT] = 'n',
	[SLU_PTX_SLOT_ANY] = '*',
};

static uint8_t kind_of(char letter)
{
	const char *found;

	if (letter == 'D' || letter == 'S')
		letter = letter == 'D' ? 'd' : 's';
	found = memchr(letters, letter, sizeof(letters));
	assert(found);
	return found ? (uint8_t)(found - letters) : SLU_PTX_SLOT_ANY;
}

static struct slu_ptx_slot slot_read(const struct slu_ptx_form *form, const char *word, size_t size)
{
	struct slu_ptx_slot slot = { .kind = kind_of(*word), .is_optional = word[size - 1] == '?' };
	char c = size > 1 ? word[1] : '\0';

	if (c >= '0' && c <= '3')
		slot.type = form->types[c - '0'];
	else if (c == 'U')
		slot.type = SLU_PTX_TYPE_B32;
	else if (c == 'L')
		slot.type = SLU_PTX_TYPE_B64;
	else if (c >= 'a' && c <= 'd')
		slot.part = (uint8_t)(c - 'a');
	slot.size = (uint8_t)slu_ptx_type_size((enum slu_ptx_type)slot.type);
	if (slot.kind == SLU_PTX_SLOT_DEST_TWICE || slot.kind == SLU_PTX_SLOT_SOURCE_TWICE)
		slot.size *= 2;
	slot.may_be_wider = (strchr("DSvV", *word) && form->opcode != SLU_PTX_OP_mov) ||
			    (strchr("tu", *word) && form->row->family == SLU_PTX_FAMILY_SURFACE);
	return slot;
}

void slu_ptx_slot_fill(struct slu_ptx_form *form)
{
	const char *word = form->row->operands;

	form->n_slots = 0;
	while (*word) {
		size_t size = strcspn(word, " ");

		assert(form->n_slots < SLU_PTX_MAX_OPERANDS);
		form->slots[form->n_slots++] = slot_read(form, word, size);
		word += size;
		word += *word == ' ';
	}
}

const struct slu_ptx_slot *slu_ptx_slot_of(const struct slu_ptx_form *form, unsigned n_operands,
					   unsigned k)
{
	unsigned n_skip = form->n_slots > n_operands ? form->n_slots - n_operands : 0;

	for (unsigned i = 0; i < form->n_slots; i++) {
		if (form->slots[i].is_optional && n_skip)
			n_skip--;
		else if (!k--)
			return &form->slots[i];
	}
	return NULL;
}
