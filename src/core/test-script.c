/* SPDX-License-Identifier: Apache-2.0 */
#include "core/test-script.h"

#include "base/util.h"

void script_config(struct slu_core_config *ret_config)
{
	slu_core_config_default(ret_config);
	ret_config->policy = "rr";
	ret_config->slice_ns = MS(100);
	ret_config->slice_min_switches = 0;
	ret_config->close_deadline_ns = MS(1000);
	ret_config->limit_deadline_ns = MS(1000);
	ret_config->fill_deadline_ns = MS(1000);
	ret_config->rise_period_ns = MS(200);
	ret_config->patience_ns = MS(5000);
	ret_config->grace_ns = MS(300);
	ret_config->need_window_ns = MS(50);
	ret_config->round_trip_ns = MS(10);
	ret_config->idle_ns = 0;
	ret_config->pinned_bytes = 0;
	ret_config->backing_bytes = MIB(1024);
	ret_config->staging_bytes = 0;
}

void script_begin_reserving(struct script *s, const struct slu_core_config *config,
			    uint64_t device_mib, uint64_t reserve_mib)
{
	struct slu_core_config own;

	memset(s, 0, sizeof(*s));
	s->now_ns = MS(1000);
	if (!config) {
		script_config(&own);
		config = &own;
	}
	assert_int_equal(slu_core_new(config, s->now_ns, &s->core), 0);
	assert_int_equal(
		slu_core_device_add(s->core, s->now_ns, "GPU 0", MIB(device_mib), MIB(reserve_mib)),
		0);
}

void script_begin(struct script *s, const struct slu_core_config *config, uint64_t device_mib)
{
	script_begin_reserving(s, config, device_mib, 0);
}

void script_end(struct script *s)
{
	slu_core_free(s->core);
	s->core = NULL;
}

static size_t slot(struct slu_account account)
{
	return account.tier == SLU_TIER_DEVICE ? account.device
					       : SLU_WIRE_DEVICES_MAX + account.tier - 1u;
}

static void listen(struct script *s, const struct slu_core_action *a)
{
	assert_true(a->client < SCRIPT_CLIENTS);
	assert_true(a->reason[0] != '\0');
	if (a->kind == SLU_CORE_ROSTER_PUT) {
		s->roster[a->client] = a->line;
		s->in_roster[a->client] = true;
	} else if (a->kind == SLU_CORE_ROSTER_DROP) {
		s->in_roster[a->client] = false;
	} else if (a->kind == SLU_CORE_SEND) {
		const struct slu_message *m = &a->message;

		assert_null(slu_message_fault(m, sizeof(m->header) + m->header.size,
					      SLU_MESSAGE_FROM_DAEMON));
		if (m->header.type == SLU_MSG_LIMIT) {
			unsigned device = m->limit.account.device;

			s->limits[a->client][slot(m->limit.account)] = *m;
			/* a raise is in the roster before it is sent (rule 32) */
			assert_true(s->in_roster[a->client]);
			if (m->limit.account.tier == SLU_TIER_DEVICE)
				assert_true(s->roster[a->client].device_bytes[device] >=
					    m->limit.limit_bytes);
		} else if (m->header.type == SLU_MSG_TURN) {
			s->epochs[a->client][m->turn.device] = m->turn.epoch;
		}
	}
}

void script_step(struct script *s)
{
	struct slu_core_action action;

	slu_core_step(s->core, s->now_ns);
	while (slu_core_take_action(s->core, &action) > 0) {
		listen(s, &action);
		assert_true(s->n_said < SCRIPT_SAID);
		s->said[s->n_said++] = action;
	}
	slu_core_check(s->core);
}

void script_pass(struct script *s, uint64_t ms)
{
	uint64_t end = s->now_ns + MS(ms);
	unsigned n_at_once = 0;

	for (;;) {
		uint64_t due = slu_core_deadline_ns(s->core);

		if (due > end)
			break;
		/* a deadline that has passed must not be requested again and again */
		n_at_once = due > s->now_ns ? 0 : n_at_once + 1;
		assert_true(n_at_once < 8);
		s->now_ns = SLU_MAX(s->now_ns, due);
		script_step(s);
	}
	s->now_ns = end;
	script_step(s);
}

void script_forget(struct script *s)
{
	s->n_said = 0;
}

