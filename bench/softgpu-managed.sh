#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What managed memory makes of the bus when a kernel needs more than the card has: the baseline to beat, with default and
# with tuned prefetching; beside it the same work with copies of whole pieces.
set -eu
unset SLUICE_SOCKET LD_PRELOAD 2>/dev/null || :
for share in 51 1; do
	SLUICE_SOFTGPU_PREFETCH=$share "$SLUICE_BUILD/bench/bench-softgpu-bus" managed 2>/dev/null | grep '^{'
done
"$SLUICE_BUILD/bench/bench-softgpu-bus" explicit 2>/dev/null | grep '^{'
