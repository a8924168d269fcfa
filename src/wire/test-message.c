/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "wire/message.h"

static const char *fault_of(const struct slu_message *m, enum slu_message_side side)
{
	return slu_message_fault(m, sizeof(m->header) + m->header.size, side);
}

static void test_every_message_passes_when_stamped_and_zeroed(void **state)
{
	(void)state;
	for (unsigned t = 1; t < _SLU_MSG_MAX; t++) {
		struct slu_message m = {};
		const char *a, *b;

		slu_message_stamp(&m, t);
		assert_int_equal(m.header.size, slu_message_size(t));
		assert_true(m.header.size > 0);
		a = fault_of(&m, SLU_MESSAGE_FROM_CLIENT);
		b = fault_of(&m, SLU_MESSAGE_FROM_DAEMON);
		assert_true(!a != !b);
		assert_string_equal(a ? a : b, "a message that only the other side sends");
		assert_string_not_equal(slu_message_name(t), "?");
	}
	assert_string_equal(slu_message_name(0), "?");
	assert_string_equal(slu_message_name(_SLU_MSG_MAX), "?");
}

static void test_wrong_sizes_are_rejected(void **state)
{
	struct slu_message m = {};

	(void)state;
	slu_message_stamp(&m, SLU_MSG_WANT);
	assert_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
	for (size_t size = 0; size < sizeof(m); size++) {
		bool right = size == sizeof(m.header) + sizeof(m.want);

		assert_true(!slu_message_fault(&m, size, SLU_MESSAGE_FROM_CLIENT) == right);
	}
	m.header.size++;
	assert_non_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
}

static void test_contents_out_of_bounds_are_rejected(void **state)
{
	static const struct slu_message rows[] = {
		{ { SLU_MSG_HELLO }, .hello = { .n_devices = SLU_WIRE_DEVICES_MAX + 1 } },
		{ { SLU_MSG_HELLO },
		  .hello = { .n_devices = 1, .devices = { { .mode = _SLU_MODE_MAX } } } },
		{ { SLU_MSG_HELLO },
		  .hello = { .n_devices = 1, .devices = { { .floor_bytes = 1 } } } },
		{ { SLU_MSG_SUMS }, .sums = { .account = { .tier = _SLU_TIER_MAX } } },
		{ { SLU_MSG_SUMS }, .sums = { .account = { .device = SLU_WIRE_DEVICES_MAX } } },
		{ { SLU_MSG_SUMS },
		  .sums = { .account = { .tier = SLU_TIER_PAGEABLE, .device = 1 } } },
		{ { SLU_MSG_SUMS }, .sums = { .held_bytes = 2, .ceiling_bytes = 1 } },
		{ { SLU_MSG_SUMS }, .sums = { .floor_bytes = 1 } },
		{ { SLU_MSG_WANT }, .want = { .account = { .tier = SLU_TIER_PINNED } } },
		{ { SLU_MSG_WANT }, .want = { .all_bytes = 1, .working_bytes = 2 } },
		{ { SLU_MSG_HELLO },
		  .hello = { .n_devices = 1, .devices = { { .working_bytes = 1 } } } },
		{ { SLU_MSG_READY }, .turn = { .device = SLU_WIRE_DEVICES_MAX } },
		{ { SLU_MSG_IDLE }, .turn = { .device = SLU_WIRE_DEVICES_MAX } },
		{ { SLU_MSG_REST }, .rest = { .device = SLU_WIRE_DEVICES_MAX } },
		{ { SLU_MSG_FACTS }, .facts = { .device = SLU_WIRE_DEVICES_MAX } },
		{ { SLU_MSG_FACTS }, .facts = { .mode = _SLU_MODE_MAX } },
		{ { SLU_MSG_EXCESS }, .excess = { .device = SLU_WIRE_DEVICES_MAX } },
		{ { SLU_MSG_EXPORT }, .export = { .device = SLU_WIRE_DEVICES_MAX } },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_message m = rows[i];

		slu_message_stamp(&m, rows[i].header.type);
		assert_non_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
	}
}

static void test_a_hello_of_version_1_is_shorter(void **state)
{
	struct slu_message m = {};

	(void)state;
	slu_message_stamp(&m, SLU_MSG_HELLO);
	assert_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
	m.header.size = SLU_HELLO_SIZE_1;
	assert_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
	m.header.size = SLU_HELLO_SIZE_1 - 1;
	assert_non_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
}

