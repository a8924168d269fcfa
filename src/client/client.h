/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * libsluice-client.so as the front ends see it: one instance a process, whatever APIs the program
 * uses. It gates work, keeps the only list of units, and moves their bytes. docs/glossary.md
 * explains the words.
 *
 * It is a guest in somebody's program: it never exits, aborts or prints (unless SLUICE_LOG asks,
 * then on stderr), keeps errno, installs no signal handler, and its threads block all signals.
 * Constructors do no work: the first slu_client_device_add() starts the threads.
 *
 * The stages of the process (enum slu_client_stage in instance.h):
 *
 *   (start) -> LOOSE     [slu_client_start]        SLUICE_SOCKET is unset
 *   (start) -> JOINING   [slu_client_start]        the first calls wait for the daemon's answer
 *   JOINING -> JOINED    [slu_client_hear]         the daemon welcomed us: units and gates follow
 *                                                  the protocol
 *   JOINING -> LOOSE     [slu_client_wait_joined]  no answer in time; also [slu_client_hear] when
 *                                                  the daemon refuses us
 *   LOOSE   -> JOINED    [slu_client_hear]         the daemon answered later
 *   JOINED  -> LOST      [slu_client_lose]         the connection ended; the setting
 *                                                  on_daemon_loss decides: wait or run on
 *   LOST    -> JOINED    [slu_client_hear]         joined again
 *
 * LOOSE: every gate is open, units are allocated on the device and nothing moves, as if there were
 * no Sluice.
 *
 * The environment, set by `sluice run`:
 *   SLUICE_SOCKET  the daemon's socket        SLUICE_GROUP  group id, hex
 *   SLUICE_NAME    the program's name         SLUICE_LOG    "stderr" or a path for our log
 * and for tests:
 *   SLUICE_TORTURE 1: no daemon; every byte that can leave is moved out between two entries or
 *                  commands of the program, with checksums. Front ends need do nothing.
 *                  disk: the same, to files in /var/tmp
 *                  audit: the same in memory, with an audit of what calls tell (instance.h)
 *                  early: the same in memory; calls whose units are known start early
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/backend.h"
#include "client/gate.h"
#include "place/unit.h"

#define SLU_CLIENT_API __attribute__((__visibility__("default")))

struct slu_client_device;

enum {
	_SLU_CLIENT_E_SUCCESS,
	SLU_CLIENT_E_NO_MEMORY, /* out-of-memory for the program: it will never fit, or the driver
				   refused for good */
};

/*
 * Adds a device. @backend must outlive it and gets @data with each call. @mode is the mode that the
 * front end asks for; MAPPED also needs backend->map and the daemon's consent.
 *
 * Return: 0, or -errno. The device stays until slu_client_device_remove().
 */
SLU_CLIENT_API int slu_client_device_add(const struct slu_hello_device *identity,
					 enum slu_mode mode, const struct slu_backend *backend,
					 void *data, struct slu_client_device **ret_device);

/*
 * The context is about to be destroyed. Moves under way are finished or cancelled. Units that were
 * not freed before are forgotten with their contents.
 */
SLU_CLIENT_API void slu_client_device_remove(struct slu_client_device *device);

SLU_CLIENT_API unsigned slu_client_device_index(const struct slu_client_device *device);

/* The bytes that the program may own there: the setting visible_memory, or the whole device. */
SLU_CLIENT_API uint64_t slu_client_device_most(const struct slu_client_device *device);

/* The same, but of the whole device less a margin for the program's context. */
SLU_CLIENT_API uint64_t slu_client_device_visible(const struct slu_client_device *device);

/*
 * The same, but not more than contexts and outsiders leave. The part that the program does not own
 * is free.
 */
SLU_CLIENT_API uint64_t slu_client_device_offered(const struct slu_client_device *device);

/*
 * Whether the program still owns what was just denied it: a front end that has memory to cut small
 * allocations from lets them fail, so that the program gives something up.
 */
SLU_CLIENT_API bool slu_client_device_is_unfit(const struct slu_client_device *device);

