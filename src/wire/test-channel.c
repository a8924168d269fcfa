/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "wire/channel.h"

struct pair {
	struct slu_channel *daemon; /* the daemon's end: reads what clients may send */
	struct slu_channel *client;
	unsigned n_fds; /* open before */
};

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int setup(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int fds[2];

	assert_non_null(pair);
	pair->n_fds = count_fds();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(slu_channel_new(fds[0], SLU_MESSAGE_FROM_CLIENT, &pair->daemon), 0);
	assert_int_equal(slu_channel_new(fds[1], SLU_MESSAGE_FROM_DAEMON, &pair->client), 0);
	*state = pair;
	return 0;
}

static int teardown(void **state)
{
	struct pair *pair = *state;

	slu_channel_free(pair->daemon);
	slu_channel_free(pair->client);
	assert_int_equal(count_fds(), pair->n_fds);
	free(pair);
	return 0;
}

static struct slu_message limit_message(uint64_t seq)
{
	struct slu_message m = { .limit = { .seq = seq } };

	slu_message_stamp(&m, SLU_MSG_LIMIT);
	return m;
}

static void test_a_message_arrives_as_it_was_sent(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = { .want = { .all_bytes = 42, .is_runnable = 1 } }, got;
	const char *fault = NULL;

	slu_message_stamp(&m, SLU_MSG_WANT);
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault),
			 SLU_CHANNEL_E_AGAIN);
	assert_int_equal(slu_channel_send(pair->client, &m, -1), 0);
	memset(&got, 0xff, sizeof(got));
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault), 0);
	assert_memory_equal(&got, &m, sizeof(m));
}

static void test_a_file_is_passed_and_is_the_same_file(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = { .answer = { .size = 3 } }, got;
	struct stat a, b;
	int fds[2], fd = -1;

	slu_message_stamp(&m, SLU_MSG_ANSWER);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(slu_channel_send(pair->daemon, &m, fds[0]), 0);
	assert_int_equal(slu_channel_receive(pair->client, &got, &fd, NULL), 0);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(fstat(fds[0], &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);

	/* the second file is not wanted: it is closed, and teardown counts */
	assert_int_equal(slu_channel_send(pair->daemon, &m, fds[1]), 0);
	assert_int_equal(slu_channel_receive(pair->client, &got, NULL, NULL), 0);
	close(fds[0]);
	close(fds[1]);
}

static void send_raw(struct slu_channel *channel, const void *bytes, size_t size, const int *fds,
		     size_t n_fds)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control = {};
	struct iovec iov = { (void *)bytes, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n_fds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(slu_channel_fd(channel), &msg, MSG_NOSIGNAL), (ssize_t)size);
}

static void test_of_many_files_one_is_kept_and_none_of_a_bad_packet(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = {}, got;
	const char *fault = NULL;
	int fds[4] = { 0, 0, 0, 0 }, fd = -1;

	slu_message_stamp(&m, SLU_MSG_ANSWER);
	send_raw(pair->daemon, &m, sizeof(m.header) + m.header.size, fds, 4);
	assert_int_equal(slu_channel_receive(pair->client, &got, &fd, &fault), 0);
	assert_true(fd >= 0);
	close(fd);

	send_raw(pair->daemon, &m, sizeof(m.header), fds, 4);
	assert_int_equal(slu_channel_receive(pair->client, &got, &fd, &fault), SLU_CHANNEL_E_BAD);
	assert_int_equal(fd, -1);
	assert_string_equal(fault, "a wrong size for its type");
}

