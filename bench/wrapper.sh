#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the CUDA shim adds to a launch: nanoseconds, and instructions where valgrind can count them.
set -eu
unset SLUICE_SOCKET LD_PRELOAD 2>/dev/null || :
bench="$SLUICE_BUILD/src/cuda/bench-wrapper"
shim="$SLUICE_BUILD/src/cuda/libcuda.so.1"
driver="$SLUICE_BUILD/src/cuda/libwrapper-driver.so"
"$bench" "$shim" "$driver"
command -v valgrind >/dev/null || { echo "instructions are not counted: valgrind is not installed"; exit 0; }
# the whole run's instructions, with more calls by the shim, and with more to the driver
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$shim" "$driver" "$@" 2>&1 |
		sed -n 's/.*Collected : *//p'
}
none=$(count 0 0)
shimmed=$(count 100000 0)
driven=$(count 0 100000)
paired=$(count 0 0 100000)
awk -v a="$none" -v b="$shimmed" -v c="$driven" 'BEGIN {
	printf "{\"name\": \"wrapper.instructions\", \"value\": %.1f, \"unit\": \"instructions\", \"bound\": null, \"goal\": null, \"valid\": true}\n", (b - c) / 100000 }'
awk -v a="$none" -v b="$paired" 'BEGIN {
	printf "{\"name\": \"wrapper.pool.instructions\", \"value\": %.1f, \"unit\": \"instructions\", \"bound\": null, \"goal\": null, \"valid\": true}\n", (b - a) / 100000 }'
