#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the gate costs with nothing in the way, and whether a launch ever slips through after a drain.
set -eu
bench="$SLUICE_BUILD/src/client/bench-gate"
"$bench"
command -v valgrind >/dev/null || { echo "instructions are not counted: valgrind is not installed"; exit 0; }
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$1" 2>&1 | sed -n 's/.*Collected : *//p'
}
awk -v a="$(count 0)" -v b="$(count 100000)" 'BEGIN {
	printf "{\"name\": \"gate.instructions\", \"value\": %.1f, \"unit\": \"instructions\", \"bound\": null, \"goal\": null, \"valid\": true}\n", (b - a) / 100000 }'
