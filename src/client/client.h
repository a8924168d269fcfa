/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * libsluice-client.so as the front ends see it: one instance a process, whatever APIs the program
 * uses. It gates work, keeps the only list of units, and moves their bytes.
 *
 * A guest in somebody's program: it never exits, aborts or prints (unless SLUICE_LOG asks, then
 * on stderr), keeps errno, installs no signal handler, and its threads block all signals. Without
 * a daemon (SLUICE_SOCKET unset or refused) every device is *loose*: its gate is open, units are
 * allocated on the device, nothing moves: as if we were not there. Nothing here works in
 * constructors: the first slu_client_device_add() starts the threads.
 *
 *   LOOSE -> JOINED   [helper]   the daemon welcomed us; units and gate follow the protocol
 *   JOINED -> LOST    [helper]   the connection ended; by the setting, wait or run on
 *   LOST -> JOINED    [helper]   rejoined
 *
 * The environment, set by `sluice run`:
 *   SLUICE_SOCKET  the daemon's socket        SLUICE_GROUP  group id, hex
 *   SLUICE_NAME    the program's name         SLUICE_LOG    "stderr" or a path: what we did and why
 * and for tests:
 *   SLUICE_TORTURE 1: instead of a daemon, every byte that can leave is moved out between two
 *                  entries or commands of the program, checksums on; front ends need do nothing.
 *                  disk: the same, and all of it goes to files in /var/tmp
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
	SLU_CLIENT_E_NO_MEMORY, /* the API's out-of-memory: it will never fit, or the driver refused
				   for good */
};

/*
 * @backend must outlive the device; @data is handed to each of its calls. @mode is the mode the
 * front end asks for; MAPPED also needs the daemon's consent and backend->map.
 *
 * Return: 0, or -errno. The device stays until slu_client_device_remove().
 */
SLU_CLIENT_API int slu_client_device_add(const struct slu_hello_device *identity,
					 enum slu_mode mode, const struct slu_backend *backend,
					 void *data, struct slu_client_device **ret_device);

/*
 * The context is about to be destroyed: moves under way are finished or cancelled, all units of
 * the device must have been freed before, or are forgotten with their contents.
 */
SLU_CLIENT_API void slu_client_device_remove(struct slu_client_device *device);

SLU_CLIENT_API unsigned slu_client_device_index(const struct slu_client_device *device);

/* What the program may own on this device: visible_memory of the settings, or all of its size. */
SLU_CLIENT_API uint64_t slu_client_device_most(const struct slu_client_device *device);

/* The same, but of all of its size less a margin for what the program's context takes. */
SLU_CLIENT_API uint64_t slu_client_device_visible(const struct slu_client_device *device);

/* The same, but not more than contexts and outsiders leave: what of it is not owned is free. */
SLU_CLIENT_API uint64_t slu_client_device_offered(const struct slu_client_device *device);

/* Bytes that the program owns there, wherever they are. */
SLU_CLIENT_API uint64_t slu_client_device_owned(const struct slu_client_device *device);

/*
 * Sets @bytes aside for units that are about to be made, if the program may own so much: two
 * threads cannot have the same bytes. The daemon hears of a refusal, for people: @asked_bytes is
 * what the program asked for, which may be less than it takes; 0: nobody hears of it. In mode
 * LAUNCH a program may own any amount where visible_memory is auto.
 *
 * Return: whether they are; then slu_client_unit_new_reserved() uses them up, and what is left is
 * given back.
 */
SLU_CLIENT_API bool slu_client_device_reserve(struct slu_client_device *device, uint64_t bytes,
					      uint64_t asked_bytes);
SLU_CLIENT_API void slu_client_device_unreserve(struct slu_client_device *device, uint64_t bytes);

/*
 * Whether a daemon decides over @device, or may do so as soon as it answers: false where everything
 * passes. Front ends bound their work in flight by it.
 */
SLU_CLIENT_API bool slu_client_device_is_managed(const struct slu_client_device *device);

/*
 * The program got memory (@more) that the driver brings to the device and takes from it by itself,
 * or gave it back. It is shown, and in a turn others leave for it; it is charged to nobody.
 */
SLU_CLIENT_API void slu_client_device_pages(struct slu_client_device *device, uint64_t bytes,
					    bool more);

/* -- units ------------------------------------------------------------------------------------ */

/*
 * Makes a unit. In a turn, with credit at hand, backend->create() is called on this thread and no
 * message is sent; off turn it is allocated in RAM and waits for nobody. @frozen units must exist
 * already: nothing is created, they are charged. Not to be called inside the gate: it may wait, and
 * the gate cannot be emptied meanwhile.
 *
 * Return: 0, SLU_CLIENT_E_NO_MEMORY, or -errno.
 */
SLU_CLIENT_API int slu_client_unit_new(struct slu_client_device *device, uint64_t bytes,
				       enum slu_frozen frozen, void *owner,
				       struct slu_unit **ret_unit);

/*
 * The same, using up as much of the @reserved_bytes as it needs: they become less by that. If it
 * fails, they are as they were.
 */
SLU_CLIENT_API int slu_client_unit_new_reserved(struct slu_client_device *device, uint64_t bytes,
						enum slu_frozen frozen, uint64_t *reserved_bytes,
						void *owner, struct slu_unit **ret_unit);

/*
 * A unit that stands for memory which the driver is to find free when it is released. It is on the
 * device itself when the gate opens, never MAPPED if others can be instead; and visible_memory does
 * not count it, for it is not the program's.
 */
SLU_CLIENT_API int slu_client_unit_new_spare(struct slu_client_device *device, uint64_t bytes,
					     void *owner, struct slu_unit **ret_unit);

