/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lanes of a warp tell each other: with all lanes, and with those that a guard or a branch
 * leaves, which then are also the ones that a .sync form names. The reference looks at the warp
 * from above: an array of lanes in, an array out.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 96u
#define LANES	  32u

/* one thread's part of the input */
struct input {
	uint64_t value;
	uint32_t b, c;
	uint32_t members;
	uint32_t pred;
	uint32_t guard;
	uint32_t pad;
};

struct output {
	uint64_t value;
	uint32_t pred;
	uint32_t pad;
};

struct warp {
	const struct slu_ptx_form *form;
	struct input in[LANES];
	uint32_t active;
	struct output out[LANES];
};

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

static bool warp_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_WARP;
}

/* the ISA's own pseudo code */
static void warp_shfl(struct warp *w, unsigned lane)
{
	const struct slu_ptx_form *form = w->form;
	int bval = (int)(w->in[lane].b & 31), cval = (int)(w->in[lane].c & 31);
	int segment = (int)(w->in[lane].c >> 8 & 31);
	int max_lane = ((int)lane & segment) | (cval & ~segment);
	int min_lane = (int)lane & segment, j;
	bool p;

	if (HAS(up)) {
		j = (int)lane - bval;
		p = j >= max_lane;
	} else if (HAS(down)) {
		j = (int)lane + bval;
		p = j <= max_lane;
	} else if (HAS(bfly)) {
		j = (int)lane ^ bval;
		p = j <= max_lane;
	} else {
		j = min_lane | (bval & ~segment);
		p = j <= max_lane;
	}
	if (!p)
		j = (int)lane;
	/* the ISA leaves open what a lane that is not there gives; cards give 0 */
	w->out[lane].value = w->active >> j & 1 ? (uint32_t)w->in[j].value : 0;
	w->out[lane].pred = p;
}

static void warp_vote(struct warp *w, unsigned lane)
{
	const struct slu_ptx_form *form = w->form;
	uint32_t ballot = 0;

	for (unsigned k = 0; k < LANES; k++)
		if (w->active >> k & 1 && w->in[k].pred)
			ballot |= UINT32_C(1) << k;
	if (HAS(ballot))
		w->out[lane].value = ballot;
	else
		w->out[lane].pred = HAS(all)   ? ballot == w->active
				    : HAS(any) ? ballot != 0
					       : !ballot || ballot == w->active;
}

static void warp_match(struct warp *w, unsigned lane)
{
	const struct slu_ptx_form *form = w->form;
	uint64_t most = form->types[0] == SLU_PTX_TYPE_B64 ? UINT64_MAX : UINT32_MAX;
	uint32_t equal = 0;

	for (unsigned k = 0; k < LANES; k++)
		if (w->active >> k & 1 && !((w->in[k].value ^ w->in[lane].value) & most))
			equal |= UINT32_C(1) << k;
	w->out[lane].value = HAS(all) && equal != w->active ? 0 : equal;
	if (HAS(all))
		w->out[lane].pred = equal == w->active;
}

static void warp_redux(struct warp *w, unsigned lane)
{
	const struct slu_ptx_form *form = w->form;
	bool is_signed = form->types[0] == SLU_PTX_TYPE_S32;
	int64_t result = 0;
	bool is_first = true;

	for (unsigned k = 0; k < LANES; k++) {
		uint32_t bits = (uint32_t)w->in[k].value;
		int64_t x = is_signed ? (int32_t)bits : (int64_t)bits;

		if (!(w->active >> k & 1))
			continue;
		if (is_first)
			result = x;
		else if (HAS(add))
			result += x;
		else if (HAS(min))
			result = SLU_MIN(result, x);
		else if (HAS(max))
			result = SLU_MAX(result, x);
		else
			result = HAS(and) ? result & x : HAS(or) ? result | x : result ^ x;
		is_first = false;
	}
	w->out[lane].value = (uint32_t)result;
}

static void warp_reference(struct warp *w)
{
	for (unsigned lane = 0; lane < LANES; lane++) {
		if (!(w->active >> lane & 1))
			continue;
		switch (w->form->opcode) {
		case SLU_PTX_OP_shfl:
			warp_shfl(w, lane);
			break;
		case SLU_PTX_OP_vote:
			warp_vote(w, lane);
			break;
		case SLU_PTX_OP_match:
			warp_match(w, lane);
			break;
		case SLU_PTX_OP_redux:
			warp_redux(w, lane);
			break;
		case SLU_PTX_OP_activemask:
			w->out[lane].value = w->active;
			break;
		default:
			fail_msg("the reference does not know '%s'", w->form->text);
		}
	}
}

