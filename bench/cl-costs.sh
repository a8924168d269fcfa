#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the OpenCL layer adds to a call with nothing absent: over a driver that does nothing (nanoseconds, and instructions
# where valgrind can count them), and over PoCL, beside the plain call.
set -eu
unset SLUICE_SOCKET SLUICE_TORTURE OPENCL_LAYERS 2>/dev/null || :
bench="$SLUICE_BUILD/src/opencl/bench-cl-costs"
layer="$SLUICE_BUILD/src/opencl/libsluice-opencl.so"
echo "cl-costs: medians of 41 rounds of 21 batches of 256 calls, the same calls to the driver subtracted; one thread, no daemon; map and create are two calls each"
"$bench" "$layer" none
"$bench" "$layer" real
command -v valgrind >/dev/null || { echo "instructions are not counted: valgrind is not installed"; exit 0; }
# the whole run's instructions, with more calls by the layer, and with more to the driver
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$layer" none "$@" 2>&1 |
		sed -n 's/.*Collected : *//p'
}
for call in enqueue unordered set_arg create write map; do
	layered=$(count $call 20000 0)
	driven=$(count $call 0 20000)
	awk -v call=$call -v a="$layered" -v b="$driven" 'BEGIN {
		printf "{\"name\": \"cl-costs.%s_instructions\", \"value\": %.1f, \"unit\": \"instructions\", \"bound\": null, \"goal\": null, \"valid\": true}\n", call, (a - b) / 20000 }'
done
