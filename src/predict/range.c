/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/range.h"

#include "base/util.h"

/* An unknown number of 32 bits spans this much, and says nothing. */
#define WIDE_BYTES UINT64_C(0xffffffff)

/*
 * Terms by rising stride. Sound: a term whose stride is not larger than the bytes so far leaves no
 * hole between its pieces, so that they are one; else it repeats what there is. A term that goes on
 * where the level before it ends makes that longer.
 */
static void add_level(struct slu_predict_range *r, uint64_t stride, uint64_t last)
{
	unsigned n = r->n_levels;

	if (!n && stride <= r->bytes) {
		r->bytes += stride * last;
	} else if (n && stride == r->levels[n - 1].stride * r->levels[n - 1].count) {
		r->levels[n - 1].count *= last + 1;
	} else {
		if (n == SLU_PREDICT_MAX_LEVELS) {
			/* sound: the holes of the lowest level are taken as touched */
			r->bytes += r->levels[0].stride * (r->levels[0].count - 1);
			for (unsigned i = 1; i < n; i++)
				r->levels[i - 1] = r->levels[i];
			n--;
		}
		r->levels[n].stride = stride;
		r->levels[n].count = last + 1;
		r->n_levels = n + 1;
	}
}

int slu_predict_range_make(const struct slu_predict_scope *s, const struct slu_predict_value *v,
			   int64_t offset, uint32_t bytes, struct slu_predict_range *ret_range)
{
	uint64_t strides[SLU_PREDICT_MAX_TERMS], lasts[SLU_PREDICT_MAX_TERMS];
	struct slu_predict_range *r = ret_range;
	int64_t lo, hi, form_lo, form_hi;

	if (__builtin_add_overflow(v->lo, offset, &lo) ||
	    __builtin_add_overflow(v->hi, offset, &hi) ||
	    __builtin_add_overflow(hi, (int64_t)bytes, &hi) || lo < 0 ||
	    (v->is_loose && (uint64_t)hi - (uint64_t)lo >= WIDE_BYTES))
		return SLU_PREDICT_RANGE_E_WIDE;
	r->from = (uint64_t)lo;
	r->to = (uint64_t)hi;
	r->n_levels = 0;
	/* where the form says less than its interval, the interval is all that counts */
	if (!slu_predict_value_reach(s, v, &form_lo, &form_hi)) {
		r->address = r->from;
		r->bytes = r->to - r->from;
		return 0;
	}
	for (unsigned i = 0; i < v->n_terms; i++) {
		int64_t c = v->terms[i].coef;
		uint64_t stride = c < 0 ? -(uint64_t)c : (uint64_t)c;
		unsigned k = i;

		for (; k && strides[k - 1] > stride; k--) {
			strides[k] = strides[k - 1];
			lasts[k] = lasts[k - 1];
		}
		strides[k] = stride;
		lasts[k] = s->dims[v->terms[i].dim].last;
	}
	r->address = (uint64_t)form_lo + (uint64_t)offset;
	r->bytes = bytes;
	for (unsigned i = 0; i < v->n_terms; i++)
		add_level(r, strides[i], lasts[i]);
	return 0;
}

bool slu_predict_range_walk(const struct slu_predict_range *r,
			    bool (*each)(void *userdata, uint64_t address, uint64_t bytes),
			    void *userdata)
{
	uint64_t at[SLU_PREDICT_MAX_LEVELS] = { 0 };
	unsigned i;

	do {
		uint64_t address = r->address, end;

		for (i = 0; i < r->n_levels; i++)
			address += at[i] * r->levels[i].stride;
		end = address + r->bytes;
		/* a form may begin below zero; what does lies outside of the interval */
		if ((int64_t)address < (int64_t)r->from)
			address = r->from;
		if (end > r->to && (int64_t)end > 0)
			end = r->to;
		if ((int64_t)end > (int64_t)address && !each(userdata, address, end - address))
			return false;
		for (i = 0; i < r->n_levels && ++at[i] == r->levels[i].count; i++)
			at[i] = 0;
	} while (i < r->n_levels);
	return true;
}
