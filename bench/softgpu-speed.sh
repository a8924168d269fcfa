#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How fast kernels run on the software GPU, beside native C for the same loop; one core.
set -eu
bench="$SLUICE_BUILD/devices/softgpu/interp/bench-speed"
if [ ! -x "$bench" ]; then
	echo "there is no clang that makes PTX; nothing was measured" >&2
	exit 0
fi
exec "$bench" "$SLUICE_BUILD/devices/softgpu/interp/kernels.ptx"
