#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long the software GPU takes to load a large module, and to run nothing.
set -eu
unset SLUICE_SOCKET LD_PRELOAD SLUICE_SOFTGPU_PROFILE 2>/dev/null || :
"$SLUICE_BUILD/bench/bench-softgpu-load" 2>/dev/null | grep '^{'
