/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mov in all its shapes: from register, constant, special register, variable; packed and unpacked.
 * And addresses: made generic and back, and asked for their space.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 64u

static bool move_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_MOVE;
}

static const char head[] =
	".global .align 8 .u64 variable[2]; .const .align 8 .u64 constant[2] = { 3, 4 };\n"
	".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
	".reg .pred %p<4>, %g; .reg .b8 %c<12>; .reg .b16 %h<12>; .reg .b32 %r<12>; .reg .b64 "
	"%d<12>; "
	".reg .f32 %f<12>; .reg .f64 %e<12>;\n"
	".shared .align 8 .b8 tile[16]; .local .align 8 .b8 own[16];\n"
	"ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x;\n"
	"mad.wide.u32 %d1, %r1, 8, %d1; mad.wide.u32 %d2, %r1, 8, %d2;\n"
	"and.b32 %r2, %r1, 1; setp.eq.u32 %g, %r2, 1;\n";

static uint64_t *inputs, *outputs;

static void move_launch(const struct slu_ptx_form *form, const char *body)
{
	static struct dev_conform_text t;

	inputs = (uint64_t *)dev_conform_in;
	outputs = (uint64_t *)dev_conform_out;
	t.size = 0;
	dev_conform_put(&t, "%s%s%s\nret;\n}\n", dev_conform_head(form), head, body);
	dev_conform_launch(form->text, t.text, 1, N_THREADS);
}

static void move_check(const struct slu_ptx_form *form, const char *what, unsigned thread,
		       uint64_t want)
{
	if (outputs[thread] != want)
		fail_msg("%s, %s, thread %u: %llx, not %llx", form->text, what, thread,
			 (unsigned long long)outputs[thread], (unsigned long long)want);
}

/* odd threads take part; the others keep 17 */
static void run_register(const struct slu_ptx_form *form, unsigned bits, char regs)
{
	char body[512];

	for (unsigned i = 0; i < N_THREADS; i++)
		inputs[i] = dev_conform_value((enum slu_ptx_type)form->types[0]);
	for (unsigned mode = 0; mode < 3; mode++) {
		memset(outputs, 0, N_THREADS * 8);
		snprintf(
			body, sizeof(body),
			"mov.b%u %%%c9, 17; ld.global.b%u %%%c8, [%%d1]; %s %s %%%c9, %%%c8; SKIP: "
			"st.global.b%u [%%d2], %%%c9;",
			bits, regs, bits, regs,
			mode == 1   ? "@%g"
			: mode == 2 ? "@!%g bra SKIP;"
				    : "",
			form->text, regs, regs, bits, regs);
		move_launch(form, body);
		for (unsigned i = 0; i < N_THREADS; i++)
			move_check(form, "register", i,
				   mode && !(i & 1) ? 17 : inputs[i] & UINT64_MAX >> (64 - bits));
	}
}

static void run_constant(const struct slu_ptx_form *form, unsigned bits, char regs)
{
	bool is_float = slu_ptx_type_is_float((enum slu_ptx_type)form->types[0]);
	const char *text = !is_float	? bits == 16 ? "0xfedc" : "0xfffffffffffffedc"
			   : bits == 32 ? "0fC0490FDB"
					: "0dC00921FB54442D18";
	uint64_t want = !is_float    ? (UINT64_MAX - 0x123) & UINT64_MAX >> (64 - bits)
			: bits == 32 ? 0xc0490fdb
				     : UINT64_C(0xc00921fb54442d18);
	char body[512];

	if (!is_float && bits == 32)
		text = "-292";
	memset(outputs, 0, N_THREADS * 8);
	snprintf(body, sizeof(body), "%s %%%c9, %s; st.global.b%u [%%d2], %%%c9;", form->text, regs,
		 text, bits, regs);
	move_launch(form, body);
	move_check(form, "constant", 5, want);
	if (is_float || bits == 16)
		return;
	if (bits == 32) {
		snprintf(body, sizeof(body), "%s %%r2, %%tid.x; st.global.b32 [%%d2], %%r2;",
			 form->text);
		move_launch(form, body);
		for (unsigned i = 0; i < N_THREADS; i++)
			move_check(form, "special register", i, i);
		return;
	}
	snprintf(body, sizeof(body),
		 "%s %%d3, variable+8; mov.u64 %%d4, 5; ld.global.u64 %%d5, [%%d1]; "
		 "st.global.u64 [%%d3], %%d5; %s %%d6, variable; ld.global.u64 %%d7, [%%d6+8]; "
		 "st.global.u64 [%%d2], %%d7;",
		 form->text, form->text);
	for (unsigned i = 0; i < N_THREADS; i++)
		inputs[i] = 99;
	move_launch(form, body);
	move_check(form, "variable", 7, 99);
}

