#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How many units programs of many families bring in, beside Belady's optimum and the least recently named. Pure: the same on every machine.
set -eu
echo "foresight: units of one size, one window a family; the number is the family's parameter (lib/families.c); counted are units that come in again"
"$SLUICE_BUILD/bench/bench-foresight" "$@"
