/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores through every space, in registers of every width that a form takes. Each
 * thread has an offset in a window of known bytes: the next one (a whole warp is one piece of
 * memory), one that is scattered, or the same for all; under guards and behind branches too.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 64u
#define WINDOW	  2048u /* bytes; of spaces that every thread has for itself: */
#define OWN	  128u
/* where things lie in the input, which begins with the window's bytes */
#define VALUES	4096u
#define GUARDS	8192u
#define OFFSETS 12288u
#define RESULT	4096u /* of the output: the window as it is afterwards */

enum mode {
	PIECE,
	GUARDED,
	SCATTERED, /* and behind a branch */
	SAME,
	N_MODES,
};

static bool memory_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_LOAD ||
	       form->row->family == SLU_PTX_FAMILY_STORE;
}

struct access {
	const struct slu_ptx_form *form;
	enum mode mode;
	unsigned n, size, reg_size;
	bool is_func; /* param::func */
	bool is_own;  /* every thread has a window for itself */
	unsigned window_bytes;
	uint32_t offsets[N_THREADS], guards[N_THREADS];
};

static bool has_text(const struct slu_ptx_form *form, const char *word)
{
	return strstr(form->text, word) != NULL;
}

static void choose_places(struct access *a)
{
	unsigned step = a->n * a->size, n = a->window_bytes / step;
	unsigned first = (unsigned)(dev_conform_random() % n);

	for (unsigned i = 0; i < N_THREADS; i++) {
		unsigned k = a->mode == SAME ? first : a->mode == SCATTERED ? i * 5 + first : i;

		a->offsets[i] = k % n * step;
		a->guards[i] = (uint32_t)(dev_conform_random() >> 63);
	}
	memcpy(dev_conform_in + GUARDS, a->guards, sizeof(a->guards));
	memcpy(dev_conform_in + OFFSETS, a->offsets, sizeof(a->offsets));
}

/* what a hint to the cache wants behind the other operands */
static const char *memory_policy(const struct access *a)
{
	return strstr(a->form->text, "cache_hint") ? ", %d1" : "";
}

static void put_vector(struct dev_conform_text *t, const struct access *a)
{
	if (a->n == 1) {
		dev_conform_put(t, "%%v0");
		return;
	}
	for (unsigned k = 0; k < a->n; k++)
		dev_conform_put(t, "%s%%v%u", k ? ", " : "{", k);
	dev_conform_put(t, "}");
}

static void put_begin(struct dev_conform_text *t, const struct access *a)
{
	dev_conform_put(
		t,
		".reg .pred %%g; .reg .b%u %%v<4>; .reg .b32 %%r<8>; .reg .b64 %%d<12>;\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mad.wide.u32 %%d3, %%r1, 4, %%d1;\n"
		"ld.global.u32 %%r2, [%%d3+%u]; setp.ne.u32 %%g, %%r2, 0;\n"
		"ld.global.u32 %%r3, [%%d3+%u]; cvt.u64.u32 %%d4, %%r3;\n",
		a->reg_size * 8, GUARDS, OFFSETS);
}

/* Copies bytes from one place to another, as two operands of mad.wide or names in brackets. */
static void put_copy(struct dev_conform_text *t, const char *to, const char *to_space,
		     const char *from, const char *from_space, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i += 16)
		dev_conform_put(t,
				"ld%s.v2.b64 {%%d10, %%d11}, [%s+%u]; st%s.v2.b64 [%s+%u], {%%d10, "
				"%%d11};\n",
				from_space, from, i, to_space, to, i);
}

/* The address of the access in %d5, and whatever makes its space ready. */
static void put_address(struct dev_conform_text *t, const struct access *a)
{
	switch (a->form->space) {
	case SLU_PTX_SPACE_CONST:
		dev_conform_put(t, "mov.u64 %%d5, bank; add.s64 %%d5, %%d5, %%d4;\n");
		break;
	case SLU_PTX_SPACE_SHARED:
		dev_conform_put(t, "mov.u64 %%d5, tile; mad.wide.u32 %%d6, %%r1, 32, %%d5;\n"
				   "mad.wide.u32 %%d7, %%r1, 32, %%d1;\n");
		put_copy(t, "%d6", ".shared", "%d7", ".global", 32);
		dev_conform_put(t, "bar.sync 0; add.s64 %%d5, %%d5, %%d4;\n");
		break;
	case SLU_PTX_SPACE_LOCAL:
		dev_conform_put(t, "mov.u64 %%d5, own; add.s64 %%d5, %%d5, %%d4;\n");
		put_copy(t, "own", ".local", "%d1", ".global", OWN);
		break;
	case SLU_PTX_SPACE_PARAM:
		dev_conform_put(t, "mov.u64 %%d5, bytes; add.s64 %%d5, %%d5, %%d4;\n");
		break;
	default:
		dev_conform_put(t, "add.s64 %%d5, %%d1, %%d4;\n");
		break;
	}
}

