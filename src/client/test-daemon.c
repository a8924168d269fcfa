/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/test-daemon.h"
#include "wire/channel.h"

#define PLENTY	   (UINT64_C(1) << 50)
#define GENERATION 7

enum state { RAISING, FILLING, RUNNING, CLOSING, LOWERING };

struct session {
	struct slu_test_daemon *daemon;
	struct slu_channel *channel; /* NULL: no client */
	uint64_t random;
	unsigned n_devices;
	uint64_t counter; /* of epochs */
	bool is_deaf;
	uint64_t backing_seq;
	bool backing_is_pending;
	uint64_t pinned_seq;
	bool pinned_is_pending;
	struct {
		enum state state;
		struct slu_epoch epoch;
		uint64_t seq;
		uint64_t limit_bytes;
	} devices[SLU_WIRE_DEVICES_MAX];
};

static uint64_t draw(struct session *s)
{
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return s->random >> 33;
}

static void put(struct session *s, struct slu_message *m, enum slu_message_type type)
{
	slu_message_stamp(m, type);
	if (s->channel && slu_channel_send(s->channel, m, -1)) {
		slu_channel_free(s->channel);
		s->channel = NULL;
	}
}

static void send_limit_at(struct session *s, enum slu_tier tier, unsigned d, uint64_t bytes,
			  uint64_t seq, enum slu_pace pace)
{
	struct slu_message m = { 0 };

	m.limit = (struct slu_msg_limit){
		.account = { (uint8_t)tier, (uint8_t)d },
		.pace = (uint8_t)pace,
		.seq = seq,
		.limit_bytes = bytes,
		.goal_bytes = bytes,
	};
	put(s, &m, SLU_MSG_LIMIT);
}

static void send_limit(struct session *s, enum slu_tier tier, unsigned d, uint64_t bytes,
		       uint64_t seq)
{
	send_limit_at(s, tier, d, bytes, seq, SLU_PACE_NOW);
}

static void limit_backing(struct session *s, uint64_t bytes)
{
	if (!s->daemon->has_disk || s->backing_is_pending)
		return;
	s->backing_is_pending = true;
	send_limit_at(s, SLU_TIER_PAGEABLE, 0, bytes, ++s->backing_seq,
		      draw(s) % 2 ? SLU_PACE_AHEAD : SLU_PACE_NONE);
}

static void limit_pinned(struct session *s, uint64_t bytes)
{
	if (s->pinned_is_pending)
		return;
	s->pinned_is_pending = true;
	send_limit_at(s, SLU_TIER_PINNED, 0, bytes, ++s->pinned_seq,
		      s->daemon->pins_copies ? SLU_PACE_AHEAD : SLU_PACE_NOW);
}

static void limit_device(struct session *s, unsigned d, uint64_t bytes)
{
	s->devices[d].limit_bytes = bytes;
	send_limit(s, SLU_TIER_DEVICE, d, bytes, ++s->devices[d].seq);
}

static uint64_t most_bytes(const struct session *s)
{
	if (s->daemon->deny_above_bytes)
		return s->daemon->deny_above_bytes;
	return s->daemon->device_bytes ? s->daemon->device_bytes : PLENTY;
}

static void raise_limit(struct session *s, unsigned d)
{
	s->devices[d].state = RAISING;
	limit_device(s, d, most_bytes(s));
}

static void close_turn(struct session *s, unsigned d)
{
	struct slu_message m = { 0 };

	s->devices[d].state = CLOSING;
	m.close = (struct slu_msg_close){ .device = (uint8_t)d, .epoch = s->devices[d].epoch };
	put(s, &m, SLU_MSG_CLOSE);
}

