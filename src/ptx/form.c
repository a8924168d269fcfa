/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/util.h"
#include "ptx/form.h"

/* clang-format off */
const struct slu_ptx_row slu_ptx_rows[] = {
#define SLU_PTX_FORM(op, fam, mods, ops) \
	{ SLU_PTX_OP_##op, SLU_PTX_FAMILY_##fam, #op, mods, ops, 0 },
#define SLU_PTX_FORM_SINCE(target, op, fam, mods, ops) \
	{ SLU_PTX_OP_##op, SLU_PTX_FAMILY_##fam, #op, mods, ops, target },
#include "ptx/opcodes.def"
};
/* clang-format on */
const size_t slu_ptx_n_rows = SLU_ARRAY_SIZE(slu_ptx_rows);

static const char *const modifier_names[] = { "",
#define M(name) #name,
					      SLU_PTX_MODIFIERS(M)
#undef M
};

static const struct {
	const char *name;
	uint8_t size;
	bool is_float;
	bool is_signed;
} types[] = {
	[SLU_PTX_TYPE_NONE] = { "", 0, false, false },
	[SLU_PTX_TYPE_B8] = { "b8", 1, false, false },
	[SLU_PTX_TYPE_B16] = { "b16", 2, false, false },
	[SLU_PTX_TYPE_B32] = { "b32", 4, false, false },
	[SLU_PTX_TYPE_B64] = { "b64", 8, false, false },
	[SLU_PTX_TYPE_U8] = { "u8", 1, false, false },
	[SLU_PTX_TYPE_U16] = { "u16", 2, false, false },
	[SLU_PTX_TYPE_U32] = { "u32", 4, false, false },
	[SLU_PTX_TYPE_U64] = { "u64", 8, false, false },
	[SLU_PTX_TYPE_S8] = { "s8", 1, false, true },
	[SLU_PTX_TYPE_S16] = { "s16", 2, false, true },
	[SLU_PTX_TYPE_S32] = { "s32", 4, false, true },
	[SLU_PTX_TYPE_S64] = { "s64", 8, false, true },
	[SLU_PTX_TYPE_F16] = { "f16", 2, true, true },
	[SLU_PTX_TYPE_F16X2] = { "f16x2", 4, true, true },
	[SLU_PTX_TYPE_BF16] = { "bf16", 2, true, true },
	[SLU_PTX_TYPE_BF16X2] = { "bf16x2", 4, true, true },
	[SLU_PTX_TYPE_TF32] = { "tf32", 4, true, true },
	[SLU_PTX_TYPE_F32] = { "f32", 4, true, true },
	[SLU_PTX_TYPE_F64] = { "f64", 8, true, true },
	[SLU_PTX_TYPE_PRED] = { "pred", 0, false, false },
};

static const struct {
	const char *name;
	enum slu_ptx_space space;
} spaces[] = {
	{ "global", SLU_PTX_SPACE_GLOBAL },	 { "const", SLU_PTX_SPACE_CONST },
	{ "shared", SLU_PTX_SPACE_SHARED },	 { "shared::cta", SLU_PTX_SPACE_SHARED },
	{ "local", SLU_PTX_SPACE_LOCAL },	 { "param", SLU_PTX_SPACE_PARAM },
	{ "param::entry", SLU_PTX_SPACE_PARAM }, { "param::func", SLU_PTX_SPACE_PARAM },
};

unsigned slu_ptx_type_size(enum slu_ptx_type type)
{
	return types[type].size;
}

const char *slu_ptx_type_name(enum slu_ptx_type type)
{
	return types[type].name;
}

bool slu_ptx_type_is_float(enum slu_ptx_type type)
{
	return types[type].is_float;
}

bool slu_ptx_type_is_signed(enum slu_ptx_type type)
{
	return types[type].is_signed;
}

static bool equals(const char *text, size_t size, const char *name)
{
	return strlen(name) == size && !memcmp(text, name, size);
}

enum slu_ptx_type slu_ptx_type_find(const char *text, size_t size)
{
	for (size_t i = 1; i < SLU_ARRAY_SIZE(types); i++)
		if (equals(text, size, types[i].name))
			return (enum slu_ptx_type)i;
	return SLU_PTX_TYPE_NONE;
}

/* The next modifier of "add.rn.f32", from @text, which is at a dot or at the end. */
static size_t modifier_size(const char *text, const char *end)
{
	size_t n = 0;

	while (text + n < end && text[n] != '.')
		n++;
	return n;
}

/* One item of a row, "a", "a?", "{a,b}" or "{a,b}?": does it take the modifier at @text? */
static bool item_takes(const char *item, const char *item_end, const char *text, size_t size)
{
	if (*item == '{')
		item++;
	while (item < item_end) {
		size_t n = strcspn(item, ",}? ");

		if (n == size && size && !memcmp(item, text, n))
			return true;
		item += n;
		if (*item != ',')
			return false;
		item++;
	}
	return false;
}

/* Rows are written so that the first item that can take a modifier is the right one. */
static bool row_takes(const char *pattern, const char *text, const char *end)
{
	while (*pattern) {
		const char *item_end = pattern + strcspn(pattern, " ");
		bool is_optional = item_end > pattern && item_end[-1] == '?';
		size_t n = text < end ? modifier_size(text + 1, end) : 0;

		if (text < end && item_takes(pattern, item_end, text + 1, n))
			text += 1 + n;
		else if (!is_optional)
			return false;
		pattern = item_end + strspn(item_end, " ");
	}
	return text == end;
}

/*
 * Modifiers whose order counts, each kind by itself: those that belong to the opcode's name, types,
 * spaces and layouts. All others may stand anywhere, as for the vendor's assembler.
 */
enum kind {
	KIND_NAME,
	KIND_TYPE,
	KIND_SPACE,
	KIND_LAYOUT,
	KIND_OTHER,
};

/* The modifiers without which the opcode is another one, and which stand in front. */
static const struct {
	const char *opcode;
	const char *modifiers;
} names[] = {
	{ "mul", "{lo,hi,wide}" },
	{ "mad", "{lo,hi,wide}" },
	{ "mul24", "{lo,hi}" },
	{ "mad24", "{lo,hi}" },
	{ "madc", "{lo,hi}" },
	{ "dp2a", "{lo,hi}" },
	{ "div", "{full}" },
	{ "shf", "{l,r}" },
	{ "cvta", "{to}" },
	{ "cvt", "{pack}" },
	{ "brx", "{idx}" },
	{ "bar", "{cta,warp,sync,arrive,red}" },
	{ "barrier", "{cta,arrive,red}" },
	{ "fence", "{proxy}" },
	{ "membar", "{proxy}" },
	{ "createpolicy", "{fractional,range,cvt}" },
	{ "wmma", "{load,store,mma,a,b,c,d}" },
	{ "mbarrier", "{init,inval,arrive,arrive_drop,test_wait,pending_count}" },
	{ "cp", "{async,mbarrier,arrive,commit_group,wait_group,wait_all}" },
};

static bool is_one_of(const char *choice, const char *text, size_t size)
{
	return item_takes(choice, choice + strlen(choice), text, size);
}

static enum kind kind_of(const struct slu_ptx_row *row, const char *text, size_t size)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(names); i++)
		if (!strcmp(row->name, names[i].opcode) &&
		    is_one_of(names[i].modifiers, text, size))
			return KIND_NAME;
	if (slu_ptx_type_find(text, size) || is_one_of("{b1,s2,u2,s4,u4}", text, size))
		return KIND_TYPE;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(spaces); i++)
		if (equals(text, size, spaces[i].name))
			return KIND_SPACE;
	return is_one_of("{row,col}", text, size) ? KIND_LAYOUT : KIND_OTHER;
}

