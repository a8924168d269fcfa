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
	# a daemon that `sluice run` started would leave by itself, later; until it has left it writes here
	pkill -f "sluiced.*${world##*/}" || true
	while pgrep -f "sluiced.*${world##*/}" >/dev/null; do sleep 0.01; done
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
	[[ $output == "Removed GPU 0 with its memory."* ]]
	[ -z "$(ls "$SLUICE_BOARDS")" ]
	"$sluice" softgpu run --memory 32M -- true
}

@test "devices are made whatever the program may see of them" {
	CUDA_VISIBLE_DEVICES=-1 "$sluice" softgpu run --memory 16M --devices 2 -- true
	[ -e "$SLUICE_BOARDS/softgpu1" ]
	CUDA_VISIBLE_DEVICES=1 "$sluice" softgpu run --devices 2 -- "$SLUICE_BUILD/test/clients/cuda-fill" --mib 2
}

@test "what contexts take counts as used" {
	mkfifo "$world/end"
	SLUICE_SOFTGPU_CONTEXT_OVERHEAD=3M "$sluice" softgpu run --memory 16M -- "$SLUICE_BUILD/test/clients/cuda-fill" --mib 2 --wait \
		<"$world/end" >"$world/out" 3>&- &
	program=$!
	exec 9>"$world/end"
	until grep -q ready "$world/out"; do kill -0 "$program"; done
	"$sluice" softgpu info --json >"$world/info"
	run "$sluice" softgpu info
	exec 9>&-
	wait "$program"
	python3 - "$world/info" <<-'END'
	import json, sys
	device = json.load(open(sys.argv[1]))["devices"][0]
	overhead = device["overhead_bytes"]
	assert overhead >= 3 << 20, device
	assert device["used_bytes"] == overhead + sum(p["bytes"] for p in device["programs"]) >= 5 << 20, device
	END
	[[ $output == *"contexts and kernels"* ]]
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

@test "reset says what it removed" {
	run "$sluice" softgpu reset
	[ "$status" -eq 0 ]
	[[ $output == "There is no software GPU in $SLUICE_BOARDS: nothing to remove." ]]
	"$sluice" softgpu run --memory 16M -- true
	run "$sluice" softgpu reset
	[ "$status" -eq 0 ]
	[[ $output == "Removed GPU 0 with its memory."* ]]
	"$sluice" softgpu run --memory 16M --devices 3 -- true
	run "$sluice" softgpu reset
	[[ $output == "Removed GPU 0, 1 and 2 with their memory."* ]]
}

@test "status forgets a device that reset removed" {
	fill=$SLUICE_BUILD/test/clients/cuda-fill
	"$sluice" softgpu run --memory 16M -- "$sluice" run -- "$fill" --mib 2
	"$sluice" status | grep -q "16.0 MiB"
	"$sluice" softgpu reset
	[ "$("$sluice" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"])')" = "[]" ]
	# one that the daemon, which has another folder, never found
	export SLUICE_BOARDS=$world/others
	mkdir -m 700 "$SLUICE_BOARDS"
	"$sluice" softgpu run --memory 32M -- "$sluice" run -- "$fill" --mib 2
	"$sluice" softgpu reset
	[ "$("$sluice" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"])')" = "[]" ]
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
	LD_LIBRARY_PATH=$SLUICE_BUILD/devices/softgpu run "$sluice" doctor
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

@test "a device that does not fit says how much there is" {
	mkdir "$world/small"
	unshare --mount true 2>/dev/null || skip "no file system can be mounted here"
	run unshare --mount sh -c 'mount -t tmpfs -o size=8M none "$1" || exit 77; SLUICE_BOARDS=$1 exec "$0" softgpu run -- true' \
		"$sluice" "$world/small"
	[ "$status" -ne 77 ] || skip "no file system can be mounted here"
	[ "$status" -eq 124 ]
	[[ $output == *"no space for the software GPU's memory in $world/small: 7."*" MiB is free"*--memory* ]]
}

@test "what cannot be is said before the program starts" {
	run "$sluice" softgpu run --profile toaster -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"'toaster' is not a value for --profile"*"none, rtx5080, rtx5090-x8"* && $output != *started* ]]
	SLUICE_SOFTGPU_FAULT=nonsense run "$sluice" softgpu run --memory 16M -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"'nonsense' is not a value for SLUICE_SOFTGPU_FAULT."*"copy:3"* && $output != *started* ]]
	SLUICE_SOFTGPU_PREFETCH=zzz run "$sluice" softgpu run --memory 16M -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"'zzz' is not a value for SLUICE_SOFTGPU_PREFETCH."*"1 to 100"* && $output != *started* ]]
	SLUICE_SOFTGPU_TRACE=$world/none/trace run "$sluice" softgpu run --memory 16M -- echo started
	[ "$status" -eq 124 ]
	[[ $output == *"the trace $world/none/trace cannot be written: No such file"* ]]
	[[ $output != *SLUICE_BOARDS* && $output != *started* ]]
	run -127 "$sluice" softgpu run -- no-such-program
	[[ $output == *"no program 'no-such-program'"* ]]
}

