#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `sluice softgpu` as a person meets it. SLUICE_BUILD is set by meson.

bats_require_minimum_version 1.5.0

setup() {
	sluice=$SLUICE_BUILD/src/cli/sluice
	world=$(mktemp -d -p /dev/shm sluice-cli-XXXXXX)
	export XDG_RUNTIME_DIR=$world SLUICE_BOARDS=$world/boards
	unset SLUICE_SOCKET LD_LIBRARY_PATH
	mkdir -m 700 "$SLUICE_BOARDS"
}

teardown() {
	rm -rf "$world"
}

@test "it needs a word, and has help" {
	run "$sluice" softgpu
	[ "$status" -eq 120 ]
	[[ $output == *"'run', 'info' and 'reset'"* ]]
	for words in --help "run --help" "info --help" "reset --help"; do
		run "$sluice" softgpu $words
		[ "$status" -eq 0 ]
		[[ $output == *"For example"* ]]
	done
}

@test "run makes the device, and the program finds our libraries" {
	run --separate-stderr "$sluice" softgpu run --memory 32M -- sh -c 'echo "$LD_LIBRARY_PATH"; exit 7'
	[ "$status" -eq 7 ]
	[ -z "$stderr" ]
	for library in libcuda.so.1 libcudart.so.13 libnvidia-ml.so.1; do
		found=
		for folder in ${output//:/ }; do
			[ ! -e "$folder/$library" ] || found=$folder
		done
		[ -n "$found" ]
	done
	run "$sluice" softgpu info
	[[ $output == "GPU 0"*"32.0 MiB"*"GPU-"* ]]
}

@test "info tells machines the same" {
	run "$sluice" softgpu info
	[[ $output == *"No software GPU was made yet"* ]]
	run "$sluice" softgpu info --json
	[ "$status" -eq 0 ]
	[ "$(python3 -c 'import json, sys; print(json.load(sys.stdin))' <<<"$output")" = "{'devices': []}" ]
	"$sluice" softgpu run --devices 2 --memory 16M -- true
	run "$sluice" softgpu info --json
	python3 - "$output" <<-'END'
	import json, sys
	devices = json.loads(sys.argv[1])["devices"]
	assert [d["index"] for d in devices] == [0, 1]
	assert all(d["total_bytes"] == 16 << 20 and d["used_bytes"] == 0 and d["programs"] == [] for d in devices)
	assert set(devices[0]["engines"]) == {"in", "out", "compute"}
	END
}

@test "a device that is another one is said so, and reset removes it" {
	"$sluice" softgpu run --memory 16M -- true
	run "$sluice" softgpu run --memory 32M -- true
	[ "$status" -eq 122 ]
	[[ $output == *"another one than asked for"*"sluice softgpu reset"* ]]
	run "$sluice" softgpu reset
	[ "$status" -eq 0 ]
	[ -z "$(ls "$SLUICE_BOARDS")" ]
	"$sluice" softgpu run --memory 32M -- true
}

@test "reset leaves a device that somebody uses, and says who" {
	mkfifo "$world/end"
	"$sluice" softgpu run --memory 16M -- "$SLUICE_BUILD/test/clients/cuda-fill" --mib 2 --endless <"$world/end" >"$world/out" 3>&- &
	program=$!
	exec 9>"$world/end"
	until "$sluice" softgpu info | grep -q cuda-fill; do
		kill -0 "$program"
	done
	run "$sluice" softgpu reset
	[ "$status" -eq 122 ]
	[[ $output == *"GPU 0 is used by"*"pid $program"* ]]
	[ "$("$sluice" softgpu reset --json 2>/dev/null | tr -d ' \n')" = '{"kept":[0],"removed":[]}' ]
	[ -e "$SLUICE_BOARDS/softgpu0" ]
	exec 9>&-
	wait "$program"
	[ "$("$sluice" softgpu reset --json | tr -d ' \n')" = '{"kept":[],"removed":[0]}' ]
	[ "$("$sluice" softgpu reset --json | tr -d ' \n')" = '{"kept":[],"removed":[]}' ]
	[ ! -e "$SLUICE_BOARDS/softgpu0" ]
}

@test "reset removes what nobody can read" {
	echo nonsense >"$SLUICE_BOARDS/softgpu0"
	run "$sluice" softgpu info
	[[ $output == *"softgpu0: its board is damaged"* ]]
	"$sluice" softgpu reset
	[ ! -e "$SLUICE_BOARDS/softgpu0" ]
}

@test "a device that cannot be made says why" {
	SLUICE_BOARDS=$world/none/boards run "$sluice" softgpu run -- echo started
	[ "$status" -eq 124 ]
	[[ $output == *"$world/none/boards: No such file or directory"*SLUICE_BOARDS* && $output != *started* ]]
	echo nonsense >"$SLUICE_BOARDS/softgpu0"
	run "$sluice" softgpu run -- echo started
	[ "$status" -eq 124 ]
	[[ $output == *"$SLUICE_BOARDS cannot be used: its files are damaged"*"softgpu reset"* ]]
	LD_LIBRARY_PATH=$SLUICE_BUILD/src/softgpu run "$sluice" doctor
	[[ $output == *"cuInit says error 304"*"'sluice softgpu run -- true' says why"* ]]
	"$sluice" softgpu reset
	run sh -c 'ulimit -v 300000; exec "$0" softgpu run -- echo started' "$sluice"
	[ "$status" -eq 124 ]
	[[ $output == *"gets no more memory"*"ulimit -v"* ]]
	for blocks in 16 4000; do # less than the board, and less than the memory
		"$sluice" softgpu reset
		run sh -c 'ulimit -f "$1"; exec "$0" softgpu run --memory 64M -- echo started' "$sluice" $blocks
		[ "$status" -eq 124 ]
		[[ $output == *"may not have files as large as its memory"*"ulimit -f"* && $output != *started* ]]
	done
}

@test "a limit of file sizes is none for a device that is there" {
	fill=$SLUICE_BUILD/test/clients/cuda-fill
	"$sluice" softgpu run --memory 64M -- "$fill" --mib 32 # what it leaves must be cleared
	run sh -c 'ulimit -f 4000; exec "$0" softgpu run --memory 64M -- "$1" --mib 32' "$sluice" "$fill"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a device that has no room says how much there is" {
	mkdir "$world/small"
	unshare --mount true 2>/dev/null || skip "no file system can be mounted here"
	run unshare --mount sh -c 'mount -t tmpfs -o size=8M none "$1" || exit 77; SLUICE_BOARDS=$1 exec "$0" softgpu run -- true' \
		"$sluice" "$world/small"
	[ "$status" -ne 77 ] || skip "no file system can be mounted here"
	[ "$status" -eq 124 ]
	[[ $output == *"no room for the software GPU's memory in $world/small: 7."*" MiB is free"*--memory* ]]
}

@test "what cannot be is said before the program starts" {
	run "$sluice" softgpu run --profile toaster -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"no software GPU like that: --profile=toaster."* && $output != *started* ]]
	SLUICE_SOFTGPU_FAULT=nonsense run "$sluice" softgpu run --memory 16M -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"SLUICE_SOFTGPU_FAULT=nonsense"* && $output != *started* ]]
	SLUICE_SOFTGPU_PREFETCH=zzz run "$sluice" softgpu run --memory 16M -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"SLUICE_SOFTGPU_PREFETCH=zzz"* && $output != *started* ]]
	SLUICE_SOFTGPU_TRACE=$world/none/trace run "$sluice" softgpu run --memory 16M -- echo started
	[ "$status" -eq 124 ]
	[[ $output == *"the trace $world/none/trace cannot be written: No such file"* ]]
	[[ $output != *SLUICE_BOARDS* && $output != *started* ]]
	run -127 "$sluice" softgpu run -- no-such-program
	[[ $output == *"no program 'no-such-program'"* ]]
}

@test "a program with a runtime that cannot work is told what to do" {
	printf 'int main(void) { return 3; }' >"$world/p.c"
	cc -o "$world/p" "$world/p.c"
	run "$sluice" softgpu run -- "$world/p"
	[ "$status" -eq 3 ]
	[ -z "$output" ]
	head -c 24 /dev/zero >"$world/segment"
	objcopy --add-section .nvFatBinSegment="$world/segment" "$world/p" "$world/static"
	run "$sluice" softgpu run -- "$world/static"
	[ "$status" -eq 3 ]
	[[ $output == *"NVIDIA's own runtime"*"-cudart shared"* ]]
}