/* Return: the first item from @from on that has taken none and takes this one, or -1. */
static int find_item(const char *pattern, uint32_t used, unsigned from, const char *text,
		     size_t size)
{
	for (unsigned k = 0; *pattern; k++) {
		const char *item_end = pattern + strcspn(pattern, " ");

		if (k >= from && !(used >> k & 1) && item_takes(pattern, item_end, text, size))
			return (int)k;
		pattern = item_end + strspn(item_end, " ");
	}
	return -1;
}

static uint32_t items_that_must_be_there(const char *pattern)
{
	uint32_t wanted = 0;

	for (unsigned k = 0; *pattern; k++) {
		const char *item_end = pattern + strcspn(pattern, " ");

		if (item_end[-1] != '?')
			wanted |= UINT32_C(1) << k;
		pattern = item_end + strspn(item_end, " ");
	}
	return wanted;
}

/*
 * The same in another order: each modifier is taken by an item that has taken none, those whose
 * order counts by one behind the last of their kind, and none is missing.
 */
static bool row_takes_loosely(const struct slu_ptx_row *row, const char *text, const char *end)
{
	unsigned next[KIND_OTHER + 1] = { 0 };
	bool is_in_name = true;
	uint32_t used = 0;

	while (text < end) {
		size_t n = modifier_size(text + 1, end);
		enum kind kind = kind_of(row, text + 1, n);
		int k = find_item(row->modifiers, used, next[kind], text + 1, n);

		if (k < 0 || (kind == KIND_NAME && !is_in_name))
			return false;
		is_in_name = kind == KIND_NAME;
		if (kind != KIND_OTHER)
			next[kind] = (unsigned)k + 1;
		used |= UINT32_C(1) << k;
		text += 1 + n;
	}
	return !(items_that_must_be_there(row->modifiers) & ~used);
}

