/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/compare.h"

#include "base/clock.h"
#include "base/util.h"
#include "client/backend.h"
#include "cuda/device.h"

#define TRUSTED_DIFFERENT 2 /* differences in a row that make no rule yet */
#define SKIP_BITS_MAX	  6

void slu_cuda_comparer_init(struct slu_cuda_comparer *c)
{
	*c = (struct slu_cuda_comparer){ 0 };
	slu_lock_init(&c->lock, SLU_LOCK_LEAF);
	slu_cuda_hasher_init(&c->hasher);
}

void slu_cuda_comparer_deinit(struct slu_cuda_comparer *c)
{
	slu_cuda_hasher_deinit(&c->hasher);
	slu_lock_deinit(&c->lock);
}

void slu_cuda_comparer_copy_begins(struct slu_cuda_comparer *c)
{
	slu_lock_take(&c->lock);
	slu_speed_begin(&c->cost.copy_speed, slu_clock_now_ns());
	slu_lock_give(&c->lock);
}

void slu_cuda_comparer_copy_ends(struct slu_cuda_comparer *c, uint64_t bytes)
{
	slu_lock_take(&c->lock);
	slu_speed_end(&c->cost.copy_speed, slu_clock_now_ns(), bytes);
	slu_lock_give(&c->lock);
}

static bool comparer_is_worth_it(struct slu_cuda_comparer *c, uint64_t bytes)
{
	bool is_worth;

	slu_lock_take(&c->lock);
	is_worth = slu_hash_cost_is_worth_it(&c->cost, bytes);
	slu_lock_give(&c->lock);
	return is_worth;
}

static void comparer_learn(struct slu_cuda_comparer *c, uint64_t took_ns, uint64_t bytes)
{
	if (!took_ns)
		return;
	slu_lock_take(&c->lock);
	slu_speed_note(&c->cost.hash_speed, took_ns, bytes);
	slu_lock_give(&c->lock);
}

/* After n differences in a row one move out in 2^n is compared, at least one in 64. */
static bool extent_is_due(struct slu_cuda_compared *compared)
{
	unsigned bits = SLU_MIN(compared->n_different, (unsigned)SKIP_BITS_MAX);

	if (compared->n_different < TRUSTED_DIFFERENT)
		return true;
	return ++compared->n_skipped >= 1u << bits;
}

/* A kernel that reads memory which is not mapped would end the context. */
static bool extent_is_on_device(const struct slu_extent *e)
{
	return e->handle && !e->cpu;
}

/* @version belongs to the mover: it is constant while the unit moves. */
static void host_digest(struct slu_extent *e, uint64_t version, const void *host)
{
	if (e->compared.version == version)
		return;
	e->compared.digest = slu_digest_of(host, e->bytes);
	e->compared.version = version;
}

/* The device's digest becomes the draft; with @host the host copy's is computed meanwhile. */
static bool extent_hash_taken(struct slu_cuda_comparer *c, struct slu_extent *e, uint64_t version,
			      const void *host)
{
	struct slu_cuda_compared *compared = &e->compared;
	uint64_t took_ns;

	compared->draft_entries = slu_gate_n_entries();
	if (slu_cuda_hasher_begin(&c->hasher, e->address, e->bytes) != CUDA_SUCCESS)
		return false;
	if (host)
		host_digest(e, version, host);
	if (slu_cuda_hasher_end(&c->hasher, e->bytes, &compared->draft, &took_ns) != CUDA_SUCCESS)
		return false;
	compared->draft_state = SLU_CUDA_DRAFT_FRESH;
	comparer_learn(c, took_ns, e->bytes);
	return true;
}

static bool extent_hash(struct slu_cuda_device *d, struct slu_extent *e, uint64_t version,
			const void *host)
{
	bool is_hashed;

	if (!slu_cuda_hasher_take(d))
		return false;
	is_hashed = extent_hash_taken(&d->comparer, e, version, host);
	slu_cuda_hasher_put(d);
	return is_hashed;
}

static bool draft_is(const struct slu_cuda_compared *compared, enum slu_cuda_draft state)
{
	return compared->draft_state == state && compared->draft_entries == slu_gate_n_entries();
}

int slu_cuda_compare(struct slu_cuda_device *d, struct slu_unit *unit, const void *host,
		     bool always)
{
	struct slu_extent *e = unit->owner;
	bool is_equal;

	e->compared.draft_state = SLU_CUDA_DRAFT_NONE;
	if (!unit->host_version || !extent_is_on_device(e) ||
	    (!host && e->compared.version != unit->host_version))
		return SLU_BACKEND_E_DIFFERENT;
	if (!always &&
	    (!extent_is_due(&e->compared) || !comparer_is_worth_it(&d->comparer, e->bytes)))
		return SLU_BACKEND_E_DIFFERENT;
	if (!extent_hash(d, e, unit->host_version, host))
		return SLU_BACKEND_E_DIFFERENT;
	is_equal = slu_digest_is_equal(e->compared.draft, e->compared.digest);
	e->compared.n_skipped = 0;
	e->compared.n_different = is_equal ? 0 : e->compared.n_different + 1;
	return is_equal ? 0 : SLU_BACKEND_E_DIFFERENT;
}

void slu_cuda_compare_prepare(struct slu_cuda_device *d, struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;

	if (unit->moving != SLU_MOVING_OUT || draft_is(&e->compared, SLU_CUDA_DRAFT_FRESH))
		return;
	e->compared.draft_state = SLU_CUDA_DRAFT_NONE;
	if (!extent_is_on_device(e) || e->compared.n_different >= TRUSTED_DIFFERENT ||
	    !comparer_is_worth_it(&d->comparer, e->bytes))
		return;
	extent_hash(d, e, 0, NULL);
}

void slu_cuda_compare_copies(struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;

	e->compared.draft_state = draft_is(&e->compared, SLU_CUDA_DRAFT_FRESH)
					  ? SLU_CUDA_DRAFT_COPYING
					  : SLU_CUDA_DRAFT_NONE;
	e->compared.version = 0;
}

void slu_cuda_compare_placed(struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;

	if (unit->moving == SLU_MOVING_OUT && draft_is(&e->compared, SLU_CUDA_DRAFT_COPYING)) {
		e->compared.digest = e->compared.draft;
		e->compared.version = unit->device_version;
	}
	e->compared.draft_state = SLU_CUDA_DRAFT_NONE;
}

void slu_cuda_compare_forget(struct slu_unit *unit)
{
	struct slu_extent *e = unit->owner;

	e->compared.draft_state = SLU_CUDA_DRAFT_NONE;
	e->compared.version = 0;
}
