/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How threads of the program wait in our calls, and the wait for the daemon's first answer.
 */

#include "client/wait.h"

#include "client/instance.h"
#include "client/log.h"

/* Without a listener; and with one that may only be busy. */
#define FIRST_WAIT_NS (2 * SLU_NS_PER_S)
#define SLOW_WAIT_NS  (30 * SLU_NS_PER_S)

void slu_client_wait(struct slu_client *c, uint64_t until_ns)
{
	struct timespec until = slu_clock_timespec(until_ns);

	c->n_waiting++;
	slu_lock_wait(&c->lock, &c->changed, until_ns == SLU_PEER_NEVER ? NULL : &until);
	c->n_waiting--;
}

static uint64_t join_patience_ns(const struct slu_client *c)
{
	return c->first_gate_ns + (c->connection.channel ? SLOW_WAIT_NS : FIRST_WAIT_NS);
}

void slu_client_wait_joined(struct slu_client *c)
{
	uint64_t now_ns;

	if (c->stage != SLU_CLIENT_JOINING)
		return;
	now_ns = slu_clock_now_ns();
	if (!c->first_gate_ns)
		c->first_gate_ns = now_ns;
	while (c->stage == SLU_CLIENT_JOINING && now_ns < join_patience_ns(c)) {
		slu_client_wait(c, join_patience_ns(c));
		now_ns = slu_clock_now_ns();
	}
	if (c->stage != SLU_CLIENT_JOINING)
		return;
	slu_client_log("no answer from the daemon, running without it");
	c->stage = SLU_CLIENT_LOOSE;
	/* The HELLO under way lacks the new allocation: the next one has it. */
	if (c->connection.channel)
		slu_client_lose(c, now_ns);
	else
		slu_client_run_alone(c, now_ns);
}
