/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages between daemon and client, as plain structs: one message a packet, a header in
 * front, native byte order, since both ends are on one machine. Pure data: core/ and peer/ use this
 * header, and neither of them can send anything.
 *
 * Bytes are absolute, never differences. An account is one client's share of one tier.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLU_WIRE_VERSION     2
#define SLU_WIRE_DEVICES_MAX 8
#define SLU_WIRE_NAME_MAX    64
#define SLU_WIRE_DETAIL_MAX  184       /* of the words in WELCOME */
#define SLU_WIRE_IDLE_NS     100000000 /* without device progress: IDLE */
#define SLU_WIRE_PACKET_MAX  4096      /* every message fits; longer packets are refused */

/*
 * The name of a client's helper thread; the second one while it runs without the daemon. Other
 * programs recognize a process that uses Sluice by it, and the daemon a process that is still the
 * program that joined.
 */
#define SLU_WIRE_HELPER	      "sluice-helper"
#define SLU_WIRE_HELPER_ALONE "sluice-alone"

enum slu_tier {
	SLU_TIER_DEVICE,   /* the memory of one device */
	SLU_TIER_PINNED,   /* pinned host memory: staging, the MAPPED place, host copies */
	SLU_TIER_PAGEABLE, /* pageable host memory that backs units … */
	SLU_TIER_DISK,	   /* … or a file, when pageable memory is full; since version 2 */
	_SLU_TIER_MAX,
};

/* Residency: what must be on the device while a program has its turn. */
enum slu_mode {
	SLU_MODE_ALL,	 /* every unit */
	SLU_MODE_MAPPED, /* what fits; the rest is pinned host memory at the same address */
	SLU_MODE_LAUNCH, /* each command's own units, before it is submitted */
	_SLU_MODE_MAX,
};

/* How urgently a raised limit is to be filled. */
enum slu_pace {
	SLU_PACE_NONE,	/* spend it on allocations; move nothing */
	SLU_PACE_AHEAD, /* prefetch; a lower limit stops it at a chunk */
	SLU_PACE_NOW,	/* a program waits for it */
	_SLU_PACE_MAX,
};

/* Why a unit cannot move. Shown in status. */
enum slu_frozen {
	SLU_FROZEN_NO,
	SLU_FROZEN_IMAGE,      /* an image or array of a kind that does not move */
	SLU_FROZEN_SVM,	       /* shared virtual memory: the program holds its address */
	SLU_FROZEN_HOST_PTR,   /* lives in the program's own host memory */
	SLU_FROZEN_MAPPED,     /* the program holds a mapping of it */
	SLU_FROZEN_EXPORTED,   /* exported, IPC or registered: another process holds its pages */
	SLU_FROZEN_GRAPH,      /* owned by a graph or a command buffer */
	SLU_FROZEN_MODULE,     /* globals and code of a module */
	SLU_FROZEN_MANAGED,    /* no unit: the driver pages it, and it yields to all programs */
	SLU_FROZEN_POOL,       /* memory of a pool the driver keeps */
	SLU_FROZEN_NO_BACKING, /* no credit for its backing: it has nowhere to go */
	SLU_FROZEN_OTHER,
	SLU_FROZEN_BYPASS, /* the program submits work without the gate */
	_SLU_FROZEN_MAX,
};

/*
 * One turn of one group: the generation counts the daemon's starts, the counter its turns.
 * Compared for equality only. Counter 0 is "none"; generation 0 is the epoch that a client
 * gives itself when it opens without a daemon.
 */
struct slu_epoch {
	uint64_t generation;
	uint64_t counter;
};

static inline bool slu_epoch_is_none(struct slu_epoch e)
{
	return e.counter == 0;
}

static inline bool slu_epoch_equal(struct slu_epoch a, struct slu_epoch b)
{
	return a.generation == b.generation && a.counter == b.counter;
}

/* Names an account of the sender or receiver. @device is the place in HELLO's list; 0 elsewhere. */
struct slu_account {
	uint8_t tier; /* enum slu_tier */
	uint8_t device;
};

/* One device as a joining client sees it. */
struct slu_hello_device {
	uint8_t uuid[16];     /* the driver's; alike from CUDA and OpenCL */
	char pci[16];	      /* "0000:01:00.0", or empty */
	char name[48];	      /* the driver's name, for people */
	uint64_t total_bytes; /* the device's size as the driver reports it */
	struct slu_epoch epoch;
	uint64_t held_bytes;  /* on the device now */
	uint64_t floor_bytes; /* of these, what cannot leave now */
	uint64_t min_bytes;   /* see struct slu_msg_want */
	uint64_t all_bytes;
	uint64_t working_bytes;
	uint64_t largest_bytes;
	uint8_t mode; /* enum slu_mode */
	uint8_t gate_is_open;
	uint8_t is_runnable;
	uint8_t never_pins;    /* its API has no use for pinned host memory */
	uint8_t hears_present; /* PRESENT may be sent */
	uint8_t pins_copies;   /* pins host copies below a limit of `pinned` with pace AHEAD */
	uint8_t reserved[2];
};

