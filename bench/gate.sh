#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the gate costs with nothing in the way, and whether a launch ever slips through after a drain.
exec "$SLUICE_BUILD/src/client/bench-gate"
