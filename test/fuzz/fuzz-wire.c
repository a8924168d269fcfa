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

#include "base/util.h"
#include "seed.h"
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
	case SLU_MSG_EXCESS:
		assert(m->excess.device < SLU_WIRE_DEVICES_MAX);
		break;
	case SLU_MSG_EXPORT:
		assert(m->export.device < SLU_WIRE_DEVICES_MAX);
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

/* Appends a packet with @m, stamped; what does not fit is left out. */
static size_t append(uint8_t *data, size_t used, size_t size, struct slu_message *m,
		     enum slu_message_type type)
{
	size_t length;

	slu_message_stamp(m, type);
	length = sizeof(m->header) + m->header.size;
	if (used + 2 + length > size)
		return used;
	data[used] = (uint8_t)length;
	data[used + 1] = (uint8_t)(length >> 8);
	memcpy(data + used + 2, m, length);
	return used + 2 + length;
}

static size_t append_hello(uint8_t *data, size_t used, size_t size, unsigned n_devices)
{
	struct slu_message m = { .hello = { .version = SLU_WIRE_VERSION, .n_devices = n_devices } };

	strcpy(m.hello.program, "seed");
	for (unsigned d = 0; d < n_devices; d++) {
		m.hello.devices[d].mode = (uint8_t)(d % _SLU_MODE_MAX);
		m.hello.devices[d].total_bytes = UINT64_C(1) << 30;
		m.hello.devices[d].held_bytes = UINT64_C(1) << 20;
	}
	return append(data, used, size, &m, SLU_MSG_HELLO);
}

/* Every message of the client's side, in the order of a life. */
static size_t append_life(uint8_t *data, size_t size)
{
	static const enum slu_message_type life[] = {
		SLU_MSG_WANT, SLU_MSG_SUMS, SLU_MSG_READY, SLU_MSG_FACTS,
		SLU_MSG_IDLE, SLU_MSG_REST, SLU_MSG_SUMS,  SLU_MSG_ASK,
	};
	size_t used = append_hello(data, 0, size, 1);

	for (size_t i = 0; i < SLU_ARRAY_SIZE(life); i++) {
		struct slu_message m = {};

		used = append(data, used, size, &m, life[i]);
	}
	return used;
}

static size_t append_other_side(uint8_t *data, size_t size)
{
	size_t used = 0;

	for (unsigned type = SLU_MSG_NONE + 1; type < _SLU_MSG_MAX; type++) {
		struct slu_message m = {};

		used = append(data, used, size, &m, (enum slu_message_type)type);
	}
	return used;
}

size_t slu_fuzz_seed(unsigned number, uint8_t *ret_data, size_t size)
{
	switch (number) {
	case 0:
		return append_life(ret_data, size);
	case 1:
		return append_hello(ret_data, 0, size, SLU_WIRE_DEVICES_MAX);
	case 2:
		return append_other_side(ret_data, size);
	default:
		return 0;
	}
}
