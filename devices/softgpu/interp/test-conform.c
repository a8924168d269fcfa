/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of opcodes.def in every form that it takes; test-conform.h says how. With --forms
 * nothing is run: only whether each form has a case that knows it is looked at, which is how the
 * build ends when somebody adds a row without one. SLUICE_LONG=1 runs every combination of
 * modifiers, those without effect too.
 */
#include "softgpu/interp/test-conform.h"

static const struct dev_conform_case *const cases[] = {
	&dev_conform_carry,   &dev_conform_compute, &dev_conform_memory, &dev_conform_move,
	&dev_conform_atomic,  &dev_conform_warp,    &dev_conform_stack,	 &dev_conform_copy,
	&dev_conform_matrix,  &dev_conform_phase,   &dev_conform_flow,	 &dev_conform_video,
	&dev_conform_texture, &dev_conform_surface,
};

static const struct dev_conform_case *find(const struct slu_ptx_form *form)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(cases); i++)
		if (cases[i]->knows(form))
			return cases[i];
	return NULL;
}

/* ---- every form has a case ---- */

struct census {
	const struct slu_ptx_row *row;
	unsigned n_forms;
	unsigned n_wrong;
};

static void count(const char *text, void *userdata)
{
	struct census *c = userdata;
	struct slu_ptx_form form;

	c->n_forms++;
	if (slu_ptx_form_match(text, strlen(text), &form)) {
		c->n_wrong++;
		fprintf(stderr, "%s: is not matched\n", text);
		return;
	}
	form.text = text;
	/* an earlier row may take it too, if it means the same */
	if (form.row != c->row &&
	    (form.row->family != c->row->family || strcmp(form.row->operands, c->row->operands))) {
		c->n_wrong++;
		fprintf(stderr, "%s: is matched by another row\n", text);
	}
	if (!find(&form)) {
		c->n_wrong++;
		fprintf(stderr, "%s: no case of the conformance test knows it\n", text);
	}
}

static unsigned take_census(void)
{
	struct census c = { 0 };

	for (size_t i = 0; i < slu_ptx_n_rows; i++) {
		c.row = &slu_ptx_rows[i];
		dev_conform_expand(c.row, true, count, &c);
	}
	printf("# %zu rows, %u forms\n", slu_ptx_n_rows, c.n_forms);
	return c.n_wrong;
}

static void test_every_form_has_a_case(void **state)
{
	(void)state;
	assert_int_equal(take_census(), 0);
}

/* ---- and gives what the ISA says ---- */

static void run_form(const char *text, void *userdata)
{
	const struct dev_conform_case *wanted = userdata, *c;
	struct slu_ptx_form form;

	assert_int_equal(slu_ptx_form_match(text, strlen(text), &form), 0);
	form.text = text;
	c = find(&form);
	assert_non_null(c);
	if (c == wanted)
		c->run(text, &form);
}

static void run_case_on(const struct dev_conform_case *c, const struct dev_interp_isa *isa)
{
	dev_interp_isa_force(isa);
	dev_testbed_init(&dev_conform_bed);
	dev_conform_in = dev_testbed_alloc(&dev_conform_bed, DEV_CONFORM_BYTES);
	dev_conform_out = dev_testbed_alloc(&dev_conform_bed, DEV_CONFORM_BYTES);
	dev_conform_seed = slu_test_seed(20260);
	dev_conform_n_kernels = 0;
	for (size_t i = 0; i < slu_ptx_n_rows; i++)
		dev_conform_expand(&slu_ptx_rows[i], getenv("SLUICE_LONG") != NULL, run_form,
				   (void *)(uintptr_t)c);
	printf("# %s: %u kernels\n", c->name, dev_conform_n_kernels);
	assert_true(dev_conform_n_kernels > 0);
	dev_testbed_deinit(&dev_conform_bed);
	dev_interp_isa_force(NULL);
}

/* the handlers of every x86-64, and those of machines like this one */
static void run_case(void **state)
{
	const struct dev_conform_case *c = *state;

	run_case_on(c, &dev_interp_isa_base);
	if (dev_interp_isa_has_v3())
		run_case_on(c, &dev_interp_isa_v3);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[1 + SLU_ARRAY_SIZE(cases)] = {
		cmocka_unit_test(test_every_form_has_a_case),
	};

	if (argc == 2 && !strcmp(argv[1], "--forms"))
		return take_census() ? 1 : 0;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(cases); i++)
		tests[1 + i] = (struct CMUnitTest){ .name = cases[i]->name,
						    .test_func = run_case,
						    .initial_state = (void *)(uintptr_t)cases[i] };
	return cmocka_run_group_tests_name("conform", tests, NULL, NULL);
}
