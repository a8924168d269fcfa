/* SPDX-License-Identifier: Apache-2.0 */

/* The instance: its start, its stages, and the actions of the peer. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "client/boundary.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/pager.h"
#include "client/shift.h"
#include "client/torture.h"

#define REFUSAL_RETRIES	 8
#define REFUSAL_PAUSE_NS (10 * SLU_NS_PER_MS)
#define ANSWER_NS	 (20 * SLU_NS_PER_MS)

struct slu_client slu_client_global = {
	.lock = SLU_LOCK_INIT(SLU_LOCK_CLIENT),
	.wake_fd = -1,
};

/* -- starting --------------------------------------------------------------------------------- */

static int peer_create(struct slu_client *c)
{
	struct slu_peer_config config = {
		.refusal_retries = REFUSAL_RETRIES,
		.refusal_pause_ns = REFUSAL_PAUSE_NS,
		.idle_ns = SLU_WIRE_IDLE_NS,
		.answer_ns = ANSWER_NS,
		.seed = (uint64_t)getpid(),
	};
	const char *name = secure_getenv("SLUICE_NAME");
	const char *group = secure_getenv("SLUICE_GROUP");

	if (!name || !*name)
		name = program_invocation_short_name;
	strncpy(config.program, name, sizeof(config.program) - 1);
	if (group)
		config.group = strtoull(group, NULL, 16);
	return slu_fold(slu_peer_new(&config, &c->peer));
}

int slu_client_start(struct slu_client *c)
{
	const char *torture = secure_getenv("SLUICE_TORTURE");
	const char *path = secure_getenv("SLUICE_SOCKET");
	pthread_condattr_t attributes;
	int r;

	if (c->is_started)
		return 0;
	slu_client_log_init();
	slu_gate_init(true);
	slu_fork_watch();
	c->wake_fd = slu_fd_lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (c->wake_fd < 0)
		return slu_error(-errno);
	r = peer_create(c);
	if (r)
		goto fail;
	r = slu_connection_init(&c->connection, path);
	if (r)
		goto fail;
	if (torture && strcmp(torture, "0") != 0) {
		r = -ENOMEM;
		c->torture = slu_torture_new(torture);
		/* an audit would hide what is wrong with the calls that are tested */
		if (strcmp(torture, "audit") != 0)
			c->audit.n_passed = SLU_CLIENT_AUDITS;
		if (!c->torture)
			goto fail;
		slu_connection_give_up(&c->connection);
	}
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attributes);
	pthread_cond_init(&c->shift_wake, &attributes);
	pthread_cond_init(&c->page_wake, &attributes);
	pthread_condattr_destroy(&attributes);
	slu_disk_init(&c->disk, &slu_disk_calls_real);
	c->is_started = true;
	c->stage = SLU_CLIENT_JOINING;
	if (!c->connection.path && !c->torture) {
		c->stage = SLU_CLIENT_LOOSE;
		slu_client_run_alone(c, slu_clock_now_ns());
	}
	slu_client_log("started, %s", c->torture ? "tortured" : path ? path : "without a daemon");
	return 0;
fail:
	slu_connection_deinit(&c->connection);
	slu_peer_free(c->peer);
	c->peer = NULL;
	close(c->wake_fd);
	c->wake_fd = -1;
	return slu_error(r);
}

int slu_client_thread(pthread_t *ret_thread, void *(*run)(void *), void *data, const char *name)
{
	sigset_t all;
	sigset_t before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret_thread, NULL, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return slu_error(-r);
	pthread_setname_np(*ret_thread, name);
	return 0;
}

