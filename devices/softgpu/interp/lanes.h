/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How handlers are written: once, as an expression of one lane, from which come the loop over a
 * whole row and the loop over the lanes of a mask. Files that include this are compiled once for
 * each machine of dev_interp_isa; DEV_ISA(x) gives their few outside names a suffix.
 */

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/code.h"

#define DEV_ISA_PASTE(name, isa) dev_interp_##name##_##isa
#define DEV_ISA_NAME(name, isa)	 DEV_ISA_PASTE(name, isa)
#define DEV_ISA(name)		 DEV_ISA_NAME(name, DEV_ISA_SUFFIX)

/* rows of one lane never depend on another lane, even where two operands are the same row */
#ifdef __clang__
#define EVERY_LANE_OF(n) \
	_Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < (n); i++)
#else
#define EVERY_LANE_OF(n) _Pragma("GCC ivdep") for (unsigned i = 0; i < (n); i++)
#endif
#define EVERY_LANE EVERY_LANE_OF(DEV_INTERP_LANES)

#define MASKED_LANES(mask)                                                                       \
	for (uint32_t _rest = (mask), i = 0; _rest && ((i = (uint32_t)__builtin_ctz(_rest)), 1); \
	     _rest &= _rest - 1)

/* of a team, the rows of one warp after the other: pointers are moved on by NEXT_STRIP */
#define EVERY_STRIP   for (unsigned k = 0; k < w->team; k++)
#define NEXT_STRIP(p) ((p) += DEV_INTERP_STRIP / sizeof(*(p)))

#define ROW(w, offset) __builtin_assume_aligned((w)->rows + (offset), 64)

/*
 * A handler of a whole row ends by going on to the next instruction, which is a jump and no call;
 * those that just return it are as good, only slower. With a sanitizer in the code it would be a
 * call, and the stack is not made for that.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEXT(w, in) return (in) + 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(undefined_behavior_sanitizer) || __has_feature(memory_sanitizer)
#define NEXT(w, in) return (in) + 1
#endif
#endif
#ifndef NEXT
#define NEXT(w, in) return (in)[1].run.all((w), (in) + 1)
#endif

/*
 * OPn(name, destination row, destination value, source row, source value, expression): @expr
 * speaks of a, b, c and e; rows are uint32_t, uint64_t, float or double.
 */
#define OP_(name, RD, VD, RS, VS, LOADS, expr, LOOP_ALL, LOOP_SOME)                        \
	static const struct dev_interp_insn *name##_all(struct dev_interp_warp *w,         \
							const struct dev_interp_insn *in)  \
	{                                                                                  \
		RD *pd = ROW(w, in->d);                                                    \
		const RS *pa = ROW(w, in->a), *pb = ROW(w, in->b), *pc = ROW(w, in->c);    \
                                                                                           \
		(void)pa, (void)pb, (void)pc;                                              \
		EVERY_STRIP                                                                \
		{                                                                          \
			LOOP_ALL                                                           \
			{                                                                  \
				LOADS(VS)                                                  \
				pd[i] = (RD)(VD)(expr);                                    \
			}                                                                  \
			NEXT_STRIP(pd), NEXT_STRIP(pa), NEXT_STRIP(pb), NEXT_STRIP(pc);    \
		}                                                                          \
		NEXT(w, in);                                                               \
	}                                                                                  \
	static const struct dev_interp_insn *name##_some(struct dev_interp_warp *w,        \
							 const struct dev_interp_insn *in) \
	{                                                                                  \
		RD *pd = ROW(w, in->d);                                                    \
		const RS *pa = ROW(w, in->a), *pb = ROW(w, in->b), *pc = ROW(w, in->c);    \
                                                                                           \
		(void)pa, (void)pb, (void)pc;                                              \
		LOOP_SOME                                                                  \
		{                                                                          \
			LOADS(VS)                                                          \
			pd[i] = (RD)(VD)(expr);                                            \
		}                                                                          \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_handler name = { name##_all, name##_some, true };

#define LOADS_1(V) V a = (V)pa[i];
#define LOADS_2(V)      \
	V a = (V)pa[i]; \
	V b = (V)pb[i];
#define LOADS_3(V)      \
	V a = (V)pa[i]; \
	V b = (V)pb[i]; \
	V c = (V)pc[i];

#define OP1(name, RD, VD, RS, VS, expr) \
	OP_(name, RD, VD, RS, VS, LOADS_1, expr, EVERY_LANE, MASKED_LANES(w->mask))
#define OP2(name, RD, VD, RS, VS, expr) \
	OP_(name, RD, VD, RS, VS, LOADS_2, expr, EVERY_LANE, MASKED_LANES(w->mask))
#define OP3(name, RD, VD, RS, VS, expr) \
	OP_(name, RD, VD, RS, VS, LOADS_3, expr, EVERY_LANE, MASKED_LANES(w->mask))