static void put_operands(struct dev_conform_text *t, const struct slu_ptx_form *form)
{
	const char *members = HAS(sync) ? ", %r4" : "";

	switch (form->opcode) {
	case SLU_PTX_OP_shfl:
		dev_conform_put(t, "%%r6|%%p1, %%r1, %%r2, %%r3%s", members);
		break;
	case SLU_PTX_OP_vote:
		dev_conform_put(t, "%s, %%q%s", HAS(ballot) ? "%r6" : "%p1", members);
		break;
	case SLU_PTX_OP_match:
		dev_conform_put(t, "%%r6%s, %s%s", HAS(all) ? "|%p1" : "",
				form->types[0] == SLU_PTX_TYPE_B64 ? "%d4" : "%r1", members);
		break;
	case SLU_PTX_OP_redux:
		dev_conform_put(t, "%%r6, %%r1%s", members);
		break;
	default:
		dev_conform_put(t, "%%r6");
		break;
	}
}

static void write_kernel(const struct slu_ptx_form *form, unsigned mode, struct dev_conform_text *t)
{
	dev_conform_put(
		t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p1, %%q, %%g; .reg .b32 %%r<10>; .reg .b64 %%d<5>;\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r9, %%tid.x;\n"
		"mad.wide.u32 %%d1, %%r9, 32, %%d1; mad.wide.u32 %%d2, %%r9, 16, %%d2;\n"
		"ld.global.u64 %%d4, [%%d1]; cvt.u32.u64 %%r1, %%d4;\n"
		"ld.global.v2.u32 {%%r2, %%r3}, [%%d1+8]; ld.global.v2.u32 {%%r4, %%r5}, "
		"[%%d1+16];\n"
		"setp.ne.u32 %%q, %%r5, 0; ld.global.u32 %%r7, [%%d1+24]; setp.ne.u32 %%g, "
		"%%r7, 0;\n"
		"ld.global.u32 %%r6, [%%d2]; ld.global.u32 %%r8, [%%d2+8]; setp.ne.u32 "
		"%%p1, %%r8, 0;\n",
		dev_conform_head(form));
	if (mode == 1)
		dev_conform_put(t, "@%%g ");
	if (mode == 2)
		dev_conform_put(t, "@!%%g bra SKIP;\n");
	dev_conform_put(t, "%s ", form->text);
	put_operands(t, form);
	dev_conform_put(t, ";\nSKIP:\nst.global.u32 [%%d2], %%r6; selp.u32 %%r8, 1, 0, %%p1;\n"
			   "st.global.u32 [%%d2+8], %%r8; ret;\n}\n");
}

static void run_mode(const struct slu_ptx_form *form, unsigned mode)
{
	static struct dev_conform_text t;
	struct input *in = (struct input *)dev_conform_in;
	struct output *out = (struct output *)dev_conform_out;
	struct warp warps[N_THREADS / LANES] = { 0 };

	for (unsigned i = 0; i < N_THREADS; i++) {
		struct warp *w = &warps[i / LANES];

		in[i] = (struct input){
			/* few different values, so that some are equal */
			.value = dev_conform_value(SLU_PTX_TYPE_U64) >> (i & 1) * 8,
			.b = (uint32_t)(dev_conform_random() & 63),
			.c = (uint32_t)(dev_conform_random() & 0x1f1f),
			.pred = (uint32_t)(dev_conform_random() % 4 == 0),
			.guard = (uint32_t)(dev_conform_random() >> 63),
		};
		if (dev_conform_random() % 2)
			in[i].value = in[0].value;
		/* the first warp is of one mind, so that "all" and "uni" come true */
		if (i < LANES) {
			in[i].value = in[0].value;
			in[i].pred = 1;
		}
		out[i] = (struct output){ .value = (uint32_t)dev_conform_random(),
					  .pred = (uint32_t)(dev_conform_random() >> 63) };
		w->form = form;
		w->out[i % LANES] = out[i];
		if (!mode || in[i].guard)
			w->active |= UINT32_C(1) << i % LANES;
	}
	for (unsigned i = 0; i < N_THREADS; i++) {
		in[i].members = warps[i / LANES].active;
		warps[i / LANES].in[i % LANES] = in[i];
	}
	for (unsigned i = 0; i < N_THREADS / LANES; i++)
		warp_reference(&warps[i]);
	t.size = 0;
	write_kernel(form, mode, &t);
	dev_conform_launch(form->text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++) {
		const struct warp *w = &warps[i / LANES];
		const struct output *want = &w->out[i % LANES];

		if ((uint32_t)out[i].value != want->value || out[i].pred != want->pred)
			fail_msg("%s, mode %u, thread %u: %llx %u, not %llx %u", form->text, mode,
				 i, (unsigned long long)out[i].value, out[i].pred,
				 (unsigned long long)want->value, want->pred);
	}
}

static void warp_run(const char *text, const struct slu_ptx_form *form)
{
	(void)text;
	for (unsigned mode = 0; mode < 3; mode++)
		for (unsigned n = 0; n < 4; n++)
			run_mode(form, mode);
}

const struct dev_conform_case dev_conform_warp = { "warp", warp_knows, warp_run };