/* Bytes that the program owns there, wherever they are. */
SLU_CLIENT_API uint64_t slu_client_device_owned(const struct slu_client_device *device);

/* The program was refused an export of memory that moves: the daemon hears of it. */
SLU_CLIENT_API void slu_client_device_export_refused(struct slu_client_device *device);

/* The setting exportable: the front end leaves plain allocations to the driver. */
SLU_CLIENT_API bool slu_client_device_is_exportable(const struct slu_client_device *device);

/*
 * Reserves @bytes for units that are about to be allocated, if the program may own so much: two
 * threads cannot get the same bytes. The daemon gets a report of a refusal, with @asked_bytes,
 * which the program asked for and which may be less than @bytes; none if these are 0. In mode
 * LAUNCH a program may own any amount where visible_memory is auto.
 *
 * Return: whether they are reserved. Then slu_client_unit_new_reserved() uses them up, and
 * slu_client_device_unreserve() gives the rest back.
 */
SLU_CLIENT_API bool slu_client_device_reserve(struct slu_client_device *device, uint64_t bytes,
					      uint64_t asked_bytes);
SLU_CLIENT_API void slu_client_device_unreserve(struct slu_client_device *device, uint64_t bytes);

/*
 * Whether a daemon decides about @device, or may as soon as it answers. False where everything
 * passes. Front ends bound their work in flight by it.
 */
SLU_CLIENT_API bool slu_client_device_has_daemon(const struct slu_client_device *device);

/*
 * The program allocated (@more) or freed memory that the driver pages by itself. It is reported,
 * and in a turn others leave for it; it is charged to no account.
 */
SLU_CLIENT_API void slu_client_device_pages(struct slu_client_device *device, uint64_t bytes,
					    bool more);

/* -- units ------------------------------------------------------------------------------------ */

/*
 * Allocates a unit. In a turn, while credit lasts, this thread calls backend->create() and sends no
 * message; off turn the unit is allocated in RAM without waiting. A @frozen unit must exist
 * already: it is charged, and nothing is created. Not to be called inside the gate: the call may
 * wait, and the gate would never become empty.
 *
 * Return: 0, SLU_CLIENT_E_NO_MEMORY, or -errno.
 */
SLU_CLIENT_API int slu_client_unit_new(struct slu_client_device *device, uint64_t bytes,
				       enum slu_frozen frozen, void *owner,
				       struct slu_unit **ret_unit);

/*
 * The same out of a reservation: *reserved_bytes shrinks by what the unit needs. If the call fails
 * it stays as it was.
 */
SLU_CLIENT_API int slu_client_unit_new_reserved(struct slu_client_device *device, uint64_t bytes,
						enum slu_frozen frozen, uint64_t *reserved_bytes,
						void *owner, struct slu_unit **ret_unit);

/*
 * A unit that keeps memory free for the driver, which finds it when the unit is released. The unit
 * is on the device itself when the gate opens, and MAPPED only if no other unit can be instead. It
 * does not count as memory of the program.
 */
SLU_CLIENT_API int slu_client_unit_new_spare(struct slu_client_device *device, uint64_t bytes,
					     void *owner, struct slu_unit **ret_unit);

/*
 * Waits until the unit does not move. Then releases its device memory (by backend->destroy(), if
 * backend->create() made it), its host copy, and the unit. The caller knows that no command uses
 * the unit.
 */
SLU_CLIENT_API void slu_client_unit_free(struct slu_unit *unit);

/*
 * Freezes the unit for the reason @why, or makes it movable again. A unit that becomes frozen must
 * be present: call this inside the gate, or between begin and end of a command that names it.
 *
 * Return: 0, or -EBUSY when it is not present.
 */
SLU_CLIENT_API int slu_client_unit_freeze(struct slu_unit *unit, enum slu_frozen why);

/*
 * The same for every movable unit of @device that is present and not moving. Does not wait: call it
 * again at rest, before anything leaves, for those that were on their way.
 */
