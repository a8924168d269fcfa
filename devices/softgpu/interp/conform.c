/* SPDX-License-Identifier: Apache-2.0 */
/* Part of test-conform.h: the forms of a row, and the kernels that try them. */
#include "softgpu/interp/test-conform.h"

struct dev_testbed dev_conform_bed;
uint8_t *dev_conform_in, *dev_conform_out;
uint64_t dev_conform_seed;
unsigned dev_conform_n_kernels;

/* ---- forms of a row ---- */

#define MAX_ITEMS 16

struct expansion {
	char text[160];
	bool is_full;
	void (*each)(const char *text, void *userdata);
	void *userdata;
	unsigned turn[MAX_ITEMS]; /* of the modifiers that take turns */
};

/* Does the item begin with a modifier that changes nothing here? */
static bool is_hint(const char *item)
{
	static const char *const hints[] = { "weak",	"ca",	"wb",  "nc",  "L1::",	"L2::",
					     "relaxed", "mmio", "cta", "uni", "aligned" };

	if (*item == '{')
		item++;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(hints); i++)
		if (!strncmp(item, hints[i], strlen(hints[i])))
			return true;
	return false;
}

/* What the words of a row allow one by one, and no lane can move. */
static bool is_too_wide(const char *text)
{
	return strstr(text, ".v4.") && !strcmp(text + strlen(text) - 2, "64");
}

static unsigned count_choices(const char *item, size_t size)
{
	unsigned n = item[size - 1] == '?' ? 2 : 1;

	for (size_t i = 0; i < size; i++)
		n += item[i] == ',';
	return n;
}

static void conform_expand(struct expansion *e, const char *pattern, unsigned item)
{
	size_t size = strlen(e->text), n = strcspn(pattern, " ");
	const char *next = pattern + n + (pattern[n] == ' ');
	const char *at = pattern;
	unsigned choice = 0, only = UINT32_MAX;

	if (!*pattern) {
		if (!is_too_wide(e->text))
			e->each(e->text, e->userdata);
		return;
	}
	assert_true(item < MAX_ITEMS);
	if (!e->is_full && is_hint(pattern))
		only = e->turn[item]++ % count_choices(pattern, n);
	if (pattern[n - 1] == '?' && (only == UINT32_MAX || only == choice))
		conform_expand(e, next, item + 1);
	choice += pattern[n - 1] == '?';
	if (*at == '{')
		at++;
	for (;; choice++) {
		size_t k = strcspn(at, ",}? ");

		if (only == UINT32_MAX || only == choice) {
			snprintf(e->text + size, sizeof(e->text) - size, ".%.*s", (int)k, at);
			conform_expand(e, next, item + 1);
			e->text[size] = 0;
		}
		at += k;
		if (*at != ',')
			break;
		at++;
	}
}

void dev_conform_expand(const struct slu_ptx_row *row, bool is_full,
			void (*each)(const char *text, void *userdata), void *userdata)
{
	struct expansion e = { .is_full = is_full, .each = each, .userdata = userdata };

	snprintf(e.text, sizeof(e.text), "%s", row->name);
	conform_expand(&e, row->modifiers, 0);
}

/* ---- values ---- */

uint64_t dev_conform_random(void)
{
	return slu_test_random(&dev_conform_seed);
}

void dev_conform_scramble(void *to, size_t n)
{
	uint8_t *bytes = to;

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(dev_conform_random() >> 56);
}

/* clang-format off */
static const uint64_t edges_int[] = {
	0, 1, 2, 31, 32, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 0x7fffffff, 0x80000000,
	0xffffffff, 0x100000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 1,
};
static const uint32_t edges_f32[] = {
	0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x3f800000, 0xbf800000, 0x3f000000,
	0x40200000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
	0x7f800001, 0x4f000000, 0xcf000000, 0x5f000000, 0x4effffff, 0x3effffff, 0x477fe000,
	0x33000000, 0x38800000, 0x42fe0000, 0x3f808000, 0x7f7f8000, 0x3f801000, 0x3f803000,
};
static const uint64_t edges_f64[] = {
	0, UINT64_C(1) << 63, 1, UINT64_C(0x000fffffffffffff), UINT64_C(0x0010000000000000),
	UINT64_C(0x3ff0000000000000), UINT64_C(0xbff0000000000000), UINT64_C(0x3fe0000000000000),
	UINT64_C(0x4004000000000000), UINT64_C(0x7fefffffffffffff), UINT64_C(0x7ff0000000000000),
	UINT64_C(0xfff0000000000000), UINT64_C(0x7ff8000000000000), UINT64_C(0x43e0000000000000),
	UINT64_C(0xc3e0000000000000), UINT64_C(0x43f0000000000000), UINT64_C(0x3690000000000000),
	UINT64_C(0x380fffffffffffff), UINT64_C(0x47efffffffffffff),
};
static const uint16_t edges_f16[] = {
	0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
	0x7e00, 0xfe01, 0x4900,
};
static const uint16_t edges_bf16[] = {
	0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f80, 0xbf80, 0x3f00, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
	0x7fc0, 0xffc1, 0x4120,
};
/* clang-format on */