@test "each wrong option is named, with what it may be" {
	while IFS='|' read -r words text; do
		run "$sluice" softgpu run $words -- echo started
		echo "$words: $output"
		[ "$status" -eq 120 ]
		[[ $output == *"'${words#* }' is not a value for ${words% *} (or SLUICE_SOFTGPU_"*").
"*"$text"* && $output != *started* ]]
	done <<-'END'
	--memory 0|a size above 0
	--memory lots|such as 64M
	--memory -1|a size above 0
	--profile RTX|none, rtx5080, rtx5090-x8 and rtx3080
	--scale 3|a power of two from 1 to 512
	--scale 1024|a power of two from 1 to 512
	--devices 0|from 1 to 8
	--devices 9|from 1 to 8
	--devices two|from 1 to 8
	END
	while IFS='|' read -r variable value text; do
		run env "SLUICE_SOFTGPU_$variable=$value" "$sluice" softgpu run --scale 1 -- echo started
		echo "$variable: $output"
		[ "$status" -eq 120 ]
		[[ $output == *"'$value' is not a value for SLUICE_SOFTGPU_$variable."*"$text"* && $output != *started* ]]
	done <<-'END'
	CAPABILITY|4.0|from 5.0 on
	MULTIPROCESSORS|0|from 1 to 256
	CONTEXT_OVERHEAD|much|such as 2M
	PREFETCH|101|from 1 to 100
	FAULT|copy|copy:3
	END
	run "$sluice" softgpu run --profile rtx5080 --memory 251M -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"'251M' is too large"*"With scale 256 it is at most 250 MiB"* && $output != *started* ]]
	run "$sluice" softgpu --memory 64M -- echo started
	[ "$status" -eq 120 ]
	[[ $output == *"'--memory' is not a command"*"'run', 'info' and 'reset'"* && $output != *started* ]]
	[ -z "$(ls "$SLUICE_BOARDS")" ]
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

@test "status has the numbers of info, whoever was used first" {
	client=$SLUICE_BUILD/test/clients/cuda-fill
	mkfifo "$world/second" "$world/first"
	"$sluice" softgpu run --devices 2 --memory 16M -- "$sluice" run --name second -- \
		"$client" --mib 4 --device 1 --wait <"$world/second" >"$world/out" 3>&- &
	exec 5>"$world/second"
	until grep -q ready "$world/out"; do kill -0 $!; done
	run "$sluice" status
	[[ $output == "GPU 1 "* && $output != *"GPU 0 "* ]]
	"$sluice" softgpu run --devices 2 --memory 16M -- "$sluice" run --name first -- \
		"$client" --mib 4 --device 0 --wait <"$world/first" >"$world/out0" 3>&- 5>&- &
	exec 6>"$world/first"
	until grep -q ready "$world/out0"; do kill -0 $!; done
	"$sluice" status --json >"$world/status"
	"$sluice" softgpu info --json >"$world/info"
	run "$sluice" status
	echo "$output"
	exec 5>&- 6>&-
	wait
	[[ $output == *"PID  GPU  STATE"*"first "*" 0 "* ]]
	python3 - "$world" <<-'END'
	import json, sys
	status, info = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("status", "info"))
	numbers = [(d["index"], d["uuid"]) for d in status["devices"]]
	assert numbers == [(d["index"], d["uuid"]) for d in info["devices"]], (status, info)
	assert {p["name"]: p["devices"][0]["index"] for p in status["programs"]} == {"first": 0, "second": 1}, status
	END
}

# Launches kernels that fail, and looks at nothing; "load" loads a text that is refused. Then the threads of a block and
# its bytes of shared memory, 32 and 0 unless given.
write_careless() {
	cat >"$world/careless.py" <<-'END'
	import ctypes, sys
	cu = ctypes.CDLL("libcuda.so.1")
	head = b".version 7.0\n.target sm_75\n.address_size 64\n"
	texts = {"good": head + b"""
	.visible .entry stray() {
	.reg .b32 %r<2>; .reg .b64 %d<2>;
	mov.u64 %d1, 4660;
	ld.global.u32 %r1, [%d1];
	st.global.u32 [%d1], %r1;
	ret; }""", "missing": head + b"""
	.extern .func cudaNotThere();
	.visible .entry stray() {
	call cudaNotThere, ();
	ret; }""", "load": head + b".visible .entry stray() { bogus.u32; }"}
	threads, shared = map(int, sys.argv[2:] or (32, 0))
	block = (threads, 1, 1, shared)
	cu.cuInit(0)
	for round in range(2):
	    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
	    cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
	    cu.cuModuleLoadData(ctypes.byref(module), texts[sys.argv[1]])
	    cu.cuModuleGetFunction(ctypes.byref(function), module, b"stray")
	    cu.cuLaunchKernel(function, 1, 1, 1, *block, None, None, None)
	    cu.cuCtxSynchronize()
	print("done")
	END
}