/* a value of @bits is taken apart into @n parts, and put together in another order */
static void run_vector(const struct slu_ptx_form *form, unsigned bits, unsigned n)
{
	char regs = bits == 16 ? 'h' : bits == 32 ? 'r' : 'd';
	unsigned part = bits / n;
	char parts = part == 8 ? 'c' : part == 16 ? 'h' : 'r';
	struct dev_conform_text t = { 0 };

	dev_conform_put(&t, "ld.global.b%u %%%c9, [%%d1]; %s {", bits, regs, form->text);
	for (unsigned k = 0; k < n; k++)
		dev_conform_put(&t, "%s%%%c%u", k ? ", " : "", parts, k);
	dev_conform_put(&t, "}, %%%c9; %s %%%c9, {", regs, form->text, regs);
	for (unsigned k = 0; k < n; k++)
		dev_conform_put(&t, "%s%%%c%u", k ? ", " : "", parts, (k + 1) % n);
	dev_conform_put(&t, "}; st.global.b%u [%%d2], %%%c9;", bits, regs);
	memset(outputs, 0, N_THREADS * 8);
	for (unsigned i = 0; i < N_THREADS; i++)
		inputs[i] = dev_conform_random();
	move_launch(form, t.text);
	for (unsigned i = 0; i < N_THREADS; i++) {
		uint64_t most = UINT64_MAX >> (64 - bits), x = inputs[i] & most;

		/* turned by one part */
		move_check(form, "vector", i, (x >> part | x << (bits - part)) & most);
	}
}

/* Elements of a vector are turned by one place, for odd threads; the last of them is what counts.
 */
static void run_elements(const struct slu_ptx_form *form, unsigned bits, char regs)
{
	struct dev_conform_text t = { 0 };
	unsigned n = form->vector;

	dev_conform_put(&t, "ld.global.b%u %%%c0, [%%d1];", bits, regs);
	for (unsigned k = 1; k < n; k++)
		dev_conform_put(&t, "mov.b%u %%%c%u, %u;", bits, regs, k + 2, 17 + k);
	dev_conform_put(&t, "@%%g %s {", form->text);
	for (unsigned k = 0; k < n; k++)
		dev_conform_put(&t, "%s%%%c%u", k ? ", " : "", regs, (k + 1) % n ? k + 3 : 0);
	dev_conform_put(&t, "}, {");
	for (unsigned k = 0; k < n; k++)
		dev_conform_put(&t, "%s%%%c%u", k ? ", " : "", regs, k ? k + 2 : 0);
	dev_conform_put(&t, "}; st.global.b%u [%%d2], %%%c%u;", bits, regs, n > 2 ? 4 : 3);
	memset(outputs, 0, N_THREADS * 8);
	for (unsigned i = 0; i < N_THREADS; i++)
		inputs[i] = dev_conform_value((enum slu_ptx_type)form->types[0]);
	move_launch(form, t.text);
	for (unsigned i = 0; i < N_THREADS; i++)
		move_check(form, "elements", i,
			   n > 2   ? (i & 1 ? 18 : 19)
			   : i & 1 ? inputs[i] & UINT64_MAX >> (64 - bits)
				   : 18);
}

static void run_mov(const struct slu_ptx_form *form)
{
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	unsigned bits = slu_ptx_type_size(type) * 8;
	char regs = type == SLU_PTX_TYPE_F32   ? 'f'
		    : type == SLU_PTX_TYPE_F64 ? 'e'
		    : bits == 16	       ? 'h'
		    : bits == 32	       ? 'r'
					       : 'd';

	inputs = (uint64_t *)dev_conform_in;
	outputs = (uint64_t *)dev_conform_out;
	if (form->vector > 1) {
		run_elements(form, bits, regs);
		return;
	}
	run_register(form, bits, regs);
	run_constant(form, bits, regs);
	if (type == SLU_PTX_TYPE_B16 || type == SLU_PTX_TYPE_B32 || type == SLU_PTX_TYPE_B64)
		for (unsigned n = 2; n <= 4; n += 2)
			if (bits / n >= 8)
				run_vector(form, bits, n);
}

