/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdbool.h>

#include "base/util.h"
#include "opencl/table.h"

enum { KEYS = 3000 };

struct note {
	struct slu_table_node node;
	bool is_in;
};

static void an_empty_table_finds_and_removes_nothing(void **state)
{
	struct slu_table table = { 0 };
	struct slu_table_node node = { 0 };

	assert_null(slu_table_find(&table, &node));
	slu_table_remove(&table, &node);
	slu_table_deinit(&table);
}

static void a_new_note_takes_the_place_of_the_old(void **state)
{
	struct slu_table table = { 0 };
	struct slu_table_node a = { 0 }, b = { 0 }, *old = NULL;
	int key = 0;

	assert_int_equal(slu_table_put(&table, &key, &a, &old), 0);
	assert_null(old);
	assert_int_equal(slu_table_put(&table, &key, &b, &old), 0);
	assert_ptr_equal(old, &a);
	assert_ptr_equal(slu_table_find(&table, &key), &b);

	/* the old note is no longer in: taking it out changes nothing */
	slu_table_remove(&table, &a);
	assert_ptr_equal(slu_table_find(&table, &key), &b);
	slu_table_remove(&table, &b);
	assert_null(slu_table_find(&table, &key));
	slu_table_deinit(&table);
}

static void it_holds_what_a_simple_model_holds(void **state)
{
	static struct note notes[KEYS];
	struct slu_table table = { 0 };
	uint64_t random = slu_test_seed(11);
	size_t n_in = 0;

	for (unsigned step = 0; step < 60000; step++) {
		struct note *note = &notes[slu_test_random(&random) % KEYS];
		struct slu_table_node *old = NULL;

		assert_ptr_equal(slu_table_find(&table, note), note->is_in ? &note->node : NULL);
		if (note->is_in) {
			slu_table_remove(&table, &note->node);
		} else {
			assert_int_equal(slu_table_put(&table, note, &note->node, &old), 0);
			assert_null(old);
		}
		note->is_in = !note->is_in;
		n_in = note->is_in ? n_in + 1 : n_in - 1;
		assert_int_equal(table.n_nodes, n_in);
	}
	for (unsigned i = 0; i < KEYS; i++)
		if (notes[i].is_in)
			slu_table_remove(&table, &notes[i].node);
	slu_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_finds_and_removes_nothing),
		cmocka_unit_test(a_new_note_takes_the_place_of_the_old),
		cmocka_unit_test(it_holds_what_a_simple_model_holds),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