struct slu_msg_hello script_hello(enum slu_mode mode, unsigned n_devices)
{
	struct slu_msg_hello hello = { .version = SLU_WIRE_VERSION, .n_devices = n_devices };

	for (unsigned d = 0; d < n_devices; d++)
		hello.devices[d].mode = (uint8_t)mode;
	return hello;
}

void script_join(struct script *s, uint64_t client, uint64_t group,
		 const struct slu_msg_hello *hello)
{
	static const char *const names[] = { "zero", "one", "two", "three", "four", "five" };
	struct slu_core_join join = {
		.client = client,
		.user = s->user,
		.group = group,
		.name = s->name				 ? s->name
			: client < SLU_ARRAY_SIZE(names) ? names[client]
							 : "many",
		.hello = hello,
		.priority = s->priority,
		.expect_ns = s->expect_ns,
		.maps_if_larger = s->maps_if_larger,
	};

	for (unsigned d = 0; d < hello->n_devices; d++) {
		join.devices[d] = d;
		s->held[client][d] = hello->devices[d].held_bytes;
		s->epochs[client][d] = hello->devices[d].epoch;
	}
	memset(s->limits[client], 0, sizeof(s->limits[client]));
	assert_int_equal(slu_core_hello(s->core, s->now_ns, &join), 0);
	script_step(s);
}

void script_join_plain(struct script *s, uint64_t client, enum slu_mode mode)
{
	struct slu_msg_hello hello = script_hello(mode, 1);

	script_join(s, client, client, &hello);
}

static void tell(struct script *s, uint64_t client, struct slu_message *m,
		 enum slu_message_type type)
{
	slu_message_stamp(m, type);
	assert_null(
		slu_message_fault(m, sizeof(m->header) + m->header.size, SLU_MESSAGE_FROM_CLIENT));
	assert_int_equal(slu_core_message(s->core, s->now_ns, client, m), 0);
	script_step(s);
}

void script_want(struct script *s, uint64_t client, unsigned device, uint64_t all_mib,
		 bool is_runnable)
{
	struct slu_message m = { .want = {
					 .account = { SLU_TIER_DEVICE, (uint8_t)device },
					 .is_runnable = is_runnable,
					 .min_bytes = MIB(all_mib),
					 .all_bytes = MIB(all_mib),
					 .largest_bytes = MIB(1),
				 } };

	tell(s, client, &m, SLU_MSG_WANT);
}

void script_want_min(struct script *s, uint64_t client, uint64_t min_mib, uint64_t all_mib)
{
	script_want_working(s, client, min_mib, 0, all_mib);
}

void script_want_working(struct script *s, uint64_t client, uint64_t min_mib, uint64_t working_mib,
			 uint64_t all_mib)
{
	struct slu_message m = { .want = {
					 .account = { SLU_TIER_DEVICE, 0 },
					 .is_runnable = true,
					 .min_bytes = MIB(min_mib),
					 .all_bytes = MIB(all_mib),
					 .working_bytes = MIB(working_mib),
					 .largest_bytes = MIB(1),
				 } };

	tell(s, client, &m, SLU_MSG_WANT);
}

void script_sums_full(struct script *s, uint64_t client, struct slu_msg_sums sums)
{
	struct slu_message m = { .sums = sums };

	if (sums.account.tier == SLU_TIER_DEVICE)
		s->held[client][sums.account.device] = sums.held_bytes;
	tell(s, client, &m, SLU_MSG_SUMS);
}

void script_sums(struct script *s, uint64_t client, unsigned device, uint64_t held_mib)
{
	const struct slu_msg_limit *limit = &s->limits[client][device].limit;

	script_sums_full(s, client,
			 (struct slu_msg_sums){
				 .account = { SLU_TIER_DEVICE, (uint8_t)device },
				 .seq = limit->seq,
				 .ceiling_bytes = SLU_MAX(limit->limit_bytes, MIB(held_mib)),
				 .held_bytes = MIB(held_mib),
			 });
}

static void turn(struct script *s, uint64_t client, unsigned device, enum slu_message_type type)
{
	struct slu_message m = { .turn = { .device = (uint8_t)device,
					   .epoch = s->epochs[client][device] } };

	tell(s, client, &m, type);
}