/*
 * Waits until the unit does not move; then releases its device memory by backend->destroy() if
 * backend->create() made it (not of a unit that was allocated frozen), its host copy, and the unit.
 * The caller knows that no command uses it.
 */
SLU_CLIENT_API void slu_client_unit_free(struct slu_unit *unit);

/*
 * Marks the unit as not movable with a reason, or movable again. To be frozen it must be present:
 * call it inside the gate, or between begin and end of a command that names the unit.
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
 * The host copy is out of date from now on: a command writes the unit on the device. Called while
 * the caller keeps the unit in place (inside the gate, or between begin and end of a command). In
 * modes ALL and MAPPED nobody needs to call it: whatever was present in a turn that ran counts as
 * written.
 */
SLU_CLIENT_API void slu_client_unit_dirty(struct slu_unit *unit);

/*
 * A command was given the unit that promised not to write it (an argument that points to const),
 * which is no proof. Called as slu_client_unit_dirty(). When the unit leaves, backend->compare()
 * says whether the host copy is still right.
 */
SLU_CLIENT_API void slu_client_unit_suspect(struct slu_unit *unit);

/*
 * The driver took a command that names the unit: there is memory for it. Called as
 * slu_client_unit_dirty(). Without effect on those that were made with a proof.
 */
SLU_CLIENT_API void slu_client_unit_prove(struct slu_unit *unit);

/*
 * The driver had no memory for a command that named these, which the caller names no more. Those
 * that are unproven go back to where they would be if they had been allocated without a turn, and
 * the refusal is told: the command may begin again, and waits until they have really come.
 */
SLU_CLIENT_API void slu_client_unit_unmake(struct slu_unit *const *units, size_t n_units);

/*
 * Access to contents off turn, without bringing the unit in: copies from or to the host copy when
 * the unit is in RAM. For blocking reads and writes by the program.
 *
 * Return: 0 when done; SLU_CLIENT_E_ON_DEVICE when the unit is (or just became) present, then go
 * through the gate; -errno.
 */
enum { SLU_CLIENT_E_ON_DEVICE = 2 };

SLU_CLIENT_API int slu_client_unit_access(struct slu_unit *unit, enum slu_direction direction,
					  uint64_t offset, void *host, uint64_t bytes);

/* -- work, modes ALL and MAPPED --------------------------------------------------------------- */

/*
 * Waits until the gate of @device is open and stays inside it until slu_client_leave(). The fast
 * path is slu_gate_try_enter(); this is its slow path.
 *
 * Return: 0 inside; SLU_CLIENT_E_NO_MEMORY: it will never fit, not inside; -EIO: contents were
 * lost (a checksum did not match), not inside, and never again.
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

/* -- work, mode LAUNCH ------------------------------------------------------------------------ */

/*
 * Waits until the turn is there and every unit of @units (no duplicates) is on the device, and
 * keeps them there until slu_client_command_end(). Between the two the front end submits the
 * command and records, in its own way, what backend->drain_unit() will look at. A unit that another
 * device of the same front end has comes over to this one, by way of its backing: unit->device says
 * where it belongs. What cannot leave there is used where it is.
 *
 * Return: 0; SLU_CLIENT_E_NO_MEMORY: they will never fit together; -EIO as above.
 */
SLU_CLIENT_API int slu_client_command_begin(struct slu_client_device *device,
					    struct slu_unit *const *units, size_t n_units);
SLU_CLIENT_API void slu_client_command_end(struct slu_client_device *device,
					   struct slu_unit *const *units, size_t n_units);

/*
 * A command that waits for something else first will name @units: they may come in meanwhile.
 */
SLU_CLIENT_API void slu_client_command_expect(struct slu_client_device *device,
					      struct slu_unit *const *units, size_t n_units);

/*
 * Whether some of what was named lately is not on the device: then what stays and what comes next
 * is chosen by the order of all commands, and each should be told.
 */
SLU_CLIENT_API bool slu_client_device_is_crowded(const struct slu_client_device *device);

/*
 * A command went to the driver on a short way of the front end's own, inside the gate, with @units
 * that were named before and had not left. Told of each while the device is crowded; else they are
 * only counted, for people to see.
 */
SLU_CLIENT_API void slu_client_command_passed(struct slu_client_device *device,
					      struct slu_unit *const *units, size_t n_units);
SLU_CLIENT_API void slu_client_command_count(struct slu_client_device *device, uint64_t n);

/* -- mapping calls ---------------------------------------------------------------------------- */

/*
 * Around the driver's mapping calls: where the daemon's setting vmm_serial asks for it, one process
 * makes them at a time (wire/serial.h). Not to be called with a lock.
 *
 * Return: what slu_client_serial_end() takes.
 */
SLU_CLIENT_API int slu_client_serial_begin(const struct slu_client_device *device);
SLU_CLIENT_API void slu_client_serial_end(int lock);

/* A mapping call failed, and nothing explains it: with vmm_serial = auto everybody is told. */
SLU_CLIENT_API void slu_client_serial_suspect(const struct slu_client_device *device);

/* -- looking ---------------------------------------------------------------------------------- */

struct slu_client_counts {
	uint64_t n_messages_sent, n_messages_received;
	uint64_t
		n_reports_sent; /* of these: what is told now and then, whatever the program does */
	uint64_t n_moves_in, n_moves_out, n_clean_out;
	uint64_t n_compared, n_differed; /* suspect units on their way out */
	uint64_t moved_in_bytes, moved_out_bytes;
	uint64_t n_refusals, n_slow_entries;
};

SLU_CLIENT_API void slu_client_counts(struct slu_client_counts *ret_counts);
