/* SPDX-License-Identifier: Apache-2.0 */

/* Rule 43: programs that are mapped while they are larger than the device, and their headroom. */

#include "core/test-script.h"

#include "base/util.h"

static void begin(struct script *s)
{
	struct slu_core_config config;

	script_config(&config);
	config.pinned_bytes = MIB(200);
	script_begin(s, &config, 100);
	s->maps_if_larger = true;
	script_join_plain(s, 1, SLU_MODE_MAPPED);
}

static enum slu_mode mode(const struct script *s)
{
	struct slu_core_client_view view;
	size_t cursor = 0;

	assert_true(slu_core_view_client(s->core, &cursor, &view));
	return view.modes[0];
}

static void test_a_program_is_mapped_only_while_it_is_larger(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_want(&s, 1, 0, 90, true);
	assert_int_equal(mode(&s), SLU_MODE_ALL);
	script_want(&s, 1, 0, 150, true);
	assert_int_equal(mode(&s), SLU_MODE_MAPPED);
	script_want(&s, 1, 0, 90, true);
	assert_int_equal(mode(&s), SLU_MODE_ALL);
	script_end(&s);
}

static void test_what_must_be_on_the_device_is_planned_there(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_want_working(&s, 1, 150, 95, 150);
	assert_int_equal(script_limit(&s, 1, 0), 100);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_what_an_outsider_keeps_from_it_is_denied_after_the_patience(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	slu_core_outsiders(s.core, s.now_ns, 0, MIB(20));
	script_want_working(&s, 1, 150, 95, 150);
	script_pass(&s, 4000);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	script_pass(&s, 2000);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	script_end(&s);
}

static void test_what_exceeds_the_device_is_denied_at_once(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_want_working(&s, 1, 150, 110, 150);
	assert_non_null(script_find(&s, 1, SLU_MSG_DENY));
	assert_non_null(strstr(script_find(&s, 1, SLU_MSG_DENY)->reason,
			       "needs 110 MiB, 100 MiB are available"));
	script_end(&s);
}

static void test_what_the_driver_refuses_is_mapped_and_not_denied(void **state)
{
	struct script s;

	(void)state;
	begin(&s);
	script_want(&s, 1, 0, 60, true);
	script_sums(&s, 1, 0, 60);
	script_ready(&s, 1, 0);
	script_want(&s, 1, 0, 90, true);
	assert_int_equal(mode(&s), SLU_MODE_ALL);
	script_refuse(&s, 1, 60, 30);
	script_step(&s);
	assert_int_equal(mode(&s), SLU_MODE_MAPPED);
	assert_null(script_find(&s, 1, SLU_MSG_DENY));
	/* what is left fits below the estimate */
	script_want(&s, 1, 0, 50, true);
	assert_int_equal(mode(&s), SLU_MODE_ALL);
	script_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_is_mapped_only_while_it_is_larger),
		cmocka_unit_test(test_what_must_be_on_the_device_is_planned_there),
		cmocka_unit_test(test_what_an_outsider_keeps_from_it_is_denied_after_the_patience),
		cmocka_unit_test(test_what_exceeds_the_device_is_denied_at_once),
		cmocka_unit_test(test_what_the_driver_refuses_is_mapped_and_not_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
