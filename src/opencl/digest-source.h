/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel that computes the sums of a digest (client/digest.h). Item g of n takes the blocks
 * g * from, then each @step-th, @count of them at most; item 0 also takes the bytes behind the last
 * whole block. Each work-group, whose size is a power of two, adds up its sums in @scratch (two
 * words an item) and puts them into @sums.
 *
 *   kernel void slu_digest(global const uchar *data, ulong bytes, ulong from, ulong step,
 *                          ulong count, global ulong *sums, local ulong *scratch)
 *
 * For devices whose memory is little-endian.
 */
extern const char slu_digest_source[];
