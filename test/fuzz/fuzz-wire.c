/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer may send: the input is cut into packets (two bytes of length, then the packet), each
 * goes through a real socket into a channel. What the channel lets through must be a whole message
 * of the client's side, with numbers that index the tables behind it.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct slu_message *m)
{
	assert(m->header.type > SLU_MSG_NONE && m->header.type < _SLU_MSG_MAX);
	assert(m->header.size == slu_message_size(m->header.type));
	switch (m->header.type) {
	case SLU_MSG_HELLO:
		assert(m->hello.n_devices <= SLU_WIRE_DEVICES_MAX);
		assert(memchr(m->hello.program, '\0', sizeof(m->hello.program)));
		for (unsigned d = 0; d < m->hello.n_devices; d++)
			assert(m->hello.devices[d].mode < _SLU_MODE_MAX);
		break;
	case SLU_MSG_SUMS:
		assert(m->sums.account.tier < _SLU_TIER_MAX);
		assert(m->sums.account.device < SLU_WIRE_DEVICES_MAX);
		assert(m->sums.floor_bytes <= m->sums.held_bytes);
		break;
	case SLU_MSG_WANT:
		assert(m->want.account.device < SLU_WIRE_DEVICES_MAX);
		break;
	case SLU_MSG_READY:
	case SLU_MSG_IDLE:
		assert(m->turn.device < SLU_WIRE_DEVICES_MAX);
		break;
	case SLU_MSG_REST:
		assert(m->rest.device < SLU_WIRE_DEVICES_MAX);
		break;
	case SLU_MSG_FACTS:
		assert(m->facts.device < SLU_WIRE_DEVICES_MAX);
		break;
	case SLU_MSG_ASK:
		break;
	default:
		assert(!"a message of the daemon's side");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slu_channel *channel;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return 0;
	if (slu_channel_new(fds[0], SLU_MESSAGE_FROM_CLIENT, &channel) < 0)
		return 0;
	while (size >= 2) {
		size_t length = data[0] | (size_t)data[1] << 8;
		struct slu_message m;
		const char *fault = NULL;
		int r;

		data += 2;
		size -= 2;
		length = length < size ? length : size;
		if (!length || send(fds[1], data, length, MSG_NOSIGNAL) < 0)
			break;
		data += length;
		size -= length;
		r = slu_channel_receive(channel, &m, NULL, &fault);
		assert(r == 0 || (r == SLU_CHANNEL_E_BAD && fault));
		if (!r)
			check(&m);
	}
	slu_channel_free(channel);
	close(fds[1]);
	return 0;
}
