/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/util.h"
#include "wire/message.h"

static const struct {
	const char *name;
	enum slu_message_side side;
	unsigned size;
} kinds[_SLU_MSG_MAX] = {
#define SLU_MESSAGE(name, from, payload, meaning) \
	[SLU_MSG_##name] = { #name, SLU_MESSAGE_FROM_##from, sizeof(payload) },
#include "wire/messages.def"
#undef SLU_MESSAGE
};

static const char *const mode_names[_SLU_MODE_MAX] = {
	[SLU_MODE_ALL] = "all",
	[SLU_MODE_MAPPED] = "mapped",
	[SLU_MODE_LAUNCH] = "launch",
};

static const char *const frozen_names[_SLU_FROZEN_MAX] = {
	[SLU_FROZEN_NO] = "movable",
	[SLU_FROZEN_IMAGE] = "image",
	[SLU_FROZEN_SVM] = "shared virtual memory",
	[SLU_FROZEN_HOST_PTR] = "host pointer",
	[SLU_FROZEN_MAPPED] = "mapped by the program",
	[SLU_FROZEN_EXPORTED] = "exported",
	[SLU_FROZEN_GRAPH] = "graph",
	[SLU_FROZEN_MODULE] = "module",
	[SLU_FROZEN_MANAGED] = "paged by the driver",
	[SLU_FROZEN_POOL] = "pool",
	[SLU_FROZEN_NO_BACKING] = "no backing in host memory",
	[SLU_FROZEN_OTHER] = "other",
	[SLU_FROZEN_BYPASS] = "passes by the gate",
};

const char *slu_message_name(unsigned type)
{
	return type > SLU_MSG_NONE && type < _SLU_MSG_MAX ? kinds[type].name : "?";
}

unsigned slu_message_size(unsigned type)
{
	return type > SLU_MSG_NONE && type < _SLU_MSG_MAX ? kinds[type].size : 0;
}

const char *slu_mode_name(unsigned mode)
{
	return mode < _SLU_MODE_MAX ? mode_names[mode] : "?";
}

const char *slu_frozen_name(unsigned frozen)
{
	return frozen < _SLU_FROZEN_MAX ? frozen_names[frozen] : "?";
}

void slu_message_stamp(struct slu_message *m, enum slu_message_type type)
{
	m->header = (struct slu_message_header){
		.type = (uint16_t)type,
		.size = (uint16_t)slu_message_size(type),
	};
}

static bool account_is_valid(struct slu_account a)
{
	if (a.tier >= _SLU_TIER_MAX)
		return false;
	return a.tier == SLU_TIER_DEVICE ? a.device < SLU_WIRE_DEVICES_MAX : a.device == 0;
}

static bool text_ends(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

static const char *hello_fault(const struct slu_msg_hello *hello)
{
	if (hello->n_devices > SLU_WIRE_DEVICES_MAX)
		return "more devices than a client may have";
	if (!text_ends(hello->program, sizeof(hello->program)))
		return "a name without an end";
	for (unsigned d = 0; d < hello->n_devices; d++) {
		const struct slu_hello_device *dev = &hello->devices[d];

		if (!text_ends(dev->pci, sizeof(dev->pci)) ||
		    !text_ends(dev->name, sizeof(dev->name)))
			return "a name without an end";
		if (dev->mode >= _SLU_MODE_MAX)
			return "an unknown residency mode";
		if (dev->floor_bytes > dev->held_bytes)
			return "a floor above the held bytes";
		if (dev->working_bytes > dev->all_bytes)
			return "a working set above all bytes";
	}
	return NULL;
}

static const char *payload_fault(const struct slu_message *m)
{
	switch (m->header.type) {
	case SLU_MSG_HELLO:
		return hello_fault(&m->hello);
	case SLU_MSG_WELCOME:
		return text_ends(m->welcome.detail, sizeof(m->welcome.detail))
			       ? NULL
			       : "a text without an end";
	case SLU_MSG_LIMIT:
		if (m->limit.pace >= _SLU_PACE_MAX)
			return "an unknown pace";
		return account_is_valid(m->limit.account) ? NULL : "an unknown account";
	case SLU_MSG_DENY:
		return account_is_valid(m->deny.account) ? NULL : "an unknown account";
	case SLU_MSG_SUMS:
		if (!account_is_valid(m->sums.account))
			return "an unknown account";
		if (m->sums.ceiling_bytes < m->sums.held_bytes)
			return "a ceiling below the held bytes";
		return m->sums.floor_bytes > m->sums.held_bytes ? "a floor above the held bytes"
								: NULL;
	case SLU_MSG_WANT:
		if (m->want.account.tier != SLU_TIER_DEVICE &&
		    m->want.account.tier != SLU_TIER_PAGEABLE)
			return "WANT for pinned memory or disk";
		if (m->want.working_bytes > m->want.all_bytes)
			return "a working set above all bytes";
		return account_is_valid(m->want.account) ? NULL : "an unknown account";
	case SLU_MSG_DISK:
		if (!text_ends(m->disk.folder, sizeof(m->disk.folder)))
			return "a text without an end";
		return m->disk.folder[0] && m->disk.folder[0] != '/' ? "a folder without a root"
								     : NULL;
	case SLU_MSG_TURN:
	case SLU_MSG_READY:
	case SLU_MSG_IDLE:
		return m->turn.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	case SLU_MSG_CLOSE:
		return m->close.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	case SLU_MSG_REST:
		return m->rest.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	case SLU_MSG_FACTS:
		if (m->facts.mode >= _SLU_MODE_MAX)
			return "an unknown residency mode";
		return m->facts.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	case SLU_MSG_EXCESS:
		return m->excess.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	case SLU_MSG_EXPORT:
		return m->export.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	case SLU_MSG_ASK:
		return m->ask.size <= sizeof(m->ask.text) ? NULL : "a request beyond its packet";
	case SLU_MSG_PRESENT:
		return m->present.device < SLU_WIRE_DEVICES_MAX ? NULL : "an unknown device";
	default:
		return NULL;
	}
}

/* HELLO has grown; the channel clears the fields that a short one lacks. */
static bool size_is_right(unsigned type, unsigned size)
{
	return size == kinds[type].size || (type == SLU_MSG_HELLO && size == SLU_HELLO_SIZE_1);
}

const char *slu_message_fault(const struct slu_message *m, size_t size, enum slu_message_side side)
{
	unsigned type;

	if (size < sizeof(m->header))
		return "shorter than a header";
	type = m->header.type;
	if (type == SLU_MSG_NONE || type >= _SLU_MSG_MAX)
		return "an unknown message";
	if (kinds[type].side != side)
		return "a message that only the other side sends";
	if (size != sizeof(m->header) + m->header.size || !size_is_right(type, m->header.size))
		return "a wrong size for its type";
	return payload_fault(m);
}

static bool account_equal(struct slu_account a, struct slu_account b)
{
	return a.tier == b.tier && a.device == b.device;
}

bool slu_message_supersede(struct slu_message *newer, const struct slu_message *older)
{
	if (newer->header.type != older->header.type)
		return false;
	switch (newer->header.type) {
	case SLU_MSG_SUMS:
		if (!account_equal(newer->sums.account, older->sums.account))
			return false;
		if (!newer->sums.refused_bytes && newer->sums.seq == older->sums.seq)
			newer->sums.refused_bytes = older->sums.refused_bytes;
		return true;
	case SLU_MSG_WANT:
		return account_equal(newer->want.account, older->want.account);
	case SLU_MSG_IDLE:
		return newer->turn.device == older->turn.device;
	case SLU_MSG_FACTS:
		return newer->facts.device == older->facts.device;
	case SLU_MSG_EXCESS:
		return newer->excess.device == older->excess.device;
	case SLU_MSG_EXPORT:
		return newer->export.device == older->export.device;
	case SLU_MSG_PRESENT:
		return newer->present.device == older->present.device;
	default:
		return false;
	}
}