static void put_guard(struct dev_conform_text *t, const struct access *a)
{
	if (a->mode == GUARDED)
		dev_conform_put(t, "@%%g ");
	if (a->mode == SCATTERED)
		dev_conform_put(t, "@!%%g bra SKIP;\n");
}

static void put_variables(struct dev_conform_text *t, const struct access *a)
{
	const uint64_t *words = (const uint64_t *)dev_conform_in;

	dev_conform_put(t, "%s", dev_conform_head(a->form));
	if (a->form->space != SLU_PTX_SPACE_CONST)
		return;
	dev_conform_put(t, ".const .align 32 .u64 bank[%u] = {", WINDOW / 8);
	for (unsigned i = 0; i < WINDOW / 8; i++)
		dev_conform_put(t, "%s0x%llx", i ? "," : "", (unsigned long long)words[i]);
	dev_conform_put(t, "};\n");
}

static const char spaces_text[] =
	".shared .align 32 .b8 tile[2048]; .local .align 32 .b8 own[128];\n";

static void write_load(const struct access *a, struct dev_conform_text *t)
{
	put_variables(t, a);
	if (a->is_func)
		dev_conform_put(t, ".func f(.param .b64 in, .param .b64 out, .param .align 32 .b8 "
				   "bytes[128])\n{\n");
	else
		dev_conform_put(t, ".visible .entry k(.param .u64 in, .param .u64 out, .param "
				   ".align 32 .b8 bytes[2048])\n{\n");
	dev_conform_put(t, "%s", spaces_text);
	put_begin(t, a);
	dev_conform_put(t, "mad.wide.u32 %%d2, %%r1, 32, %%d2;\n");
	for (unsigned k = 0; k < a->n; k++)
		dev_conform_put(t, "ld.global.b%u %%v%u, [%%d2+%u];\n", a->reg_size * 8, k, k * 8);
	put_address(t, a);
	put_guard(t, a);
	dev_conform_put(t, "%s ", a->form->text);
	put_vector(t, a);
	dev_conform_put(t, ", [%%d5]%s;\nSKIP:\n", memory_policy(a));
	for (unsigned k = 0; k < a->n; k++)
		dev_conform_put(t, "st.global.b%u [%%d2+%u], %%v%u;\n", a->reg_size * 8, k * 8, k);
	dev_conform_put(t, "ret;\n}\n");
	if (!a->is_func)
		return;
	dev_conform_put(t, ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
			   ".reg .b64 %%d<12>; .param .b64 a; .param .b64 b; .param .align 32 .b8 "
			   "c[128];\n"
			   "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out];\n"
			   "st.param.b64 [a], %%d1; st.param.b64 [b], %%d2;\n");
	put_copy(t, "c", ".param", "%d1", ".global", OWN);
	dev_conform_put(t, "call f, (a, b, c); ret;\n}\n");
}

/* what a register gets: the value extended by its own sign */
static uint64_t memory_extended(const uint8_t *from, enum slu_ptx_type type, unsigned reg_size)
{
	unsigned size = slu_ptx_type_size(type);
	uint64_t value = 0;

	memcpy(&value, from, size);
	if (slu_ptx_type_is_signed(type) && !slu_ptx_type_is_float(type) && size < 8 &&
	    value >> (size * 8 - 1) & 1)
		value |= UINT64_MAX << size * 8;
	return reg_size < 8 ? value & ((UINT64_C(1) << reg_size * 8) - 1) : value;
}

static void run_load(struct access *a)
{
	static struct dev_conform_text t;
	static uint8_t before[N_THREADS * 32];
	enum slu_ptx_type type = (enum slu_ptx_type)a->form->types[0];

	dev_conform_scramble(dev_conform_in, WINDOW);
	dev_conform_scramble(before, sizeof(before));
	memcpy(dev_conform_out, before, sizeof(before));
	choose_places(a);
	t.size = 0;
	write_load(a, &t);
	dev_conform_launch(a->form->text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++)
		for (unsigned k = 0; k < a->n; k++) {
			bool is_off = (a->mode == GUARDED || a->mode == SCATTERED) && !a->guards[i];
			uint64_t got = 0, want = 0;

			memcpy(&got, dev_conform_out + i * 32 + k * 8, a->reg_size);
			memcpy(&want, before + i * 32 + k * 8, a->reg_size);
			if (!is_off)
				want = memory_extended(dev_conform_in + a->offsets[i] + k * a->size,
						       type, a->reg_size);
			if (got != want)
				fail_msg("%s, mode %d, thread %u: %llx, not %llx\n%s",
					 a->form->text, a->mode, i, (unsigned long long)got,
					 (unsigned long long)want, t.text);
		}
}