static const char *name_in(enum slu_ptx_space space)
{
	switch (space) {
	case SLU_PTX_SPACE_GLOBAL:
		return "variable";
	case SLU_PTX_SPACE_CONST:
		return "constant";
	case SLU_PTX_SPACE_SHARED:
		return "tile";
	case SLU_PTX_SPACE_LOCAL:
		return "own";
	default:
		return "in";
	}
}

static const char *const space_names[] = { "", "global", "const", "shared", "local", "param" };

/* What lies at the address is the same by the generic one and by the one of its space. */
static void run_cvta(const struct slu_ptx_form *form)
{
	bool is_to = slu_ptx_form_has(form, SLU_PTX_MOD_to);
	const char *name = name_in(form->space), *space = space_names[form->space];
	struct dev_conform_text t = { 0 };

	outputs = (uint64_t *)dev_conform_out;
	dev_conform_put(&t, "mov.u64 %%d3, %s; ", name);
	if (form->space != SLU_PTX_SPACE_CONST && form->space != SLU_PTX_SPACE_PARAM)
		dev_conform_put(&t, "mov.u64 %%d4, 77; st.%s.u64 [%%d3+8], %%d4; bar.sync 0; ",
				space);
	if (is_to)
		dev_conform_put(&t,
				"cvta.%s.u64 %%d5, %%d3; %s %%d6, %%d5; ld.%s.u64 %%d7, "
				"[%%d6+8];",
				space, form->text, space);
	else
		dev_conform_put(&t, "%s %%d5, %%d3; ld.u64 %%d7, [%%d5+8];", form->text);
	dev_conform_put(&t, "st.global.u64 [%%d2], %%d7;");
	move_launch(form, t.text);
	for (unsigned i = 0; i < N_THREADS; i++)
		move_check(form, "address", i,
			   form->space == SLU_PTX_SPACE_CONST ? 4
			   : form->space == SLU_PTX_SPACE_PARAM
				   ? (uint64_t)(uintptr_t)dev_conform_out
				   : 77);
}

/* The kernel's parameters lie in a part of global memory; everything else is in one space. */
static void run_isspacep(const struct slu_ptx_form *form)
{
	for (enum slu_ptx_space is = SLU_PTX_SPACE_GLOBAL; is <= SLU_PTX_SPACE_PARAM; is++) {
		bool want = is == form->space ||
			    (is == SLU_PTX_SPACE_PARAM && form->space == SLU_PTX_SPACE_GLOBAL);
		struct dev_conform_text t = { 0 };

		dev_conform_put(&t,
				"mov.u64 %%d3, %s; cvta.%s.u64 %%d4, %%d3; mov.pred %%p1, %%g; %s "
				"%%p2, %%d4; @%%g %s %%p1, %%d4; selp.u64 %%d5, 1, 0, %%p1; "
				"selp.u64 %%d6, 2, 0, %%p2; add.u64 %%d5, %%d5, %%d6; "
				"st.global.u64 [%%d2], %%d5;",
				name_in(is), space_names[is], form->text, form->text);
		move_launch(form, t.text);
		for (unsigned i = 0; i < N_THREADS; i++)
			move_check(form, space_names[is], i, want ? 2 + (i & 1) : 0);
	}
}

static void move_run(const char *text, const struct slu_ptx_form *form)
{
	(void)text;
	switch (form->opcode) {
	case SLU_PTX_OP_mov:
		run_mov(form);
		break;
	case SLU_PTX_OP_cvta:
		run_cvta(form);
		break;
	case SLU_PTX_OP_isspacep:
		run_isspacep(form);
		break;
	default:
		fail_msg("'%s' is not moved", form->text);
	}
}

const struct dev_conform_case dev_conform_move = { "move", move_knows, move_run };