@test "a kernel that fails is reported once, where and why, to programs that do not look" {
	write_careless
	run --separate-stderr "$sluice" softgpu run --memory 32M -- python3 "$world/careless.py" good
	[ "$output" = done ]
	[[ $stderr == *"kernel 'stray' was ended: illegal address, a read of 4 bytes at 0x1234, by thread 0,0,0 of block 0,0,0 in line 8 of its text: ld.global.u32"* ]]
	[[ $stderr == *"SLUICE_LOG=stderr"*"SLUICE_SOFTGPU_REPORT=none"* ]]
	[ "$(grep -c "was ended" <<<"$stderr")" -eq 1 ]
	run --separate-stderr "$sluice" softgpu run -- python3 "$world/careless.py" missing
	[[ $stderr == *"kernel 'stray' cannot be launched: line 7, column "*"'cudaNotThere' is not defined"* ]]
	run --separate-stderr "$sluice" softgpu run -- python3 "$world/careless.py" load
	[[ $stderr == *"a module was refused: ptx: line 4, column "*bogus* ]]
}

@test "a launch that is refused for its size is reported like a kernel that fails" {
	write_careless
	run --separate-stderr "$sluice" softgpu run --memory 32M -- python3 "$world/careless.py" good 4096 0
	[ "$output" = done ]
	[[ $stderr == *"a launch of kernel 'stray' was refused: a grid of 1,1,1 blocks of 4096,1,1 threads has a size"* ]]
	[[ $stderr == *"SLUICE_LOG=stderr"* ]]
	[ "$(grep -c "was refused" <<<"$stderr")" -eq 1 ]
	run --separate-stderr "$sluice" softgpu run -- python3 "$world/careless.py" good 32 200000
	[[ $stderr == *"a launch of kernel 'stray' was refused: a block would have 200000 bytes of shared memory, and may have "* ]]
}

@test "a copy or a set that fails is reported like a kernel that fails" {
	cat >"$world/copies.py" <<-'END'
	import ctypes, sys
	cu = ctypes.CDLL("libcuda.so.1")
	context, memory, host = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.create_string_buffer(8192)
	cu.cuInit(0)
	cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
	cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096))
	size, freed = ctypes.c_size_t(4096), ctypes.c_uint64()
	cu.cuMemAlloc_v2(ctypes.byref(freed), ctypes.c_size_t(4 << 20))
	cu.cuMemFree_v2(freed)
	{"from": lambda: cu.cuMemcpyDtoH_v2(host, freed, size),
	 "to": lambda: cu.cuMemcpyDtoD_v2(freed, memory, size),
	 "set": lambda: cu.cuMemsetD8_v2(freed, 1, size),
	 "right": lambda: cu.cuMemcpyDtoH_v2(host, memory, size)}[sys.argv[1]]()
	print("done")
	END
	run --separate-stderr "$sluice" softgpu run --memory 32M -- python3 "$world/copies.py" right
	[ "$output$stderr" = done ]
	run --separate-stderr "$sluice" softgpu run -- python3 "$world/copies.py" from
	[ "$output" = done ]
	[[ $stderr == *"a copy of 4096 bytes from 0x"*" to 0x"*" was refused: its source is not memory that it may use"*"SLUICE_LOG=stderr"* ]]
	run --separate-stderr "$sluice" softgpu run -- python3 "$world/copies.py" to
	[[ $stderr == *"a copy of 4096 bytes from 0x"*" was refused: its destination is not memory"* ]]
	run --separate-stderr "$sluice" softgpu run -- python3 "$world/copies.py" set
	[[ $stderr == *"a set of 4096 bytes at 0x"*" was refused: its destination is not memory"* ]]
}

@test "such reports can be switched off, are all there in the log, and are never without run" {
	write_careless
	run --separate-stderr "$sluice" softgpu run --memory 32M --quiet -- python3 "$world/careless.py" good
	[ "$output$stderr" = done ]
	SLUICE_SOFTGPU_REPORT=none run --separate-stderr "$sluice" softgpu run -- python3 "$world/careless.py" good
	[ "$output$stderr" = done ]
	LD_LIBRARY_PATH=$SLUICE_BUILD/devices/softgpu run --separate-stderr python3 "$world/careless.py" good
	[ "$output$stderr" = done ]
	SLUICE_LOG=stderr run --separate-stderr "$sluice" softgpu run -- python3 "$world/careless.py" good
	[ "$(grep -c "was ended" <<<"$stderr")" -eq 2 ]
	[[ $stderr != *SLUICE_SOFTGPU_REPORT* ]]
	SLUICE_LOG=$world/log run --separate-stderr "$sluice" softgpu run -- python3 "$world/careless.py" load
	[ "$(grep -c "a module was refused" "$world/log")" -eq 2 ]
}