struct slu_msg_hello {
	uint32_t version; /* SLU_WIRE_VERSION; the daemon serves this and the one before */
	uint32_t n_devices;
	uint64_t group; /* the processes of one `sluice run`; 0: a group of my own */
	char program[SLU_WIRE_NAME_MAX]; /* for status, and settings of a user's own daemon */
	uint64_t pinned_held_bytes;
	uint64_t pageable_held_bytes;
	struct slu_hello_device devices[SLU_WIRE_DEVICES_MAX];
	uint64_t disk_held_bytes; /* since version 2 */
};

/* The size of HELLO from a client of version 1. */
#define SLU_HELLO_SIZE_1 offsetof(struct slu_msg_hello, disk_held_bytes)

/* Whether the device hashes data that commands promised to read only. */
enum slu_hashing { SLU_HASHING_OFF, SLU_HASHING_AUTO, SLU_HASHING_ALWAYS };

/* Reports that a daemon takes beside those of every version. A set bit means: it may be sent. */
enum slu_hears { SLU_HEARS_EXCESS = 1, SLU_HEARS_EXPORT = 2 };

/*
 * What the PTX of kernels is used for: bytes that they do not write are not copied back; a launch
 * passes when the bytes that it touches are present.
 */
enum slu_predicting { SLU_PREDICTING_OFF, SLU_PREDICTING_WRITES, SLU_PREDICTING_EARLY };

struct slu_msg_welcome {
	uint32_t version;
	uint32_t status; /* 0, or the errno for which this client stays an outsider */
	uint64_t generation;
	/* settings of this program, as the daemon's configuration has them */
	uint64_t visible_bytes;	    /* what the program may own a device; 0: all of it, shown less a
				     * margin
				     */
	uint64_t chunk_bytes;	    /* size of one staged copy */
	uint64_t loss_grace_ns;	    /* `run` after a lost daemon: wait for this long first */
	uint8_t run_without_daemon; /* on_daemon_loss = run */
	uint8_t checksum_moves;
	uint8_t allow_mapped; /* residency MAPPED may be used */
	uint8_t vmm_serial;   /* enum slu_serial: mapping calls one process at a time */
	uint8_t hash_clean;   /* enum slu_hashing */
	uint8_t hears;	      /* a set of enum slu_hears */
	uint8_t exportable;   /* plain allocations are the driver's, so that others can open them */
	uint8_t predict;      /* enum slu_predicting */
	char detail[SLU_WIRE_DETAIL_MAX]; /* for people, where status is not 0: what to do */
	uint64_t beyond_bytes; /* visible_bytes 0: what it may own more than a device; else 0 */
};

struct slu_msg_limit {
	struct slu_account account;
	uint8_t pace; /* enum slu_pace */
	uint8_t reserved[5];
	uint64_t seq;	      /* starts at 1 with each connection; one unanswered an account */
	uint64_t limit_bytes; /* may hold up to this */
	uint64_t goal_bytes;  /* what it will become in this turn; the rest must be MAPPED */
};

/* TURN, READY, IDLE */
struct slu_msg_turn {
	uint8_t device;
	uint8_t reserved[7];
	struct slu_epoch epoch;
};

struct slu_msg_close {
	uint8_t device;
	uint8_t reserved[7];
	struct slu_epoch epoch;
	uint64_t deadline_ns; /* from now; after it the core calls the client stuck */
};

struct slu_msg_deny {
	struct slu_account
		account; /* DEVICE: the waiting launch or allocation; BACKING: the allocation */
	uint8_t reserved[6];
	uint64_t bytes; /* DEVICE: what the client could have at present; 0: unknown */
};

struct slu_msg_sums {
	struct slu_account account;
	uint8_t is_final; /* no more can leave now */
	uint8_t reserved[5];
	uint64_t seq;		/* of the LIMIT that is in force here */
	uint64_t ceiling_bytes; /* max(limit, held) */
	uint64_t held_bytes;
	uint64_t floor_bytes;	/* what cannot leave now */
	uint64_t refused_bytes; /* what the driver refused, or 0 */
};

struct slu_msg_want {
	struct slu_account
		account;     /* DEVICE, or BACKING: a limit of all_bytes would do, min_bytes for
				one allocation, or largest_bytes of DISK instead (0: no) */
	uint8_t is_runnable; /* a thread waits at the gate, or runs */
	uint8_t reserved[5];
	uint64_t min_bytes;	/* LAUNCH: the largest command waiting; else all units */
	uint64_t all_bytes;	/* every byte it owns there, waiting allocations included, and what
				   the driver pages */
	uint64_t working_bytes; /* of these: LAUNCH: what it named lately; MAPPED: what must be on
				   the device itself; else 0 */
	uint64_t largest_bytes; /* its largest unit */
};

