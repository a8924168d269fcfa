/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "client/connection.h"
#include "client/log.h"
#include "wire/channel.h"

#define PAUSE_MIN_NS (10 * SLU_NS_PER_MS)
#define PAUSE_MAX_NS SLU_NS_PER_S
#define NEVER_NS     UINT64_MAX

int slu_connection_init(struct slu_connection *c, const char *path)
{
	*c = (struct slu_connection){ .pause_ns = PAUSE_MIN_NS, .next_ns = NEVER_NS };
	if (!path || !*path)
		return 0;
	c->path = strdup(path);
	if (!c->path)
		return slu_error(-ENOMEM);
	c->next_ns = 0;
	return 0;
}

static void connection_go_down(struct slu_connection *c)
{
	slu_channel_free(c->channel);
	c->channel = NULL;
	c->is_broken = false;
}

void slu_connection_deinit(struct slu_connection *c)
{
	connection_go_down(c);
	free(c->path);
	c->path = NULL;
}

static void connection_pause_from(struct slu_connection *c, uint64_t now_ns)
{
	c->next_ns = now_ns + c->pause_ns;
	c->pause_ns = SLU_MIN(c->pause_ns * 2, PAUSE_MAX_NS);
}

int slu_connection_try(struct slu_connection *c, uint64_t now_ns)
{
	int fd;

	if (!c->path || c->channel || now_ns < c->next_ns)
		return SLU_CONNECTION_E_NOTHING;
	fd = slu_channel_connect(c->path);
	if (fd < 0 || slu_channel_new(fd, SLU_MESSAGE_FROM_DAEMON, &c->channel) < 0) {
		slu_closep(&fd);
		connection_pause_from(c, now_ns);
		return SLU_CONNECTION_E_NOTHING;
	}
	return 0;
}

void slu_connection_reset_pause(struct slu_connection *c)
{
	c->pause_ns = PAUSE_MIN_NS;
}

void slu_connection_drop(struct slu_connection *c, uint64_t now_ns)
{
	connection_go_down(c);
	if (c->is_last)
		c->next_ns = NEVER_NS;
	else
		connection_pause_from(c, now_ns);
}

void slu_connection_stay(struct slu_connection *c)
{
	c->is_last = true;
}

void slu_connection_give_up(struct slu_connection *c)
{
	connection_go_down(c);
	c->next_ns = NEVER_NS;
}

void slu_connection_hurry(struct slu_connection *c)
{
	c->next_ns = 0;
	c->pause_ns = PAUSE_MIN_NS;
}

static void connection_break(struct slu_connection *c, const char *why)
{
	if (!c->is_broken)
		slu_client_log("the connection ended: %s", why);
	c->is_broken = true;
}

void slu_connection_send(struct slu_connection *c, const struct slu_message *m)
{
	int r;

	if (!c->channel || c->is_broken)
		return;
	r = slu_channel_send(c->channel, m, -1);
	if (r)
		connection_break(c, r == SLU_CHANNEL_E_FULL ? "the daemon does not read"
							    : "it is closed");
}

void slu_connection_flush(struct slu_connection *c)
{
	int r;

	if (!c->channel || c->is_broken)
		return;
	r = slu_channel_flush(c->channel);
	if (r && r != SLU_CHANNEL_E_AGAIN)
		connection_break(c, "it is closed");
}

int slu_connection_receive(struct slu_connection *c, struct slu_message *ret_message)
{
	const char *fault = "it is closed";
	int r;

	/* Also after a failed send: messages that the daemon sent before still count. */
	if (!c->channel)
		return SLU_CONNECTION_E_NOTHING;
	r = slu_channel_receive(c->channel, ret_message, NULL, &fault);
	if (r == 0)
		return 0;
	if (r != SLU_CHANNEL_E_AGAIN)
		connection_break(c, r == SLU_CHANNEL_E_BAD ? fault : "it is closed");
	return SLU_CONNECTION_E_NOTHING;
}

int slu_connection_fd(const struct slu_connection *c)
{
	return c->channel && !c->is_broken ? slu_channel_fd(c->channel) : -1;
}

bool slu_connection_wants_write(const struct slu_connection *c)
{
	return c->channel && !c->is_broken && slu_channel_wants_write(c->channel);
}
