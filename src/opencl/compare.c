/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compares a unit's bytes on the device with its backing, by digests (digest.h). The device takes
 * the digest of its copy (hasher.h). Meanwhile the processor takes that of the backing, once for
 * each version.
 *
 * A unit is compared where that is faster than to copy its bytes out (client/hash-cost.h). The time
 * of a digest is the device's own time for it: the wait behind the program's kernels may be many
 * times as long and says nothing about digests. An object that was found changed once has a kernel
 * that breaks its promise: it is not compared again.
 *
 * Images need no digest: the type of an image proves what a kernel may do to it (argument.h). An
 * object in the program's own memory is mapped, which copies nothing where that memory is shared.
 */

#include "opencl/compare.h"

#include "base/util.h"
#include "client/backend.h"
#include "opencl/context.h"
#include "opencl/hasher.h"
#include "opencl/real.h"

#define MIN_BYTES (64 * SLU_KIB) /* below this the calls cost more than the bytes */

static bool compare_is_worth_it(struct slu_device *device, uint64_t bytes)
{
	bool is_worth;

	if (bytes < MIN_BYTES)
		return false;
	slu_layer_take();
	is_worth = slu_hash_cost_is_worth_it(&device->hash_cost, bytes);
	slu_layer_give();
	return is_worth;
}

static void hash_speed_learn(struct slu_device *device, uint64_t took_ns, uint64_t bytes)
{
	slu_layer_take();
	slu_speed_note(&device->hash_cost.hash_speed, took_ns, bytes);
	slu_layer_give();
}

/* The version is the mover's: nobody changes it while the unit moves. */
static void backing_digest_take(struct slu_proxy *root, uint64_t version, const void *host)
{
	if (root->backing_version == version)
		return;
	root->backing_digest = slu_digest_of(host, root->size_bytes);
	root->backing_version = version;
}

static bool root_can_compare(const struct slu_proxy *root, uint64_t version, const void *host)
{
	return root->type == CL_MEM_OBJECT_BUFFER && root->real && !root->breaks_promise &&
	       !slu_real_is_in_host(root) && version && (host || root->backing_version == version);
}

void slu_compare_prepare(struct slu_device *device, const struct slu_unit *unit)
{
	const struct slu_proxy *root = unit->owner;
	struct slu_context_place *place;

	if (root->type != CL_MEM_OBJECT_BUFFER || root->size_bytes < MIN_BYTES ||
	    root->breaks_promise || slu_real_is_in_host(root))
		return;
	place = slu_context_place(root->context, device);
	if (place)
		slu_hasher_get(place);
}

int slu_compare(struct slu_device *device, struct slu_unit *unit, const void *host, bool always)
{
	uint64_t version = unit->host_version, took_ns;
	struct slu_proxy *root = unit->owner;
	struct slu_hashing_job job;
	struct slu_context_place *place;
	struct slu_hasher *hasher;
	struct slu_digest digest;

	if (!root_can_compare(root, version, host) ||
	    (!always && !compare_is_worth_it(device, root->size_bytes)))
		return SLU_BACKEND_E_DIFFERENT;
	place = slu_context_place(root->context, device);
	hasher = place ? slu_hasher_get(place) : NULL;
	if (!hasher || slu_hasher_begin(hasher, root, &job))
		return SLU_BACKEND_E_DIFFERENT;
	backing_digest_take(root, version, host);
	if (slu_hasher_end(&job, &digest, &took_ns))
		return SLU_BACKEND_E_DIFFERENT;
	if (took_ns)
		hash_speed_learn(device, took_ns, root->size_bytes);
	root->breaks_promise = !slu_digest_is_equal(digest, root->backing_digest);
	return root->breaks_promise ? SLU_BACKEND_E_DIFFERENT : 0;
}
