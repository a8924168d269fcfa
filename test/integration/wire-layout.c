/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire-layout: where each field of the wire's messages lies, as the compiler has it, a line each:
 * struct, field, offset, size; "-" is the struct itself. Raw clients in Python read it, so that
 * they need no second description of message.h.
 */
#include <stdio.h>

#include "wire/message.h"

#define WHOLE(name, type) printf("%s - 0 %zu\n", #name, sizeof(struct type))
#define FIELD(name, type, field)                                               \
	printf("%s %s %zu %zu\n", #name, #field, offsetof(struct type, field), \
	       sizeof(((struct type *)0)->field))

static void print_joining(void)
{
	WHOLE(hello, slu_msg_hello);
	FIELD(hello, slu_msg_hello, version);
	FIELD(hello, slu_msg_hello, n_devices);
	FIELD(hello, slu_msg_hello, group);
	FIELD(hello, slu_msg_hello, program);
	FIELD(hello, slu_msg_hello, pinned_held_bytes);
	FIELD(hello, slu_msg_hello, pageable_held_bytes);
	FIELD(hello, slu_msg_hello, devices);

	WHOLE(hello_device, slu_hello_device);
	FIELD(hello_device, slu_hello_device, uuid);
	FIELD(hello_device, slu_hello_device, pci);
	FIELD(hello_device, slu_hello_device, name);
	FIELD(hello_device, slu_hello_device, total_bytes);
	FIELD(hello_device, slu_hello_device, epoch.generation);
	FIELD(hello_device, slu_hello_device, epoch.counter);
	FIELD(hello_device, slu_hello_device, held_bytes);
	FIELD(hello_device, slu_hello_device, floor_bytes);
	FIELD(hello_device, slu_hello_device, min_bytes);
	FIELD(hello_device, slu_hello_device, all_bytes);
	FIELD(hello_device, slu_hello_device, largest_bytes);
	FIELD(hello_device, slu_hello_device, mode);
	FIELD(hello_device, slu_hello_device, gate_is_open);
	FIELD(hello_device, slu_hello_device, is_runnable);

	WHOLE(welcome, slu_msg_welcome);
	FIELD(welcome, slu_msg_welcome, version);
	FIELD(welcome, slu_msg_welcome, status);
	FIELD(welcome, slu_msg_welcome, generation);
	FIELD(welcome, slu_msg_welcome, visible_bytes);
	FIELD(welcome, slu_msg_welcome, chunk_bytes);
	FIELD(welcome, slu_msg_welcome, loss_grace_ns);
	FIELD(welcome, slu_msg_welcome, run_without_daemon);
	FIELD(welcome, slu_msg_welcome, checksum_moves);
	FIELD(welcome, slu_msg_welcome, allow_mapped);
	FIELD(welcome, slu_msg_welcome, detail);
	FIELD(welcome, slu_msg_welcome, beyond_bytes);
}

static void print_daemons(void)
{
	WHOLE(limit, slu_msg_limit);
	FIELD(limit, slu_msg_limit, account.tier);
	FIELD(limit, slu_msg_limit, account.device);
	FIELD(limit, slu_msg_limit, pace);
	FIELD(limit, slu_msg_limit, seq);
	FIELD(limit, slu_msg_limit, limit_bytes);
	FIELD(limit, slu_msg_limit, goal_bytes);

	WHOLE(turn, slu_msg_turn);
	FIELD(turn, slu_msg_turn, device);
	FIELD(turn, slu_msg_turn, epoch.generation);
	FIELD(turn, slu_msg_turn, epoch.counter);

	WHOLE(close, slu_msg_close);
	FIELD(close, slu_msg_close, device);
	FIELD(close, slu_msg_close, epoch.generation);
	FIELD(close, slu_msg_close, epoch.counter);
	FIELD(close, slu_msg_close, deadline_ns);

	WHOLE(deny, slu_msg_deny);
	FIELD(deny, slu_msg_deny, account.tier);
	FIELD(deny, slu_msg_deny, account.device);
	FIELD(deny, slu_msg_deny, bytes);

	WHOLE(answer, slu_msg_answer);
	FIELD(answer, slu_msg_answer, size);
	FIELD(answer, slu_msg_answer, status);
}

static void print_clients(void)
{
	WHOLE(sums, slu_msg_sums);
	FIELD(sums, slu_msg_sums, account.tier);
	FIELD(sums, slu_msg_sums, account.device);
	FIELD(sums, slu_msg_sums, is_final);
	FIELD(sums, slu_msg_sums, seq);
	FIELD(sums, slu_msg_sums, ceiling_bytes);
	FIELD(sums, slu_msg_sums, held_bytes);
	FIELD(sums, slu_msg_sums, floor_bytes);
	FIELD(sums, slu_msg_sums, refused_bytes);

	WHOLE(want, slu_msg_want);
	FIELD(want, slu_msg_want, account.tier);
	FIELD(want, slu_msg_want, account.device);
	FIELD(want, slu_msg_want, is_runnable);
	FIELD(want, slu_msg_want, min_bytes);
	FIELD(want, slu_msg_want, all_bytes);
	FIELD(want, slu_msg_want, largest_bytes);

	WHOLE(rest, slu_msg_rest);
	FIELD(rest, slu_msg_rest, device);
	FIELD(rest, slu_msg_rest, is_runnable);
	FIELD(rest, slu_msg_rest, epoch.generation);
	FIELD(rest, slu_msg_rest, epoch.counter);
	FIELD(rest, slu_msg_rest, floor_bytes);

	WHOLE(facts, slu_msg_facts);
	FIELD(facts, slu_msg_facts, device);
	FIELD(facts, slu_msg_facts, mode);
	FIELD(facts, slu_msg_facts, device_bytes);
	FIELD(facts, slu_msg_facts, mapped_bytes);
	FIELD(facts, slu_msg_facts, ram_bytes);
	FIELD(facts, slu_msg_facts, disk_bytes);
	FIELD(facts, slu_msg_facts, moved_in_bytes);
	FIELD(facts, slu_msg_facts, moved_out_bytes);
	FIELD(facts, slu_msg_facts, n_launches);

	WHOLE(ask, slu_msg_ask);
	FIELD(ask, slu_msg_ask, size);
	FIELD(ask, slu_msg_ask, text);
}

int main(void)
{
	print_joining();
	print_daemons();
	print_clients();
	return 0;
}