static void test_files_of_a_client_stay_in_the_socket(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = {}, got;
	int fds[4] = { 0, 0, 0, 0 }, fd = -1, n = dup(0);

	close(n); /* the next free number: a file that was taken would have it */
	slu_message_stamp(&m, SLU_MSG_WANT);
	assert_int_equal(slu_channel_send(pair->client, &m, -1), 0);
	send_raw(pair->client, &m, sizeof(m.header) + m.header.size, fds, 4);
	assert_int_equal(slu_channel_receive(pair->daemon, &got, &fd, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(slu_channel_receive(pair->daemon, &got, &fd, NULL),
				 SLU_CHANNEL_E_FILES);
		assert_int_equal(fd, -1);
	}
	assert_false(slu_channel_dry(slu_channel_fd(pair->daemon)));
	assert_int_equal(fcntl(n, F_GETFD), -1);
	assert_int_equal(slu_channel_send(pair->client, &m, -1), SLU_CHANNEL_E_EOF);
}

static void test_files_are_found_behind_other_packets_and_empty_ones(void **state)
{
	struct pair *pair = *state;
	int fds[1] = { 0 };

	send_raw(pair->client, "x", 1, NULL, 0);
	send_raw(pair->client, "", 0, NULL, 0);
	send_raw(pair->client, "", 0, fds, 1);
	assert_false(slu_channel_dry(slu_channel_fd(pair->daemon)));
}

static void test_without_files_a_socket_can_be_closed(void **state)
{
	struct pair *pair = *state;

	send_raw(pair->client, "x", 1, NULL, 0);
	send_raw(pair->client, "", 0, NULL, 0);
	send_raw(pair->client, "xyz", 3, NULL, 0);
	assert_true(slu_channel_dry(slu_channel_fd(pair->daemon)));
	assert_true(slu_channel_dry(slu_channel_fd(pair->daemon)));
}

static void test_bad_packets_are_named_and_the_next_good_one_is_read(void **state)
{
	struct pair *pair = *state;
	static const char big[3 * SLU_WIRE_PACKET_MAX];
	struct slu_message m = {}, got;
	const char *fault = NULL;

	send_raw(pair->client, big, sizeof(big), NULL, 0);
	send_raw(pair->client, big, 3, NULL, 0);
	send_raw(pair->client, big, 64, NULL, 0);
	m = limit_message(1);
	send_raw(pair->client, &m, sizeof(m.header) + m.header.size, NULL, 0);
	slu_message_stamp(&m, SLU_MSG_FACTS);
	m.facts = (struct slu_msg_facts){ .device_bytes = 5 };
	assert_int_equal(slu_channel_send(pair->client, &m, -1), 0);

	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault), SLU_CHANNEL_E_BAD);
	assert_string_equal(fault, "longer than any message");
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault), SLU_CHANNEL_E_BAD);
	assert_string_equal(fault, "shorter than a header");
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault), SLU_CHANNEL_E_BAD);
	assert_string_equal(fault, "an unknown message");
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault), SLU_CHANNEL_E_BAD);
	assert_string_equal(fault, "a message that only the other side sends");
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, &fault), 0);
	assert_int_equal(got.facts.device_bytes, 5);
}

static void test_the_beginning_of_a_bad_packet_can_be_read(void **state)
{
	struct pair *pair = *state;
	struct {
		struct slu_message_header header;
		uint32_t version;
	} future = { { .type = SLU_MSG_HELLO, .size = 4 }, 7 };
	struct slu_message got;

	memset(&got, 0xff, sizeof(got));
	send_raw(pair->client, &future, sizeof(future.header) + 4, NULL, 0);
	assert_int_equal(slu_channel_receive(pair->daemon, &got, NULL, NULL), SLU_CHANNEL_E_BAD);
	assert_int_equal(got.header.type, SLU_MSG_HELLO);
	assert_int_equal(got.hello.version, 7);
	assert_int_equal(got.hello.n_devices, 0);
}