static void test_a_folder_for_the_disk_is_absolute(void **state)
{
	struct slu_message m = {};

	(void)state;
	slu_message_stamp(&m, SLU_MSG_DISK);
	assert_null(fault_of(&m, SLU_MESSAGE_FROM_DAEMON));
	strcpy(m.disk.folder, "/var/tmp");
	assert_null(fault_of(&m, SLU_MESSAGE_FROM_DAEMON));
	strcpy(m.disk.folder, "tmp");
	assert_non_null(fault_of(&m, SLU_MESSAGE_FROM_DAEMON));
	memset(m.disk.folder, '/', sizeof(m.disk.folder));
	assert_non_null(fault_of(&m, SLU_MESSAGE_FROM_DAEMON));
}

static void test_unterminated_names_are_rejected(void **state)
{
	struct slu_message m = {};

	(void)state;
	slu_message_stamp(&m, SLU_MSG_HELLO);
	memset(m.hello.program, 'x', sizeof(m.hello.program));
	assert_non_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
	m.hello.program[sizeof(m.hello.program) - 1] = '\0';
	assert_null(fault_of(&m, SLU_MESSAGE_FROM_CLIENT));
}

static struct slu_message sums(unsigned device, uint64_t seq, uint64_t held, uint64_t refused)
{
	struct slu_message m = { .sums = { .account = { SLU_TIER_DEVICE, (uint8_t)device },
					   .seq = seq,
					   .ceiling_bytes = held,
					   .held_bytes = held,
					   .refused_bytes = refused } };

	slu_message_stamp(&m, SLU_MSG_SUMS);
	return m;
}

static void test_a_newer_report_supersedes_an_older_one_of_the_same_account(void **state)
{
	struct slu_message older = sums(0, 3, 10, 0), newer = sums(0, 3, 9, 0), m = { 0 };

	(void)state;
	assert_true(slu_message_supersede(&newer, &older));
	assert_int_equal(newer.sums.held_bytes, 9);
	older = sums(1, 3, 10, 0);
	assert_false(slu_message_supersede(&newer, &older));
	older.sums.account.tier = SLU_TIER_PAGEABLE;
	assert_false(slu_message_supersede(&newer, &older));

	/* messages that need an answer each stay */
	for (unsigned type = SLU_MSG_NONE + 1; type < _SLU_MSG_MAX; type++) {
		bool is_report = type == SLU_MSG_SUMS || type == SLU_MSG_WANT ||
				 type == SLU_MSG_IDLE || type == SLU_MSG_FACTS ||
				 type == SLU_MSG_EXCESS || type == SLU_MSG_EXPORT ||
				 type == SLU_MSG_PRESENT;

		slu_message_stamp(&m, type);
		older = m;
		assert_int_equal(slu_message_supersede(&m, &older), is_report);
	}
}

static void test_a_refusal_is_not_lost_with_its_message(void **state)
{
	struct slu_message older = sums(0, 3, 10, 7), newer = sums(0, 3, 9, 0);

	(void)state;
	assert_true(slu_message_supersede(&newer, &older));
	assert_int_equal(newer.sums.refused_bytes, 7);
	newer = sums(0, 3, 9, 5);
	assert_true(slu_message_supersede(&newer, &older));
	assert_int_equal(newer.sums.refused_bytes, 5);
	/* under a newer limit the refusal means nothing */
	newer = sums(0, 4, 9, 0);
	assert_true(slu_message_supersede(&newer, &older));
	assert_int_equal(newer.sums.refused_bytes, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_message_passes_when_stamped_and_zeroed),
		cmocka_unit_test(test_wrong_sizes_are_rejected),
		cmocka_unit_test(test_contents_out_of_bounds_are_rejected),
		cmocka_unit_test(test_a_hello_of_version_1_is_shorter),
		cmocka_unit_test(test_a_folder_for_the_disk_is_absolute),
		cmocka_unit_test(test_unterminated_names_are_rejected),
		cmocka_unit_test(test_a_newer_report_supersedes_an_older_one_of_the_same_account),
		cmocka_unit_test(test_a_refusal_is_not_lost_with_its_message),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
