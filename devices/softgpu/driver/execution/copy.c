/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/copy.h"

#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/report.h"

#define AHEAD_NS SLU_NS_PER_MS /* so far ahead of the real time an engine is booked */

/* Bytes that go the same way and are not booked yet. */
struct pace {
	struct dev_card *in, *out; /* whose engines they take; NULL: none */
	uint64_t bytes;
	uint64_t slice_bytes;
	uint64_t slowest; /* bytes a second of the processor's part; 0: it has none */
	uint64_t at_ns;	  /* the device's time */
};

static void copy_flush(struct pace *pace)
{
	uint64_t in_ns = 0, out_ns = 0, cpu_ns = 0;

	if (!pace->bytes)
		return;
	if (pace->slowest)
		cpu_ns = pace->at_ns + pace->bytes * SLU_NS_PER_S / pace->slowest;
	if (pace->out)
		out_ns = dev_card_book(pace->out, DEV_BOARD_ENGINE_OUT, pace->bytes, pace->at_ns);
	if (pace->in)
		in_ns = dev_card_book(pace->in, DEV_BOARD_ENGINE_IN, pace->bytes, pace->at_ns);
	pace->bytes = 0;
	pace->at_ns = SLU_MAX(pace->at_ns, in_ns);
	pace->at_ns = SLU_MAX(pace->at_ns, out_ns);
	pace->at_ns = SLU_MAX(pace->at_ns, cpu_ns);
	dev_card_sleep_until(slu_sub_floor(pace->at_ns, AHEAD_NS));
}

static void copy_go(struct pace *pace, struct dev_card *in, struct dev_card *out, bool is_pageable)
{
	const struct dev_card *card = in ? in : out;
	uint64_t slowest = card && is_pageable ? card->shared->traits.pageable : 0;

	if (pace->in == in && pace->out == out && pace->slowest == slowest)
		return;
	copy_flush(pace);
	pace->slowest = slowest;
	pace->in = in;
	pace->out = out;
	pace->slice_bytes = UINT64_MAX;
	if (in)
		pace->slice_bytes = dev_card_slice_bytes(in, DEV_BOARD_ENGINE_IN);
	if (out)
		pace->slice_bytes =
			SLU_MIN(pace->slice_bytes, dev_card_slice_bytes(out, DEV_BOARD_ENGINE_OUT));
}

/*
 * Whether what was copied was there until the end. Managed memory may leave the card meanwhile: its
 * bytes stay where they are, and only the time of their way is another one.
 */
static bool piece_is_still_usable(struct dev_card *card, uint64_t address, uint64_t bytes,
				  uint8_t access)
{
	bool is_pageable;

	return dev_window_may(&dev_driver.window, card->index, address, bytes, access) ||
	       dev_memory_is_usable(card, address, bytes, access, &is_pageable);
}

/* Return: false where a range is not usable (any more). */
static bool copy_row(struct dev_card *card, struct pace *pace, uint64_t dst, uint64_t src,
		     uint64_t bytes)
{
	while (bytes) {
		struct dev_card *dst_card, *src_card;
		uint64_t n, n_src;
		enum dev_memory_kind to, from;
		bool dst_here, src_here;

		to = dev_memory_piece(card, dst, bytes, DEV_WINDOW_WRITE, &n, &dst_card);
		from = dev_memory_piece(card, src, bytes, DEV_WINDOW_READ, &n_src, &src_card);
		if (to == DEV_MEMORY_INVALID || from == DEV_MEMORY_INVALID)
			return false;
		dst_here = to == DEV_MEMORY_DEVICE;
		src_here = from == DEV_MEMORY_DEVICE;
		if (dst_here && src_here && dst_card == src_card)
			copy_go(pace, NULL, NULL, false);
		else
			copy_go(pace, dst_here ? dst_card : NULL, src_here ? src_card : NULL,
				to == DEV_MEMORY_PAGEABLE || from == DEV_MEMORY_PAGEABLE);
		n = SLU_MIN(n, n_src);
		n = SLU_MIN(n, pace->slice_bytes - pace->bytes);
		memmove(dev_window_place(&dev_driver.window, dst),
			dev_window_place(&dev_driver.window, src), n);
		if ((dst_here && !piece_is_still_usable(dst_card, dst, n, DEV_WINDOW_WRITE)) ||
		    (src_here && !piece_is_still_usable(src_card, src, n, DEV_WINDOW_READ)))
			return false;
		pace->bytes += n;
		if (pace->bytes == pace->slice_bytes)
			copy_flush(pace);
		dst += n;
		src += n;
		bytes -= n;
	}
	return true;
}

