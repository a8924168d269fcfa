#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the software GPU's copy engines do, as shares of what its profile promises.
set -eu
unset SLUICE_SOCKET LD_PRELOAD SLUICE_SOFTGPU_PREFETCH 2>/dev/null || :
"$SLUICE_BUILD/bench/bench-softgpu-bus" 2>/dev/null | grep '^{'