static void test_a_full_queue_is_bounded_and_keeps_the_order(void **state)
{
	struct pair *pair = *state;
	struct slu_message m, got;
	uint64_t n_sent = 0, n_got = 0;
	int r;

	do {
		m = limit_message(n_sent);
		r = slu_channel_send(pair->daemon, &m, -1);
		n_sent += !r;
		assert_true(n_sent < 1000000);
	} while (!r);
	assert_int_equal(r, SLU_CHANNEL_E_FULL);
	assert_true(slu_channel_wants_write(pair->daemon));
	assert_int_equal(slu_channel_queued_bytes(pair->daemon),
			 SLU_CHANNEL_QUEUE_MAX * (sizeof(m.header) + sizeof(m.limit)));
	assert_int_equal(slu_channel_flush(pair->daemon), SLU_CHANNEL_E_AGAIN);

	while (n_got < n_sent) {
		r = slu_channel_receive(pair->client, &got, NULL, NULL);
		if (r == SLU_CHANNEL_E_AGAIN) {
			r = slu_channel_flush(pair->daemon);
			assert_true(r == 0 || r == SLU_CHANNEL_E_AGAIN);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(got.limit.seq, n_got++);
	}
	assert_false(slu_channel_wants_write(pair->daemon));
	assert_int_equal(slu_channel_queued_bytes(pair->daemon), 0);
}

static void test_the_newest_report_waits_behind_earlier_messages(void **state)
{
	enum { N = 10000 };
	struct pair *pair = *state;
	struct slu_message m = { 0 }, got = { 0 };
	size_t before = 0;
	uint64_t last = 0;
	bool is_ready = false;

	for (unsigned i = 1; i <= N; i++) {
		m.sums = (struct slu_msg_sums){ .account = { SLU_TIER_DEVICE, (uint8_t)(i % 2) },
						.seq = i,
						.ceiling_bytes = i,
						.held_bytes = i };
		slu_message_stamp(&m, SLU_MSG_SUMS);
		assert_int_equal(slu_channel_send(pair->client, &m, -1), 0);
		if (i != N / 2)
			continue;
		assert_true(slu_channel_wants_write(pair->client));
		before = slu_channel_queued_bytes(pair->client);
		m.turn = (struct slu_msg_turn){ 0 };
		slu_message_stamp(&m, SLU_MSG_READY);
		assert_int_equal(slu_channel_send(pair->client, &m, -1), 0);
	}
	assert_int_equal(slu_channel_queued_bytes(pair->client),
			 before + sizeof(m.header) + sizeof(m.turn));

	while (last < N) {
		int r = slu_channel_receive(pair->daemon, &got, NULL, NULL);

		if (r == SLU_CHANNEL_E_AGAIN) {
			slu_channel_flush(pair->client);
			continue;
		}
		assert_int_equal(r, 0);
		is_ready = is_ready || got.header.type == SLU_MSG_READY;
		if (got.header.type != SLU_MSG_SUMS)
			continue;
		assert_true(got.sums.held_bytes > last);
		last = got.sums.held_bytes;
		assert_true(last < N / 2 || is_ready);
	}
	assert_false(slu_channel_wants_write(pair->client));
}

static void test_a_queued_file_stays_ours_until_it_is_sent(void **state)
{
	struct pair *pair = *state;
	struct slu_message m, got;
	struct stat a, b;
	int fds[2], fd = -1, r;

	do {
		m = limit_message(0);
		assert_int_equal(slu_channel_send(pair->daemon, &m, -1), 0);
	} while (!slu_channel_wants_write(pair->daemon));
	m = (struct slu_message){};
	slu_message_stamp(&m, SLU_MSG_ANSWER);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(slu_channel_send(pair->daemon, &m, fds[0]), 0);
	assert_int_equal(fstat(fds[0], &a), 0);
	close(fds[0]);
	do {
		r = slu_channel_receive(pair->client, &got, &fd, NULL);
		if (r == SLU_CHANNEL_E_AGAIN)
			slu_channel_flush(pair->daemon);
		else
			assert_int_equal(r, 0);
	} while (r || got.header.type != SLU_MSG_ANSWER);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	close(fd);
	close(fds[1]);
}

static void test_messages_before_the_end_are_still_read(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = limit_message(9), got;

	assert_int_equal(slu_channel_send(pair->daemon, &m, -1), 0);
	slu_channel_free(pair->daemon);
	pair->daemon = NULL;
	assert_int_equal(slu_channel_receive(pair->client, &got, NULL, NULL), 0);
	assert_int_equal(got.limit.seq, 9);
	assert_int_equal(slu_channel_receive(pair->client, &got, NULL, NULL), SLU_CHANNEL_E_EOF);
	slu_message_stamp(&m, SLU_MSG_WANT);
	assert_int_equal(slu_channel_send(pair->client, &m, -1), SLU_CHANNEL_E_EOF);
}

/* A connection that was closed with packets unread fails first, and then has what was sent. */
static void test_messages_before_a_reset_are_still_read(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = limit_message(9), want = {}, got;

	slu_message_stamp(&want, SLU_MSG_WANT);
	assert_int_equal(slu_channel_send(pair->client, &want, -1), 0);
	assert_int_equal(slu_channel_send(pair->daemon, &m, -1), 0);
	slu_channel_free(pair->daemon);
	pair->daemon = NULL;
	assert_int_equal(slu_channel_receive(pair->client, &got, NULL, NULL), 0);
	assert_int_equal(got.limit.seq, 9);
	assert_int_equal(slu_channel_receive(pair->client, &got, NULL, NULL), SLU_CHANNEL_E_EOF);
}

static void test_files_are_found_behind_a_reset(void **state)
{
	struct pair *pair = *state;
	struct slu_message m = limit_message(9);
	int fds[1] = { 0 };

	send_raw(pair->client, "x", 1, fds, 1);
	assert_int_equal(slu_channel_send(pair->daemon, &m, -1), 0);
	slu_channel_free(pair->client);
	pair->client = NULL;
	assert_false(slu_channel_dry(slu_channel_fd(pair->daemon)));
}

static void test_the_peer_is_the_process_that_connected(void **state)
{
	struct pair *pair = *state;
	pid_t pid = 0;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;

	assert_int_equal(slu_channel_peer(pair->daemon, &pid, &uid, &gid), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(uid, getuid());
	assert_int_equal(gid, getgid());
}

static void test_only_packet_sockets_are_accepted(void **state)
{
	struct slu_channel *channel = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(slu_channel_new(fds[0], SLU_MESSAGE_FROM_CLIENT, &channel), -EPROTOTYPE);
	assert_null(channel);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(slu_channel_connect("/nonexistent/socket"), -ENOENT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_a_message_arrives_as_it_was_sent),
		T(test_a_file_is_passed_and_is_the_same_file),
		T(test_of_many_files_one_is_kept_and_none_of_a_bad_packet),
		T(test_files_of_a_client_stay_in_the_socket),
		T(test_files_are_found_behind_other_packets_and_empty_ones),
		T(test_without_files_a_socket_can_be_closed),
		T(test_bad_packets_are_named_and_the_next_good_one_is_read),
		T(test_the_beginning_of_a_bad_packet_can_be_read),
		T(test_a_full_queue_is_bounded_and_keeps_the_order),
		T(test_the_newest_report_waits_behind_earlier_messages),
		T(test_a_queued_file_stays_ours_until_it_is_sent),
		T(test_messages_before_the_end_are_still_read),
		T(test_messages_before_a_reset_are_still_read),
		T(test_files_are_found_behind_a_reset),
		T(test_the_peer_is_the_process_that_connected),
		T(test_only_packet_sockets_are_accepted),
	};
#undef T

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
