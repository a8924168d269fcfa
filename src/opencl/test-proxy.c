/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "opencl/proxy.h"

struct slu_lock slu_layer_lock = SLU_LOCK_INIT(SLU_LOCK_FRONT);

static struct slu_proxy *make(void)
{
	struct slu_proxy *proxy = NULL;

	assert_int_equal(slu_proxy_new(&proxy), 0);
	return proxy;
}

static void drop(struct slu_proxy *proxy)
{
	assert_true(slu_proxy_unref(proxy));
	slu_proxy_free(proxy);
}

static void a_handle_finds_its_proxy(void **state)
{
	struct slu_proxy *a = make(), *b = make();

	assert_ptr_not_equal(a, b);
	assert_ptr_equal(slu_proxy_find(slu_proxy_handle(a)), a);
	assert_ptr_equal(slu_proxy_find(slu_proxy_handle(b)), b);
	assert_ptr_equal(a->root, a);
	drop(a);
	drop(b);
}

static void what_is_no_handle_finds_nothing(void **state)
{
	struct slu_proxy *a = make();
	int local;

	assert_false(slu_proxy_is_handle(NULL));
	assert_false(slu_proxy_is_handle(&local));
	assert_null(slu_proxy_find(NULL));
	assert_null(slu_proxy_find(&local));
	assert_null(slu_proxy_find((void *)(uintptr_t)12345));
	/* inside the range, but not where a proxy begins, and where none was ever made */
	assert_true(slu_proxy_is_handle((char *)a + 8));
	assert_null(slu_proxy_find((char *)a + 8));
	assert_true(slu_proxy_is_handle(a + 5));
	assert_null(slu_proxy_find(a + 5));
	drop(a);
}

static void a_dying_proxy_is_not_found(void **state)
{
	struct slu_proxy *a = make();

	slu_proxy_ref(a);
	assert_false(slu_proxy_unref(a));
	assert_ptr_equal(slu_proxy_find(a), a);
	assert_true(slu_proxy_unref(a));
	assert_null(slu_proxy_find(a));
	slu_proxy_free(a);
	assert_null(slu_proxy_find(a));
}

static void a_slot_rests_before_it_is_used_again(void **state)
{
	struct slu_proxy *first = make();
	uint32_t serial = atomic_load(&first->serial);
	unsigned n = 0;

	drop(first);
	for (;; n++) {
		struct slu_proxy *next = make();
		bool is_same = next == first;

		if (is_same)
			assert_int_not_equal(atomic_load(&next->serial), serial);
		drop(next);
		if (is_same)
			break;
		assert_true(n < 4 * SLU_PROXY_RESTING);
	}
	assert_true(n >= SLU_PROXY_RESTING - 8);
}

static void many_proxies_live_at_once_and_all_are_given_back(void **state)
{
	enum { MANY = 20000 };
	struct slu_proxy **all = calloc(MANY, sizeof(*all));
	uint64_t random = slu_test_seed(7);

	assert_non_null(all);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++)
			all[i] = make();
		for (unsigned i = MANY - 1; i; i--) {
			unsigned k = (unsigned)(slu_test_random(&random) % (i + 1));
			struct slu_proxy *p = all[i];

			all[i] = all[k];
			all[k] = p;
		}
		for (unsigned i = 0; i < MANY; i++) {
			assert_ptr_equal(slu_proxy_find(all[i]), all[i]);
			drop(all[i]);
			assert_null(slu_proxy_find(all[i]));
		}
	}
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_finds_its_proxy),
		cmocka_unit_test(what_is_no_handle_finds_nothing),
		cmocka_unit_test(a_dying_proxy_is_not_found),
		cmocka_unit_test(a_slot_rests_before_it_is_used_again),
		cmocka_unit_test(many_proxies_live_at_once_and_all_are_given_back),
	};

	return cmocka_run_group_tests_name("proxy", tests, NULL, NULL);
}