static void hello(struct session *s, const struct slu_msg_hello *h)
{
	struct slu_test_daemon *daemon = s->daemon;
	struct slu_message m = { 0 };

	m.welcome = (struct slu_msg_welcome){
		.version = SLU_WIRE_VERSION,
		.status = daemon->status,
		.generation = GENERATION,
		.chunk_bytes = 4096,
		.checksum_moves = !daemon->omits_sums,
		.allow_mapped = 1,
		.run_without_daemon = daemon->run_without_daemon,
		.predict = daemon->predict,
	};
	put(s, &m, SLU_MSG_WELCOME);
	if (daemon->status)
		return;
	pthread_mutex_lock(&daemon->lock);
	daemon->n_joins++;
	pthread_cond_broadcast(&daemon->changed);
	pthread_mutex_unlock(&daemon->lock);
	s->backing_seq = 0;
	s->backing_is_pending = false;
	if (daemon->has_disk) {
		strcpy(m.disk.folder, "/var/tmp");
		put(s, &m, SLU_MSG_DISK);
		send_limit(s, SLU_TIER_DISK, 0, PLENTY, 1);
		limit_backing(s, 0);
	} else {
		send_limit(s, SLU_TIER_PAGEABLE, 0, PLENTY, 1);
	}
	s->pinned_seq = 0;
	s->pinned_is_pending = false;
	limit_pinned(s, daemon->pinned_bytes);
	s->n_devices = h->n_devices;
	for (unsigned d = 0; d < s->n_devices; d++) {
		s->devices[d].seq = 0;
		s->devices[d].epoch = h->devices[d].epoch;
		if (slu_epoch_is_none(h->devices[d].epoch))
			raise_limit(s, d);
		else
			close_turn(s, d);
	}
}

static void sums(struct session *s, const struct slu_msg_sums *m)
{
	unsigned d = m->account.device;
	struct slu_message turn = { 0 };

	if (m->account.tier == SLU_TIER_PAGEABLE && m->seq == s->backing_seq)
		s->backing_is_pending = false;
	if (m->account.tier == SLU_TIER_PINNED && m->seq == s->pinned_seq)
		s->pinned_is_pending = false;
	if (m->account.tier != SLU_TIER_DEVICE || d >= s->n_devices || m->seq != s->devices[d].seq)
		return;
	switch (s->devices[d].state) {
	case RAISING:
		s->devices[d].state = FILLING;
		s->devices[d].epoch = (struct slu_epoch){ GENERATION, ++s->counter };
		turn.turn =
			(struct slu_msg_turn){ .device = (uint8_t)d, .epoch = s->devices[d].epoch };
		put(s, &turn, SLU_MSG_TURN);
		break;
	case LOWERING:
		if (m->held_bytes <= s->devices[d].limit_bytes || m->is_final)
			raise_limit(s, d);
		break;
	case FILLING:
	case RUNNING:
		/* A refusal voids the client's credit: grant it again. */
		if (m->refused_bytes)
			limit_device(s, d, most_bytes(s));
		break;
	default:
		break;
	}
}

static void want(struct session *s, const struct slu_msg_want *m)
{
	struct slu_message deny = { 0 };

	if (m->account.tier == SLU_TIER_PAGEABLE)
		limit_backing(s, m->all_bytes);
	if (m->account.tier != SLU_TIER_DEVICE || !s->daemon->deny_above_bytes ||
	    m->all_bytes <= s->daemon->deny_above_bytes)
		return;
	deny.deny = (struct slu_msg_deny){ .account = m->account, .bytes = m->all_bytes };
	put(s, &deny, SLU_MSG_DENY);
}

static void hear(struct session *s, const struct slu_message *m)
{
	unsigned d;

	switch (m->header.type) {
	case SLU_MSG_HELLO:
		hello(s, &m->hello);
		break;
	case SLU_MSG_SUMS:
		sums(s, &m->sums);
		break;
	case SLU_MSG_WANT:
		want(s, &m->want);
		break;
	case SLU_MSG_READY:
		d = m->turn.device;
		if (s->devices[d].state != FILLING ||
		    !slu_epoch_equal(m->turn.epoch, s->devices[d].epoch))
			break;
		s->devices[d].state = RUNNING;
		pthread_mutex_lock(&s->daemon->lock);
		s->daemon->n_turns++;
		pthread_cond_broadcast(&s->daemon->changed);
		pthread_mutex_unlock(&s->daemon->lock);
		break;
	case SLU_MSG_REST:
		d = m->rest.device;
		if (s->devices[d].state != CLOSING ||
		    !slu_epoch_equal(m->rest.epoch, s->devices[d].epoch))
			break;
		s->devices[d].state = LOWERING;
		limit_backing(s, draw(s) % 3 ? draw(s) % 131072 : 0);
		if (s->daemon->pins_copies)
			limit_pinned(s, s->daemon->pinned_bytes / 4 * (1 + draw(s) % 4));
		limit_device(s, d, !s->daemon->goes_deaf && draw(s) % 3 ? draw(s) % 65536 : 0);
		s->is_deaf = s->daemon->goes_deaf;
		break;
	default:
		break;
	}
}

