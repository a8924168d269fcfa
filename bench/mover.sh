#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The host's side of a move beside the best copy of the machine, both directions at once.
set -eu
echo "mover: two devices without copy times, 256 MiB each in units of 4 MiB, rings of 8 MiB; the best of 9 rounds"
"$SLUICE_BUILD/src/client/bench-mover"