static void write_store(const struct access *a, struct dev_conform_text *t)
{
	bool is_param = a->form->space == SLU_PTX_SPACE_PARAM;

	put_variables(t, a);
	dev_conform_put(t, ".func f(.param .b64 to, .param .align 32 .b8 bytes[128])\n{\n"
			   ".reg .b64 %%d<12>; ld.param.b64 %%d1, [to];\n");
	put_copy(t, "%d1", ".global", "bytes", ".param", OWN);
	dev_conform_put(t, "ret;\n}\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n%s",
			spaces_text);
	put_begin(t, a);
	dev_conform_put(t, "mad.wide.u32 %%d8, %%r1, 32, %%d1;\n");
	for (unsigned k = 0; k < a->n; k++)
		dev_conform_put(t, "ld.global.b%u %%v%u, [%%d8+%u];\n", a->reg_size * 8, k,
				VALUES + k * 8);
	dev_conform_put(t, "mad.wide.u32 %%d9, %%r1, 128, %%d2;\n");
	if (is_param) {
		dev_conform_put(t,
				".param .b64 to; .param .align 32 .b8 bytes[128]; add.s64 %%d9, "
				"%%d9, %u; st.param.b64 [to], %%d9;\n",
				RESULT);
		put_copy(t, "bytes", ".param", "%d1", ".global", OWN);
	} else if (a->form->space == SLU_PTX_SPACE_SHARED ||
		   a->form->space == SLU_PTX_SPACE_LOCAL) {
		put_address(t, a);
	} else {
		dev_conform_put(t, "add.s64 %%d5, %%d2, %%d4; add.s64 %%d5, %%d5, %u;\n", RESULT);
	}
	put_guard(t, a);
	/* of a parameter, only [name + constant] */
	if (is_param)
		dev_conform_put(t, "%s [bytes+%u], ", a->form->text, a->offsets[0]);
	else
		dev_conform_put(t, "%s [%%d5], ", a->form->text);
	put_vector(t, a);
	dev_conform_put(t, "%s;\nSKIP:\n", memory_policy(a));
	if (a->form->space == SLU_PTX_SPACE_SHARED) {
		dev_conform_put(t,
				"bar.sync 0; mad.wide.u32 %%d2, %%r1, 32, %%d2;\n"
				"add.s64 %%d2, %%d2, %u;\n",
				RESULT);
		put_copy(t, "%d2", ".global", "%d6", ".shared", 32);
	} else if (a->form->space == SLU_PTX_SPACE_LOCAL) {
		dev_conform_put(t, "add.s64 %%d9, %%d9, %u;\n", RESULT);
		put_copy(t, "%d9", ".global", "own", ".local", OWN);
	} else if (is_param) {
		dev_conform_put(t, "call f, (to, bytes);\n");
	}
	dev_conform_put(t, "ret;\n}\n");
}

static void run_store(struct access *a)
{
	static struct dev_conform_text t;
	static uint8_t want[N_THREADS * OWN];
	unsigned n_windows = a->is_own ? N_THREADS : 1;
	unsigned bytes = a->window_bytes * n_windows;

	dev_conform_scramble(dev_conform_in, VALUES + N_THREADS * 32);
	choose_places(a);
	for (unsigned i = 0; i < n_windows; i++)
		memcpy(want + i * a->window_bytes, dev_conform_in, a->window_bytes);
	memcpy(dev_conform_out + RESULT, want, bytes);
	t.size = 0;
	write_store(a, &t);
	dev_conform_launch(a->form->text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++) {
		bool is_param = a->form->space == SLU_PTX_SPACE_PARAM;
		uint8_t *to =
			want + (a->is_own ? i * a->window_bytes : 0) + a->offsets[is_param ? 0 : i];

		if ((a->mode == GUARDED || a->mode == SCATTERED) && !a->guards[i])
			continue;
		for (unsigned k = 0; k < a->n; k++)
			memcpy(to + k * a->size, dev_conform_in + VALUES + i * 32 + k * 8, a->size);
	}
	for (unsigned i = 0; i < bytes; i++)
		if (dev_conform_out[RESULT + i] != want[i])
			fail_msg("%s, mode %d: byte %u is %x, not %x\n%s", a->form->text, a->mode,
				 i, dev_conform_out[RESULT + i], want[i], t.text);
}

static void memory_run(const char *text, const struct slu_ptx_form *form)
{
	bool is_load = form->row->family == SLU_PTX_FAMILY_LOAD;
	bool is_func = is_load && has_text(form, "param::func");
	bool is_own = is_func || form->space == SLU_PTX_SPACE_LOCAL ||
		      (form->space == SLU_PTX_SPACE_PARAM && !is_load);
	struct access a = {
		.form = form,
		.n = form->vector,
		.size = slu_ptx_type_size((enum slu_ptx_type)form->types[0]),
		.is_func = is_func,
		.is_own = is_own,
		.window_bytes = is_own ? OWN : WINDOW,
	};

	(void)text;
	for (a.reg_size = SLU_MAX(a.size, 2u); a.reg_size <= 8; a.reg_size *= 2)
		for (a.mode = PIECE; a.mode < N_MODES; a.mode++) {
			/* of lanes that store to one place any may win */
			if (!is_load && a.mode == SAME && !is_own)
				continue;
			if (is_load)
				run_load(&a);
			else
				run_store(&a);
		}
}

const struct dev_conform_case dev_conform_memory = { "memory", memory_knows, memory_run };