/* Return: how long to wait for a message, in ms, before the next timed event; -1: for ever. */
static int pause_ms(struct session *s)
{
	for (unsigned d = 0; d < s->n_devices && !s->daemon->is_calm; d++)
		if (s->devices[d].state == RUNNING)
			return (int)(draw(s) % 3);
	return -1;
}

static void turn_away(struct session *s)
{
	for (unsigned d = 0; d < s->n_devices; d++)
		if (s->devices[d].state == RUNNING)
			close_turn(s, d);
}

static void obey(struct session *s)
{
	uint64_t n;

	if (read(s->daemon->command_fd, &n, sizeof(n)) != sizeof(n))
		abort();
	if (s->is_deaf)
		s->is_deaf = s->daemon->goes_deaf = false;
	else
		turn_away(s);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert(fd >= 0);
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0)
		abort();
	return fd;
}

static void receive(struct session *s)
{
	struct slu_message m;
	int r;

	while (s->channel && !s->is_deaf &&
	       (r = slu_channel_receive(s->channel, &m, NULL, NULL)) != SLU_CHANNEL_E_AGAIN) {
		if (r == 0) {
			hear(s, &m);
			continue;
		}
		assert(r == SLU_CHANNEL_E_EOF);
		slu_channel_free(s->channel);
		s->channel = NULL;
	}
}

static void greet(struct session *s, int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	slu_channel_free(s->channel);
	s->channel = NULL;
	s->n_devices = 0;
	if (slu_channel_new(fd, SLU_MESSAGE_FROM_CLIENT, &s->channel) < 0)
		abort();
}

static void *serve(void *data)
{
	struct slu_test_daemon *daemon = data;
	struct session s = { .daemon = daemon, .random = daemon->seed };
	int listen_fd = listen_at(daemon->path);

	for (;;) {
		struct pollfd fds[4] = {
			{ .fd = daemon->stop_fd, .events = POLLIN },
			{ .fd = s.is_deaf ? -1 : listen_fd, .events = POLLIN },
			{ .fd = s.channel && !s.is_deaf ? slu_channel_fd(s.channel) : -1,
			  .events = POLLIN },
			{ .fd = daemon->command_fd, .events = POLLIN },
		};
		int n = poll(fds, 4, s.channel ? pause_ms(&s) : -1);

		if (fds[0].revents)
			break;
		if (fds[1].revents)
			greet(&s, listen_fd);
		if (fds[2].revents)
			receive(&s);
		if (fds[3].revents)
			obey(&s);
		if (n == 0 && !daemon->is_calm)
			turn_away(&s);
	}
	slu_channel_free(s.channel);
	close(listen_fd);
	unlink(daemon->path);
	return NULL;
}

void slu_test_daemon_init(struct slu_test_daemon *daemon)
{
	memset(daemon, 0, sizeof(*daemon));
	daemon->seed = 1;
	strcpy(daemon->folder, "/tmp/sluice-test-XXXXXX");
	if (!mkdtemp(daemon->folder))
		abort();
	snprintf(daemon->path, sizeof(daemon->path), "%s/socket", daemon->folder);
	pthread_mutex_init(&daemon->lock, NULL);
	pthread_cond_init(&daemon->changed, NULL);
	daemon->stop_fd = -1;
	daemon->command_fd = eventfd(0, EFD_CLOEXEC);
}

void slu_test_daemon_tell(struct slu_test_daemon *daemon)
{
	const uint64_t one = 1;

	if (write(daemon->command_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

void slu_test_daemon_start(struct slu_test_daemon *daemon)
{
	daemon->n_turns = 0;
	daemon->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (pthread_create(&daemon->thread, NULL, serve, daemon))
		abort();
}

void slu_test_daemon_stop(struct slu_test_daemon *daemon)
{
	const uint64_t one = 1;

	if (write(daemon->stop_fd, &one, sizeof(one)) != sizeof(one))
		abort();
	pthread_join(daemon->thread, NULL);
	close(daemon->stop_fd);
	daemon->stop_fd = -1;
}

void slu_test_daemon_deinit(struct slu_test_daemon *daemon)
{
	if (daemon->stop_fd >= 0)
		slu_test_daemon_stop(daemon);
	close(daemon->command_fd);
	rmdir(daemon->folder);
}

void slu_test_daemon_wait_turns(struct slu_test_daemon *daemon, uint64_t n)
{
	pthread_mutex_lock(&daemon->lock);
	while (daemon->n_turns < n)
		pthread_cond_wait(&daemon->changed, &daemon->lock);
	pthread_mutex_unlock(&daemon->lock);
}
