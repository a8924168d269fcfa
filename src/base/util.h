/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The few macros that every file wants. Pure: no header beyond the language's own. */

#include <stddef.h>
#include <stdint.h>

#define SLU_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define SLU_MIN(a, b)                              \
	({                                         \
		__typeof__(a) _slu_a = (a);        \
		__typeof__(b) _slu_b = (b);        \
		_slu_a < _slu_b ? _slu_a : _slu_b; \
	})
#define SLU_MAX(a, b)                              \
	({                                         \
		__typeof__(a) _slu_a = (a);        \
		__typeof__(b) _slu_b = (b);        \
		_slu_a > _slu_b ? _slu_a : _slu_b; \
	})

#define slu_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define SLU_KIB (UINT64_C(1) << 10)
#define SLU_MIB (UINT64_C(1) << 20)
#define SLU_GIB (UINT64_C(1) << 30)

#define SLU_NS_PER_US UINT64_C(1000)
#define SLU_NS_PER_MS UINT64_C(1000000)
#define SLU_NS_PER_S  UINT64_C(1000000000)

/* Rounds @x up to a multiple of @to, which is a power of two. */
static inline uint64_t slu_round_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) & ~(to - 1);
}

/* Takes @b from @a, but not below zero. */
static inline uint64_t slu_sub_floor(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}