SLU_CLIENT_API void slu_client_device_freeze(struct slu_client_device *device, enum slu_frozen why);

/*
 * A command writes the unit on the device: the host copy is out of date from now on. The caller
 * keeps the unit in place meanwhile (inside the gate, or between begin and end of a command). Not
 * needed in modes ALL and MAPPED, where all units that were present in a turn count as written.
 */
SLU_CLIENT_API void slu_client_unit_dirty(struct slu_unit *unit);

/*
 * A command got the unit as an argument that it promised not to write (a pointer to const), which
 * is no proof. To be called like slu_client_unit_dirty(). When the unit leaves, backend->compare()
 * decides whether the host copy is still right.
 */
SLU_CLIENT_API void slu_client_unit_suspect(struct slu_unit *unit);

/*
 * The driver accepted a command that names the unit, so there is memory for it. To be called like
 * slu_client_unit_dirty(). No effect on units that have a proof already.
 */
SLU_CLIENT_API void slu_client_unit_prove(struct slu_unit *unit);

/*
 * The driver had no memory for a command that named these units; the caller names them no more.
 * Units without a proof go back to RAM, and the refusal is reported. The command may begin again
 * and then waits until they have come in with a proof.
 */
SLU_CLIENT_API void slu_client_unit_unmake(struct slu_unit *const *units, size_t n_units);

/*
 * Copies contents off turn from or to the host copy of a unit in RAM, without bringing the unit in.
 * For blocking reads and writes by the program.
 *
 * Return: 0; SLU_CLIENT_E_ON_DEVICE when the unit is not in RAM: go through the gate; -errno.
 */
enum { SLU_CLIENT_E_ON_DEVICE = 2 };

SLU_CLIENT_API int slu_client_unit_access(struct slu_unit *unit, enum slu_direction direction,
					  uint64_t offset, void *host, uint64_t bytes);

/* -- work, modes ALL and MAPPED --------------------------------------------------------------- */

/*
 * The slow path of slu_gate_try_enter(): waits until the gate of @device is open and enters it.
 * slu_client_leave() ends the stay.
 *
 * Return: 0 inside; SLU_CLIENT_E_NO_MEMORY: the program will never fit, not inside; -EIO: contents
 * were lost (a checksum did not match), not inside now nor later.
 */
SLU_CLIENT_API int slu_client_enter_slow(struct slu_client_device *device);

static inline int slu_client_enter(struct slu_client_device *device, unsigned index)
{
	return slu_gate_try_enter(index) ? 0 : slu_client_enter_slow(device);
}

static inline void slu_client_leave(void)
{
	slu_gate_leave();
}

/*
 * Early start: in a turn whose units still come in, a call that touches only @units passes as soon
 * as these are present (docs/protocol.md, rule 49). The same unit may be named twice. The front end
 * keeps the units from being freed during this call; it does not wait. Where some are absent they
 * come in first; the front end calls slu_client_early_wait() with the ticket and tries again.
 *
 * Return: 0 inside the gate, as after slu_client_enter(); SLU_CLIENT_E_ABSENT; SLU_CLIENT_E_LATE:
 * the call cannot pass early, slu_client_enter_slow() waits for its turn.
 */
enum { SLU_CLIENT_E_ABSENT = 3, SLU_CLIENT_E_LATE = 4 };

SLU_CLIENT_API int slu_client_early_enter(struct slu_client_device *device,
					  struct slu_unit *const *units, size_t n_units,
					  uint64_t *ret_ticket);
SLU_CLIENT_API void slu_client_early_wait(struct slu_client_device *device, uint64_t ticket);

/* Whether it is of use to find the units of calls. */
SLU_CLIENT_API bool slu_client_early_is_possible(const struct slu_client_device *device);

/*
 * What calls write, so that what they do not write stays clean. While slu_gate_wants_writes(), a
 * front end whose call knows all that it may write calls, inside the gate and before the driver,
 * slu_client_unit_write() for each unit of that, and then slu_gate_vouch(). One call in a turn that
 * does not vouch makes every unit count as possibly written.
 *
 * slu_client_unit_watch(): the front end finds the unit by every address at which the program can
 * use it. Units that are not watched count as possibly written in each turn, and as touched by
 * each call.
 */