#define PICK(array, r) ((array)[(r) % SLU_ARRAY_SIZE(array)])

static uint64_t edge_of(enum slu_ptx_type type)
{
	uint64_t r = dev_conform_random();

	switch (type) {
	case SLU_PTX_TYPE_F32:
		return PICK(edges_f32, r);
	case SLU_PTX_TYPE_F64:
		return PICK(edges_f64, r);
	case SLU_PTX_TYPE_F16:
	case SLU_PTX_TYPE_F16X2:
		return PICK(edges_f16, r) | (uint32_t)PICK(edges_f16, r >> 32) << 16;
	case SLU_PTX_TYPE_BF16:
	case SLU_PTX_TYPE_BF16X2:
		return PICK(edges_bf16, r) | (uint32_t)PICK(edges_bf16, r >> 32) << 16;
	default:
		return PICK(edges_int, r);
	}
}

uint64_t dev_conform_value(enum slu_ptx_type type)
{
	uint64_t r = dev_conform_random(), choice = dev_conform_random() % 4;
	double d = (double)(int64_t)r / 0x1p52;
	float f = (float)d;
	uint32_t bits;

	if (choice == 0)
		return edge_of(type);
	if (choice != 1)
		return r;
	/* numbers of everyday size */
	switch (type) {
	case SLU_PTX_TYPE_F32:
		memcpy(&bits, &f, 4);
		return bits;
	case SLU_PTX_TYPE_BF16:
	case SLU_PTX_TYPE_BF16X2:
		memcpy(&bits, &f, 4);
		return bits >> 16 | ((bits + 0x10000) & 0xffff0000);
	case SLU_PTX_TYPE_F64:
		memcpy(&r, &d, 8);
		return r;
	default:
		return r >> dev_conform_random() % 64;
	}
}

/* ---- kernels ---- */

void dev_conform_put(struct dev_conform_text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->size += (size_t)vsnprintf(t->text + t->size, sizeof(t->text) - t->size, format, args);
	va_end(args);
	assert_true(t->size < sizeof(t->text));
}

const char *dev_conform_head(const struct slu_ptx_form *form)
{
	return form->row->target > 80 ? ".version 8.0\n.target sm_90\n.address_size 64\n"
	       : form->row->target    ? ".version 8.0\n.target sm_80\n.address_size 64\n"
				      : ".version 8.0\n.target sm_75\n.address_size 64\n";
}

static int conform_launch(const char *kernel, unsigned grid, unsigned block)
{
	struct dev_testbed *bed = &dev_conform_bed;
	uint64_t used = bed->used;
	int r = dev_testbed_load(bed, kernel);

	if (r)
		fail_msg("%u:%u: %s\n%s", bed->error.line, bed->error.column, bed->error.text,
			 kernel);
	dev_testbed_param_ptr(bed, dev_conform_in);
	dev_testbed_param_ptr(bed, dev_conform_out);
	memcpy(bed->params + 32, dev_conform_in, 2048);
	bed->fault = (struct dev_interp_fault){ 0 };
	r = dev_testbed_run(bed, "k", grid, block);
	dev_testbed_unload(bed);
	bed->used = used;
	dev_conform_n_kernels++;
	return r;
}

void dev_conform_launch(const char *form, const char *kernel, unsigned grid, unsigned block)
{
	int r = conform_launch(kernel, grid, block);

	if (r)
		fail_msg("'%s': %d %s, %s\n%s", form, r, dev_conform_bed.error.text,
			 dev_interp_fault_name(dev_conform_bed.fault.kind), kernel);
}

void dev_conform_launch_fault(const char *form, const char *kernel, unsigned grid, unsigned block,
			      enum dev_interp_fault_kind fault)
{
	int r = conform_launch(kernel, grid, block);

	if (r != DEV_INTERP_E_FAULT || dev_conform_bed.fault.kind != fault)
		fail_msg("'%s': %d, %s where %s is expected\n%s", form, r,
			 dev_interp_fault_name(dev_conform_bed.fault.kind),
			 dev_interp_fault_name(fault), kernel);
}