uint64_t dev_copy_run(struct dev_context *context, const struct dev_command_copy *copy,
		      uint64_t start_ns)
{
	struct pace pace = { .at_ns = start_ns, .slice_bytes = UINT64_MAX };
	bool is_usable = true;

	dev_managed_notice();
	dev_window_enter(&dev_driver.window);
	for (uint64_t z = 0; z < copy->depth && is_usable; z++)
		for (uint64_t y = 0; y < copy->height && is_usable; y++)
			is_usable = copy_row(context->card, &pace,
					     copy->dst + z * copy->dst_slice + y * copy->dst_pitch,
					     copy->src + z * copy->src_slice + y * copy->src_pitch,
					     copy->width);
	dev_window_leave(&dev_driver.window);
	copy_flush(&pace);
	dev_card_sleep_until(pace.at_ns);
	if (!is_usable) {
		dev_report_copy(copy->dst, copy->src, copy->width * copy->height * copy->depth,
				NULL);
		dev_context_break(context, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
	/* without a bus to wait for, the time is what the copy really took */
	return pace.at_ns > start_ns ? pace.at_ns : SLU_MAX(start_ns, slu_clock_now_ns());
}

static bool range_check(struct dev_card *card, uint64_t address, uint64_t bytes, uint8_t access,
			bool later, bool *ret_is_pageable)
{
	return later ? dev_memory_will_be_usable(card, address, bytes, access, ret_is_pageable)
		     : dev_memory_is_usable(card, address, bytes, access, ret_is_pageable);
}

CUresult dev_copy_check(struct dev_card *card, const struct dev_command_copy *copy, bool later,
			bool *ret_is_pageable)
{
	bool src_is_pageable = false, dst_is_pageable = false;

	for (uint64_t z = 0; z < copy->depth; z++)
		for (uint64_t y = 0; y < copy->height; y++) {
			uint64_t dst = copy->dst + z * copy->dst_slice + y * copy->dst_pitch;
			uint64_t src = copy->src + z * copy->src_slice + y * copy->src_pitch;

			bool is_there = range_check(card, dst, copy->width, DEV_WINDOW_WRITE, later,
						    &dst_is_pageable);

			if (is_there && range_check(card, src, copy->width, DEV_WINDOW_READ, later,
						    &src_is_pageable))
				continue;
			dev_report_copy(dst, src, copy->width,
					is_there ? "its source" : "its destination");
			return CUDA_ERROR_INVALID_VALUE;
		}
	*ret_is_pageable = src_is_pageable || dst_is_pageable;
	return CUDA_SUCCESS;
}

CUresult dev_copy_check_set(struct dev_card *card, const struct dev_command_set *set, bool later)
{
	bool is_pageable;

	for (uint64_t y = 0; y < set->height; y++) {
		if (!range_check(card, set->dst + y * set->pitch, set->width * set->size,
				 DEV_WINDOW_WRITE, later, &is_pageable) ||
		    is_pageable) {
			dev_report_copy(set->dst + y * set->pitch, 0, set->width * set->size,
					"its destination");
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_SUCCESS;
}

static void copy_fill(uint64_t dst, const struct dev_command_set *set)
{
	void *to = dev_window_place(&dev_driver.window, dst);

	switch (set->size) {
	case 1:
		memset(to, (int)set->value, set->width);
		break;
	case 2:
		for (uint64_t i = 0; i < set->width; i++)
			((uint16_t *)to)[i] = (uint16_t)set->value;
		break;
	default:
		for (uint64_t i = 0; i < set->width; i++)
			((uint32_t *)to)[i] = set->value;
		break;
	}
}

void dev_copy_run_set(struct dev_context *context, const struct dev_command_set *set)
{
	bool is_usable = true, is_pageable;

	dev_window_enter(&dev_driver.window);
	for (uint64_t y = 0; y < set->height && is_usable; y++) {
		uint64_t dst = set->dst + y * set->pitch, bytes = set->width * set->size;

		is_usable = dev_memory_is_usable(context->card, dst, bytes, DEV_WINDOW_WRITE,
						 &is_pageable);
		if (is_usable) {
			copy_fill(dst, set);
			is_usable = dev_memory_is_usable(context->card, dst, bytes,
							 DEV_WINDOW_WRITE, &is_pageable);
		}
	}
	dev_window_leave(&dev_driver.window);
	if (!is_usable) {
		dev_report_copy(set->dst, 0, set->width * set->height * set->size, NULL);
		dev_context_break(context, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}