struct slu_msg_rest {
	uint8_t device;
	uint8_t is_runnable; /* wants another turn */
	uint8_t reserved[6];
	struct slu_epoch epoch;
	uint64_t floor_bytes;
};

struct slu_msg_facts {
	uint8_t device;
	uint8_t mode;
	uint8_t n_failed;   /* moves that failed in a row, up to some; 0: they work */
	uint8_t move_error; /* the errno of the last of them */
	uint32_t n_served;  /* LAUNCH: commands that had their bytes and passed nobody who waits
			       for some; it only counts whether it changes */
	uint64_t device_bytes;
	uint64_t mapped_bytes;
	uint64_t ram_bytes;
	uint64_t disk_bytes;
	uint64_t moved_in_bytes; /* since it joined, with parts of moves that take long */
	uint64_t moved_out_bytes;
	uint64_t n_launches;
	uint64_t frozen_bytes[_SLU_FROZEN_MAX];
};

struct slu_msg_disk {
	char folder[256]; /* absolute; empty: no bytes go to disk */
};

/* An allocation exceeded visible_memory. Sent at most once a second and device. */
struct slu_msg_excess {
	uint8_t device;
	uint8_t reserved[7];
	uint64_t asked_bytes;
	uint64_t owned_bytes;	/* before that */
	uint64_t visible_bytes; /* what it may own: visible_memory */
};

/* An export was refused, because the memory moves. Sent once a device. */
struct slu_msg_export {
	uint8_t device;
	uint8_t reserved[7];
};

/* Sent before WELCOME and when it changes. A program that asks how much is free hears no more. */
struct slu_msg_present {
	uint8_t device;
	uint8_t reserved[7];
	uint64_t bytes;
};

/* In the packet itself: the daemon accepts no files (channel.h). */
struct slu_msg_ask {
	uint32_t size; /* of the text */
	uint32_t reserved;
	char text[2040];
};

struct slu_msg_answer {
	uint64_t size;
	uint32_t status; /* 0, or an errno; the text says more */
	uint32_t reserved;
};

enum slu_message_type {
	SLU_MSG_NONE,
#define SLU_MESSAGE(name, from, payload, meaning) SLU_MSG_##name,
#include "wire/messages.def"
#undef SLU_MESSAGE
	_SLU_MSG_MAX,
};

struct slu_message_header {
	uint16_t type; /* enum slu_message_type */
	uint16_t size; /* of the payload */
	uint32_t reserved;
};

/* Any message, big enough for the largest. */
struct slu_message {
	struct slu_message_header header;
	union {
		struct slu_msg_hello hello;
		struct slu_msg_welcome welcome;
		struct slu_msg_limit limit;
		struct slu_msg_turn turn;
		struct slu_msg_close close;
		struct slu_msg_deny deny;
		struct slu_msg_sums sums;
		struct slu_msg_want want;
		struct slu_msg_rest rest;
		struct slu_msg_facts facts;
		struct slu_msg_disk disk;
		struct slu_msg_excess excess;
		struct slu_msg_export export;
		struct slu_msg_present present;
		struct slu_msg_ask ask;
		struct slu_msg_answer answer;
	};
};

_Static_assert(sizeof(struct slu_message) <= SLU_WIRE_PACKET_MAX, "a message fits a packet");

enum slu_message_side { SLU_MESSAGE_FROM_CLIENT, SLU_MESSAGE_FROM_DAEMON };

/* "HELLO"; "?" for a number that is no message. */
const char *slu_message_name(unsigned type);

/* The payload's size, 0 for a number that is no message. */
unsigned slu_message_size(unsigned type);

/* Fills the header of @m for @type; the payload stays as it is. */
void slu_message_stamp(struct slu_message *m, enum slu_message_type type);

/*
 * Whether @size bytes at @m are a message that @side may send: known type, exact size, the
 * enums, counts, device numbers and names in it within bounds.
 *
 * Return: NULL if so, else what is wrong, in words.
 */
const char *slu_message_fault(const struct slu_message *m, size_t size, enum slu_message_side side);

/*
 * Whether @newer replaces @older: both report the same state, or give the same hint, of one account
 * or device. A refusal in @older under the limit that is still in force moves to @newer.
 */
bool slu_message_supersede(struct slu_message *newer, const struct slu_message *older);

/* Words for status: "all", "mapped", "launch"; "image", "svm", … */
const char *slu_mode_name(unsigned mode);
const char *slu_frozen_name(unsigned frozen);