static bool takes(const struct slu_ptx_row *row, const char *text, const char *end, bool is_loose)
{
	return is_loose ? row_takes_loosely(row, text, end) : row_takes(row->modifiers, text, end);
}

static void classify(struct slu_ptx_form *form, const char *text, size_t size)
{
	enum slu_ptx_type type = slu_ptx_type_find(text, size);

	if (type) {
		if (form->n_types < SLU_ARRAY_SIZE(form->types))
			form->types[form->n_types++] = (uint8_t)type;
		return;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(spaces); i++)
		if (equals(text, size, spaces[i].name)) {
			form->space = spaces[i].space;
			form->has_space = true;
			return;
		}
	if (size == 2 && text[0] == 'v' && text[1] >= '1' && text[1] <= '9') {
		form->vector = (uint8_t)(text[1] - '0');
		return;
	}
	for (size_t i = 1; i < SLU_ARRAY_SIZE(modifier_names); i++)
		if (equals(text, size, modifier_names[i])) {
			form->modifiers[i / 64] |= UINT64_C(1) << (i % 64);
			return;
		}
}

/* Return: the row that takes the modifiers, or NULL; *ret_is_opcode: some row has the opcode. */
static const struct slu_ptx_row *find_row(const char *text, size_t n, const char *end,
					  bool is_loose, bool *ret_is_opcode)
{
	for (size_t i = 0; i < slu_ptx_n_rows; i++) {
		const struct slu_ptx_row *row = &slu_ptx_rows[i];

		if (!equals(text, n, row->name))
			continue;
		*ret_is_opcode = true;
		if (takes(row, text + n, end, is_loose))
			return row;
	}
	return NULL;
}

int slu_ptx_form_match(const char *text, size_t size, struct slu_ptx_form *ret_form)
{
	struct slu_ptx_form form = { .vector = 1 };
	const char *end = text + size;
	size_t n = modifier_size(text, end);
	bool is_opcode = false;

	form.row = find_row(text, n, end, false, &is_opcode);
	if (!form.row && is_opcode)
		form.row = find_row(text, n, end, true, &is_opcode);
	if (!form.row)
		return is_opcode ? SLU_PTX_FORM_E_FORM : SLU_PTX_FORM_E_OPCODE;
	form.opcode = form.row->opcode;
	for (text += n; text < end; text += 1 + n) {
		n = modifier_size(text + 1, end);
		classify(&form, text + 1, n);
	}
	/* a lane moves 16 bytes at most; twice as many came with sm_100 */
	if (form.vector * slu_ptx_type_size((enum slu_ptx_type)form.types[0]) > 16)
		return SLU_PTX_FORM_E_FORM;
	slu_ptx_slot_fill(&form);
	*ret_form = form;
	return 0;
}