void slu_client_poke(struct slu_client *c)
{
	const uint64_t one = 1;

	if (c->helper_ns == 0)
		return;
	c->helper_ns = 0;
	if (write(c->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: it wakes anyway */
}

/* -- actions of the peer ------------------------------------------------------------------------
 */

/* The peer counts units that moved. Status shows the bytes that were copied, and the last error. */
static void facts_correct(struct slu_client *c, struct slu_msg_facts *facts)
{
	const struct slu_client_device *d = c->devices[facts->device];

	if (!d)
		return;
	facts->moved_in_bytes = d->moved_in_bytes;
	facts->moved_out_bytes = d->moved_out_bytes;
	facts->move_error = facts->n_failed ? (uint8_t)d->move_error : 0;
}

static void message_send(struct slu_client *c, struct slu_message *m)
{
	c->counts.n_messages_sent++;
	if (m->header.type == SLU_MSG_FACTS)
		facts_correct(c, &m->facts);
	if (c->torture)
		slu_torture_say(c->torture, m);
	else
		slu_connection_send(&c->connection, m);
}

/* Calls pass from now on: what they write is counted from here to the next rest. */
static void gate_begin(struct slu_client *c, unsigned index, bool is_early)
{
	struct slu_client_device *d = c->devices[index];

	if (!d)
		return;
	d->n_at_open = slu_gate_n_entries();
	d->n_vouched_at_open = slu_gate_n_vouched();
	/* some units are not there yet: one of them may stay clean */
	slu_gate_set_wants_writes(index, is_early || slu_client_unit_has_clean(c, d));
	d->is_early = is_early;
}

static void gate_start(struct slu_client *c, unsigned index)
{
	gate_begin(c, index, true);
	slu_client_log("device %u: calls pass early, %zu units are absent", index,
		       slu_peer_view_n_absent(c->peer, index));
}

static void gate_open(struct slu_client *c, unsigned index)
{
	struct slu_client_device *d = c->devices[index];

	if (d && !d->is_early)
		gate_begin(c, index, false);
	if (d) {
		d->is_early = false;
		d->look_ns = 0;
	}
	if (!c->torture)
		slu_gate_open(index);
	slu_client_log("device %u: open", index);
}

static void gate_shut(struct slu_client *c, uint64_t now_ns, unsigned index)
{
	struct slu_client_device *d = c->devices[index];

	slu_gate_shut(index);
	slu_client_log("device %u: shut", index);
	if (!d) {
		/* Removed: nothing can run there. */
		slu_peer_turn_drained(c->peer, now_ns, index, false);
		return;
	}
	d->is_closing = true;
	d->is_early = false;
	d->drain_ns = 0;
	d->drain_pause_ns = 0;
}

static void move_start(struct slu_client *c, const struct slu_peer_action *action)
{
	struct slu_client_unit *w = slu_client_unit_of(action->unit);
	bool is_out = w->unit.moving == SLU_MOVING_OUT;

	slu_client_unit_follow(c, w);
	slu_mover_push(&w->device->movers[is_out ? SLU_DIRECTION_OUT : SLU_DIRECTION_IN], w);
}

static void threads_wake(struct slu_client *c)
{
	c->n_wakes++;
	pthread_cond_broadcast(&c->changed);
}

/* Return: whether another step may have more to do. */
static bool actions_carry_out(struct slu_client *c, uint64_t now_ns)
{
	struct slu_peer_action action;
	struct slu_message m;
	bool is_again = false;

	while (slu_peer_take_action(c->peer, &action) > 0) {
		switch (action.kind) {
		case SLU_PEER_SEND:
			message_send(c, &action.message);
			break;
		case SLU_PEER_MOVE:
			move_start(c, &action);
			break;
		case SLU_PEER_SHIFT:
			slu_client_shift_start(c, slu_client_unit_of(action.unit));
			break;
		case SLU_PEER_START:
			gate_start(c, action.device);
			break;
		case SLU_PEER_OPEN:
			gate_open(c, action.device);
			threads_wake(c);
			break;
		case SLU_PEER_SHUT:
			gate_shut(c, now_ns, action.device);
			is_again |= !c->devices[action.device];
			break;
		case SLU_PEER_WAKE:
			threads_wake(c);
			break;
		case SLU_PEER_PAGE:
			is_again |= !slu_pager_order(c, action.device, action.page.bytes,
						     action.page.is_in);
			break;
		}
	}
	while (c->torture && slu_torture_take(c->torture, &m) > 0) {
		slu_client_hear(c, now_ns, &m);
		is_again = true;
	}
	return is_again;
}

static bool helper_is_needed(const struct slu_client *c)
{
	if (slu_peer_deadline_ns(c->peer) < c->helper_ns)
		return true;
	if (c->connection.is_broken || slu_connection_wants_write(&c->connection))
		return true;
	for (unsigned i = 0; i < c->n_places; i++) {
		const struct slu_client_device *d = c->devices[i];

		if (!d)
			continue;
		if ((d->is_closing && d->drain_ns < c->helper_ns) || d->look_ns < c->helper_ns)
			return true;
	}
	return false;
}

void slu_client_pump(struct slu_client *c, uint64_t now_ns)
{
	do
		slu_peer_step(c->peer, now_ns);
	while (actions_carry_out(c, now_ns));
	if (c->helper_ns && helper_is_needed(c))
		slu_client_poke(c);
}

/* -- the stages -----------------------------------------------------------------------------------
 */

void slu_client_run_alone(struct slu_client *c, uint64_t now_ns)
{
	c->is_alone = true;
	slu_peer_alone_run(c->peer, now_ns, true);
	slu_client_pump(c, now_ns);
	pthread_cond_broadcast(&c->changed);
}

void slu_client_lose(struct slu_client *c, uint64_t now_ns)
{
	slu_connection_drop(&c->connection, now_ns);
	slu_peer_connection_lost(c->peer, now_ns);
	if (c->stage == SLU_CLIENT_JOINED) {
		c->stage = SLU_CLIENT_LOST;
		c->lost_ns = now_ns;
		slu_client_log("lost the daemon, trying to reconnect");
	} else if (c->stage == SLU_CLIENT_LOOSE) {
		/* The program ran alone before it tried to join, and does so again. */
		slu_client_run_alone(c, now_ns);
		return;
	}
	slu_client_pump(c, now_ns);
}

/* The movers may have pinned chunks now. */
static void movers_wake(struct slu_client *c)
{
	for (unsigned i = 0; i < c->n_places; i++)
		for (unsigned k = 0; c->devices[i] && k < _SLU_DIRECTION_MAX; k++)
			pthread_cond_broadcast(&c->devices[i]->movers[k].wake);
}

/* Watches open gates again: without a daemon their progress was of no interest. */
static void devices_watch(struct slu_client *c)
{
	for (unsigned i = 0; i < c->n_places; i++)
		if (c->devices[i])
			c->devices[i]->look_ns = 0;
}

static void welcome_apply(struct slu_client *c, uint64_t now_ns)
{
	const struct slu_msg_welcome *w = slu_peer_connection_settings(c->peer);

	if (slu_peer_connection_is_joined(c->peer)) {
		slu_client_log("joined, generation %llu", (unsigned long long)w->generation);
		c->stage = SLU_CLIENT_JOINED;
		slu_connection_reset_pause(&c->connection);
		devices_watch(c);
	} else {
		slu_client_log("the daemon refused this program: %s (%s), running without it",
			       w->detail, strerror((int)w->status));
		slu_connection_stay(&c->connection);
		slu_peer_connection_lost(c->peer, now_ns);
		c->stage = SLU_CLIENT_LOOSE;
		slu_client_run_alone(c, now_ns);
	}
	pthread_cond_broadcast(&c->changed);
}

void slu_client_hear(struct slu_client *c, uint64_t now_ns, const struct slu_message *m)
{
	c->counts.n_messages_received++;
	if (m->header.type == SLU_MSG_CLOSE)
		slu_client_boundary_refresh(c, m->close.device);
	slu_peer_connection_receive(c->peer, now_ns, m);
	if (m->header.type == SLU_MSG_WELCOME)
		welcome_apply(c, now_ns);
	if (m->header.type == SLU_MSG_DISK)
		slu_disk_set_folder(&c->disk, m->disk.folder);
	if (m->header.type == SLU_MSG_PRESENT)
		c->present_bytes[m->present.device] = m->present.bytes;
	if (m->header.type == SLU_MSG_LIMIT && m->limit.account.tier == SLU_TIER_PINNED)
		movers_wake(c);
}

void slu_client_counts(struct slu_client_counts *ret_counts)
{
	SLU_CLIENT_KEEP_ERRNO();
	struct slu_client *c = &slu_client_global;

	slu_lock_take(&c->lock);
	*ret_counts = c->counts;
	ret_counts->n_reports_sent = c->peer ? slu_peer_reports_sent(c->peer) : 0;
	slu_lock_give(&c->lock);
}