void script_refuse(struct script *s, uint64_t client, uint64_t held_mib, uint64_t asked_mib)
{
	script_sums_full(s, client,
			 (struct slu_msg_sums){ .account = { SLU_TIER_DEVICE, 0 },
						.seq = s->limits[client][0].limit.seq,
						.ceiling_bytes = MIB(held_mib),
						.held_bytes = MIB(held_mib),
						.refused_bytes = MIB(asked_mib) });
}

void script_freeze(struct script *s, uint64_t client, uint64_t frozen_mib)
{
	struct slu_message m = { .facts = { .frozen_bytes[SLU_FROZEN_POOL] = MIB(frozen_mib) } };

	tell(s, client, &m, SLU_MSG_FACTS);
}

void script_ready(struct script *s, uint64_t client, unsigned device)
{
	turn(s, client, device, SLU_MSG_READY);
}

void script_idle(struct script *s, uint64_t client, unsigned device)
{
	turn(s, client, device, SLU_MSG_IDLE);
}

void script_rest(struct script *s, uint64_t client, unsigned device, bool is_runnable,
		 uint64_t floor_mib)
{
	struct slu_message m = { .rest = { .device = (uint8_t)device,
					   .is_runnable = is_runnable,
					   .epoch = s->epochs[client][device],
					   .floor_bytes = MIB(floor_mib) } };

	tell(s, client, &m, SLU_MSG_REST);
}

static bool is_pending(const struct script *s, uint64_t client)
{
	return script_account(s, client, 0).is_pending;
}

void script_obey(struct script *s, uint64_t client, uint64_t all_mib, bool is_runnable)
{
	for (unsigned i = 0; i < 64 && is_pending(s, client); i++) {
		uint64_t limit = script_limit(s, client, 0);

		script_sums(s, client, 0, SLU_MIN(limit, all_mib));
	}
	assert_false(is_pending(s, client));
	if (script_state_of(s, client) == SLU_CORE_FILLING && s->held[client][0] >= MIB(all_mib))
		script_ready(s, client, 0);
	if (script_state_of(s, client) == SLU_CORE_DRAINING)
		script_rest(s, client, 0, is_runnable, 0);
}

const struct slu_core_action *script_find(const struct script *s, uint64_t client,
					  enum slu_message_type type)
{
	for (size_t i = s->n_said; i-- > 0;)
		if (s->said[i].kind == SLU_CORE_SEND && s->said[i].client == client &&
		    s->said[i].message.header.type == type)
			return &s->said[i];
	return NULL;
}

unsigned script_count(const struct script *s, uint64_t client, enum slu_message_type type)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->n_said; i++)
		n += s->said[i].kind == SLU_CORE_SEND && s->said[i].client == client &&
		     s->said[i].message.header.type == type;
	return n;
}

const struct slu_msg_limit *script_last_limit(const struct script *s, uint64_t client)
{
	const struct slu_core_action *a = script_find(s, client, SLU_MSG_LIMIT);

	return a ? &a->message.limit : NULL;
}

uint64_t script_limit(const struct script *s, uint64_t client, unsigned device)
{
	return s->limits[client][device].limit.limit_bytes >> 20;
}

struct slu_core_group_view script_group(const struct script *s, uint64_t group)
{
	struct slu_core_group_view view;
	size_t cursor = 0;

	while (slu_core_view_group(s->core, &cursor, &view))
		if (view.group == group)
			return view;
	fail_msg("no group %llu", (unsigned long long)group);
	return view;
}

enum slu_core_state script_state(const struct script *s, uint64_t group)
{
	return script_group(s, group).state;
}

static struct slu_core_client_view client_view(const struct script *s, uint64_t client)
{
	struct slu_core_client_view view;
	size_t cursor = 0;

	while (slu_core_view_client(s->core, &cursor, &view))
		if (view.client == client)
			return view;
	fail_msg("no client %llu", (unsigned long long)client);
	return view;
}

uint64_t script_group_of(const struct script *s, uint64_t client)
{
	return client_view(s, client).group;
}

enum slu_core_state script_state_of(const struct script *s, uint64_t client)
{
	return script_state(s, script_group_of(s, client));
}

struct slu_core_account_view script_account(const struct script *s, uint64_t client,
					    unsigned device)
{
	return client_view(s, client).device_accounts[device];
}

uint64_t script_estimate(const struct script *s, unsigned device)
{
	struct slu_core_device_view view;

	slu_core_view_device(s->core, device, &view);
	return view.estimate_bytes >> 20;
}