SLU_CLIENT_API void slu_client_unit_watch(struct slu_unit *unit);

static inline void slu_client_unit_write(struct slu_unit *unit)
{
	__atomic_store_n(&unit->written, true, __ATOMIC_RELAXED);
}

/*
 * The program meets the device (peer.h: slu_peer_boundary_meet). The caller is not inside the gate.
 * A turn that is to end may end here.
 */
SLU_CLIENT_API void slu_client_boundary_meet(struct slu_client_device *device, uint64_t key);

/* Of the bytes that the program owns, so many are in no allocation of its own. Without a lock. */
SLU_CLIENT_API void slu_client_boundary_set_unused(struct slu_client_device *device,
						   uint64_t bytes);

/* -- work, mode LAUNCH ------------------------------------------------------------------------ */

/*
 * Waits until it is the program's turn and every unit of @units (no duplicates) is on the device,
 * and keeps the units there until slu_client_command_end(). Between the two the front end submits
 * the command and records the marks that backend->drain_unit() will look at. A unit on another
 * device of the same front end comes over to this one by way of its backing (unit->device changes).
 * A unit that cannot leave its device is used where it is.
 *
 * Return: 0; SLU_CLIENT_E_NO_MEMORY: the units will never fit together; -EIO as above.
 */
SLU_CLIENT_API int slu_client_command_begin(struct slu_client_device *device,
					    struct slu_unit *const *units, size_t n_units);
SLU_CLIENT_API void slu_client_command_end(struct slu_client_device *device,
					   struct slu_unit *const *units, size_t n_units);

/* A command that is not ready yet will name @units: they may come in meanwhile. */
SLU_CLIENT_API void slu_client_command_expect(struct slu_client_device *device,
					      struct slu_unit *const *units, size_t n_units);

/*
 * Whether part of the working set is absent. Then the order of all commands decides which units
 * stay and which come next, and each command should be reported.
 */
SLU_CLIENT_API bool slu_client_device_is_crowded(const struct slu_client_device *device);

/*
 * The front end submitted a command on its own fast path, inside the gate, with @units that were
 * named before and had not left. While the device is crowded each such command is reported; else
 * slu_client_command_count() counts them for status.
 */
SLU_CLIENT_API void slu_client_command_passed(struct slu_client_device *device,
					      struct slu_unit *const *units, size_t n_units);
SLU_CLIENT_API void slu_client_command_count(struct slu_client_device *device, uint64_t n);

/* -- mapping calls ---------------------------------------------------------------------------- */

/*
 * Around the driver's mapping calls: with the setting vmm_serial one process makes them at a time
 * (wire/serial.h). Not to be called with a lock held.
 *
 * Return: the argument for slu_client_serial_end().
 */
SLU_CLIENT_API int slu_client_serial_begin(const struct slu_client_device *device);
SLU_CLIENT_API void slu_client_serial_end(int lock);

/* A mapping call failed without a reason: vmm_serial = auto serializes all processes from now on.
 */
SLU_CLIENT_API void slu_client_serial_suspect(const struct slu_client_device *device);

/* -- reading ---------------------------------------------------------------------------------- */

struct slu_client_counts {
	uint64_t n_messages_sent, n_messages_received;
	uint64_t n_reports_sent; /* of these: reports, which are sent whatever the program does */
	uint64_t n_moves_in, n_moves_out, n_clean_out;
	uint64_t n_dead; /* contents that nobody will read, found at rest or when a move began */
	uint64_t n_compared, n_differed; /* suspect units that left */
	uint64_t moved_in_bytes, moved_out_bytes;
	uint64_t n_refusals, n_slow_entries;
	uint64_t n_early_entries; /* of these: before all units were present */
};

SLU_CLIENT_API void slu_client_counts(struct slu_client_counts *ret_counts);
