#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command as a person meets it: words, errors, exit codes. SLUICE_BUILD is set by meson.

bats_require_minimum_version 1.5.0

setup() {
	sluice=$SLUICE_BUILD/src/cli/sluice
	world=$(mktemp -d -p /dev/shm sluice-cli-XXXXXX)
	export XDG_RUNTIME_DIR=$world SLUICE_BOARDS=$world/boards
	unset SLUICE_SOCKET
	daemon=
}

teardown() {
	[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon" || true; }
	# a daemon that `sluice run` started would leave by itself, later; until it has left it writes here
	pkill -f "sluiced.*${world##*/}" || true
	while pgrep -f "sluiced.*${world##*/}" >/dev/null; do sleep 0.01; done
	rm -rf "$world"
}

start_daemon() {
	"$SLUICE_BUILD/src/daemon/sluiced" --user --foreground --socket "$world/sluice.sock" --state "$world" 3>&- 2>"$world/log" &
	daemon=$!
	until "$sluice" status --socket "$world/sluice.sock" >/dev/null 2>&1; do
		kill -0 "$daemon" || { cat "$world/log"; return 1; }
	done
}

@test "alone it prints the commands one needs" {
	run "$sluice"
	[ "$status" -eq 0 ]
	[[ $output == *"sluice run -- python chat.py"* ]]
	[ "$(grep -c '^  [a-z]' <<<"$output")" -eq 5 ]
}

@test "every command has help with an example" {
	for verb in run status park unpark kick set history logs doctor selftest; do
		run "$sluice" "$verb" --help
		[ "$status" -eq 0 ]
		[[ $output == *"For example"* ]]
	done
}

@test "-h is help everywhere, and help fits on 80 columns" {
	for words in --help "run -h" "status -h" "park -h" "unpark -h" "kick -h" "set -h" "history -h" "logs -h" "doctor -h" "selftest -h" \
		"softgpu -h" "softgpu run -h" "softgpu info -h" "softgpu reset -h"; do
		run "$sluice" $words
		echo "$words: $output"
		[ "$status" -eq 0 ]
		[[ ${output,,} == *"usage: sluice "* ]]
		[ "$(LC_ALL=C.UTF-8 wc -L <<<"$output")" -le 80 ]
	done
}

@test "a narrow terminal breaks lines between words" {
	start_daemon
	COLUMNS=60 run "$sluice" set slice --socket "$world/sluice.sock"
	[ "${#lines[@]}" -gt 2 ]
	[ "$(LC_ALL=C.UTF-8 wc -L <<<"$output")" -le 60 ]
	[[ $output != *…* ]]
}

@test "an unknown command says where the list is" {
	run "$sluice" frobnicate
	[ "$status" -eq 120 ]
	[[ $output == *"no command 'frobnicate'"*"sluice --help"* ]]
}

@test "help with a command is the command's own help" {
	run "$sluice" help run
	[ "$status" -eq 0 ]
	[ "$output" = "$("$sluice" run --help)" ]
	for words in "help help" "help --help" -h; do
		[ "$("$sluice" $words)" = "$("$sluice" help)" ]
	done
	[ "$("$sluice" -V)" = "$("$sluice" --version)" ]
	run "$sluice" --frob
	[[ $status -eq 120 && $output == *"there is no option '--frob'"* ]]
	run "$sluice" help ruin
	[ "$status" -eq 120 ]
	[[ $output == *"no command 'ruin'"*"Did you mean 'sluice run'?"* ]]
}

@test "a word that is nearly right is followed by the right one" {
	start_daemon
	run "$sluice" stauts
	[[ $status -eq 120 && $output == *"no command 'stauts'"*"Did you mean 'sluice status'?"* ]]
	run "$sluice" status --wach
	[[ $status -eq 120 && $output == *"'sluice status' has no option '--wach'"*"Did you mean '--watch'?"* ]]
	run "$sluice" softgpu run --memroy 64M -- true
	[[ $status -eq 120 && $output == *"no option '--memroy'"*"Did you mean '--memory'?"* ]]
	run "$sluice" run --name --nane --frob -- true
	[[ $status -eq 120 && $output == *"no option '--frob'"*"'sluice run --help' lists the options"* ]]
	run "$sluice" run --socket "$world/sluice.sock" -- echo --frob
	[[ $status -eq 0 && $output == --frob ]]
	run "$sluice" run --socket "$world/sluice.sock" echo --frob
	[[ $status -eq 0 && $output == --frob ]]
	run "$sluice" set visble_memory --socket "$world/sluice.sock"
	[[ $status -eq 122 && $output == *"no setting 'visble_memory'"*"Did you mean 'visible_memory'?"* ]]
	run "$sluice" set memory.bakcing 1G --socket "$world/sluice.sock"
	[[ $status -eq 122 && $output == *"Did you mean 'backing'?"* ]]
}

@test "a name is cut between characters, and one that is too long is refused by its bytes" {
	start_daemon
	name=$(printf '世%.0s' {1..22}) # 66 bytes
	ln -s /bin/sh "$world/$name"
	run "$sluice" run --socket "$world/sluice.sock" -- "$world/$name" -c 'echo "$SLUICE_NAME"'
	[[ $status -eq 0 && $output == "${name%世}" ]]
	for words in "run --name $name -- true" "set --program $name"; do
		run "$sluice" $words
		[[ $status -eq 120 && $output == *"expected a shorter name: 63 bytes"*"not '$name'"* ]]
	done
	run "$sluice" run --socket "$world/sluice.sock" --name "${name%世}" -- sh -c 'echo "$SLUICE_NAME"'
	[[ $status -eq 0 && $output == "${name%世}" ]]
}

@test "set shows machines the setting that was asked for, and none that is not there" {
	start_daemon
	run "$sluice" set --json foo --socket "$world/sluice.sock"
	[ "$status" -eq 122 ]
	[[ $output == *"no setting 'foo'"* && $output != *"{"* ]]
	"$sluice" set --json slice --socket "$world/sluice.sock" | python3 -c '
import json, sys
assert [s["name"] for s in json.load(sys.stdin)["settings"]] == ["slice"]'
}

@test "a budget that exceeds the machine's memory is refused with its size" {
	start_daemon
	for name in memory.backing user_backing pinned; do
		run "$sluice" set $name 60T --socket "$world/sluice.sock"
		[ "$status" -eq 122 ]
		[[ $output == *"60.0 TiB are more than the machine has, which is "*"GiB"* ]]
	done
	printf '[memory]\nbacking = 60T\n' >"$world/c"
	run "$SLUICE_BUILD/src/daemon/sluiced" --config "$world/c" --print-settings
	[ "$status" -eq 0 ]
	[[ $output == *"backing: 60.0 TiB are more than the machine has"* ]]
}

@test "run without a program, and with one that is not there" {
	run "$sluice" run
	[ "$status" -eq 120 ]
	run -127 "$sluice" run -- no-such-program
	[ "$status" -eq 127 ]
	[[ $output == *"no program 'no-such-program'"* ]]
	run "$sluice" run -- /etc/passwd
	[ "$status" -eq 126 ]
}

@test "run names the interpreter that a program lacks" {
	start_daemon
	printf '#!/no/such/interpreter -x\n' >"$world/script"
	printf '#!/bin/sh\r\n' >"$world/dos"
	chmod +x "$world/script" "$world/dos"
	run "$sluice" run --socket "$world/sluice.sock" -- "$world/script"
	[ "$status" -eq 126 ]
	[[ $output == *"cannot execute '$world/script': its interpreter '/no/such/interpreter' is not there."*"Install that"* ]]
	run "$sluice" run --socket "$world/sluice.sock" -- "$world/dos"
	[ "$status" -eq 126 ]
	[[ $output == *"its interpreter '/bin/sh\r' is not there."*"carriage return"* ]]
	printf 'int main(void) { return 0; }\n' >"$world/a.c"
	cc -Wl,--dynamic-linker=/no/such/loader -o "$world/a" "$world/a.c"
	run "$sluice" run --socket "$world/sluice.sock" -- "$world/a"
	[ "$status" -eq 126 ]
	[[ $output == *"its interpreter '/no/such/loader' is not there."* ]]
}

@test "nobody at the socket: what, why, what to do" {
	run "$sluice" status
	[ "$status" -eq 121 ]
	[[ $output == *"$world"*"sluice run"* ]]
	run "$sluice" status --system --socket "$world/none"
	[ "$status" -eq 121 ]
	[[ $output == *systemctl* ]]
}

@test "run is the program: status, output, arguments, environment" {
	start_daemon
	run "$sluice" run --socket "$world/sluice.sock" -- sh -c 'echo "$0 $1 $SLUICE_NAME"; exit 7' a b
	[ "$status" -eq 7 ]
	[ "$output" = "a b sh" ]
	run "$sluice" run --socket "$world/sluice.sock" --name coder -- sh -c 'echo "$SLUICE_NAME $SLUICE_SOCKET"'
	[ "$output" = "coder $world/sluice.sock" ]
}

@test "run starts a daemon of one's own when none runs" {
	run "$sluice" run -- sh -c 'echo hello; "$0" status >/dev/null && echo served' "$sluice"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = hello ]
	[ "${lines[1]}" = served ]
}

@test "the daemon that run starts keeps nothing of its caller open" {
	flock "$world/lock" taskset -c 0 "$sluice" run -- true 7>"$world/kept"
	flock --nonblock "$world/lock" true
	pid=$("$sluice" status --json | sed -n 's/^    "pid": \([0-9]*\),*$/\1/p' | head -n 1)
	[ -d "/proc/$pid/fd" ]
	[[ $(ls -l "/proc/$pid/fd") != *kept* ]]
	[ "$(taskset -p "$pid" | sed 's/.*: //')" = "$(taskset -p $$ | sed 's/.*: //')" ]
}

@test "run starts a daemon whose state has another folder than its socket" {
	mkdir "$world/state"
	XDG_STATE_HOME=$world/state run "$sluice" run -- "$sluice" status
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *"without Sluice"* ]]
	[ -S "$world/sluice/sluice.sock" ]
}

@test "a program that we cannot get into still runs, and is told so" {
	start_daemon
	printf 'int main(void) { return 3; }\n' >"$world/a.c"
	cc -static -o "$world/static" "$world/a.c"
	run "$sluice" run --socket "$world/sluice.sock" -- "$world/static"
	[ "$status" -eq 3 ]
	[[ $output == *"statically linked"*"starts without Sluice"* ]]
	printf '#! %s/static with words\n' "$world" >"$world/script"
	chmod +x "$world/script"
	run "$sluice" run --socket "$world/sluice.sock" -- "$world/script"
	[ "$status" -eq 3 ]
	[[ $output == *"script': it is statically linked"* ]]
	run "$sluice" run --require --socket "$world/sluice.sock" -- "$world/static"
	[ "$status" -eq 124 ]
}

@test "run says why a program was denied memory, and the way out" {
	start_daemon
	mkdir -m 700 "$SLUICE_BOARDS"
	"$sluice" set visible_memory 8M --socket "$world/sluice.sock"
	run "$sluice" softgpu run --memory 64M -- "$sluice" run --name chat --socket "$world/sluice.sock" -- \
		"$SLUICE_BUILD/test/clients/cuda-fill" --mib 16 --rounds 1
	[ "$status" -eq 4 ]
	[[ $output == *"sluice: 'chat' (pid "*") was denied GPU memory: it asked for 4.00 MiB in addition to its 8.00 MiB, "*"memory.visible_memory"* ]]
	[[ $output == *"'sluice set --program chat visible_memory 12M'"* ]]
}

@test "status with nobody there, for people and for machines" {
	start_daemon
	run "$sluice" status --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	[[ $output == *"No program is running"* ]]
	"$sluice" status --json --socket "$world/sluice.sock" | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert s["programs"] == [] and isinstance(s["devices"], list) and s["daemon"]["pid"] > 0, s'
}

@test "steering what is not there is refused with a reason" {
	start_daemon
	for verb in park unpark kick; do
		run "$sluice" "$verb" nobody --socket "$world/sluice.sock"
		[ "$status" -eq 122 ]
		[[ $output == *nobody* ]]
	done
	run "$sluice" set policy best --socket "$world/sluice.sock"
	[ "$status" -eq 122 ]
	[[ $output == *fifo* ]]
	run "$sluice" set no_such_setting 1 --socket "$world/sluice.sock"
	[ "$status" -eq 122 ]
	run "$sluice" set policy fifo --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
}

@test "set shows what is in force, and changes it for one program" {
	start_daemon
	run "$sluice" set --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	[[ $output == *"scheduler.policy"*"mlfq"*"memory.chunk"* ]]
	run "$sluice" set slice --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	[[ ${lines[1]} == "scheduler.slice  4s "* ]]
	run "$sluice" set memory.slice --socket "$world/sluice.sock"
	[ "$status" -eq 122 ]
	[[ $output == *"no setting 'memory.slice'"*"lists them"* ]]
	run "$sluice" set --program 'oll*' chunk 1M --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	run "$sluice" set chunk --socket "$world/sluice.sock"
	[[ $output == *"program oll*.chunk  1M"* ]]
	run "$sluice" set --program ollama chunk --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	[[ ${lines[1]} == "program ollama.chunk  1M "* && ${#lines[@]} -eq 2 ]]
	run "$sluice" set --program train --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	[[ $output == *"program train.visible_memory"*auto*"program train.chunk"*4M* && $output != *slice* ]]
	run "$sluice" set --program train slice --socket "$world/sluice.sock"
	[ "$status" -eq 122 ]
	[[ $output == *"no setting 'slice' of programs"* ]]
	run "$sluice" set --program ollama slice 1s --socket "$world/sluice.sock"
	[ "$status" -eq 122 ]
	[[ $output == *"no setting of [program ollama]"*visible_memory* ]]
}

@test "set says from when on a change counts, and takes nothing that means something else" {
	start_daemon
	run "$sluice" set slice 1s --socket "$world/sluice.sock"
	[ "$output" = "[scheduler] slice = 1s, until the daemon ends or reads its settings again." ]
	run "$sluice" set --program x chunk 1M --socket "$world/sluice.sock"
	[[ $output == *"for programs that start from now on." ]]
	run "$sluice" set boards "$world/boards" --socket "$world/sluice.sock"
	[[ $output == *"for devices that no program has used yet." ]]
	for name in visible_memory pinned backing; do
		run "$sluice" set $name 0 --socket "$world/sluice.sock"
		[ "$status" -eq 122 ]
		[[ $output == *"$name: 0 is less than 4K; expected auto, or a size such as 512M or 16G, from 4K to 64T"* ]]
		run "$sluice" set $name auto --socket "$world/sluice.sock"
		[ "$status" -eq 0 ]
	done
	"$sluice" set --json --socket "$world/sluice.sock" | python3 -c '
import json, sys
counts = {s["name"]: s["counts"] for s in json.load(sys.stdin)["settings"]}
assert counts["slice"] == "at once" and counts["boards"] == "new devices" and counts["staging"] == "new programs", counts'
}

@test "history takes the times that people write" {
	start_daemon
	for time in 500ms 30s 5m 5min 1h; do
		run "$sluice" history --last $time --socket "$world/sluice.sock"
		[ "$status" -eq 0 ]
	done
	run "$sluice" history --last 5 --socket "$world/sluice.sock"
	[ "$status" -eq 120 ]
	[[ $output == *"a time such as 500ms, 30s or 5m, not '5'"* ]]
}

@test "wrong words say what was expected" {
	start_daemon
	for words in "run --name= -- true" "run --socket= -- true" "park" "park a b" "park --all a" "set a b c" \
		"set --program= chunk" "status more" "history --turns"; do
		run "$sluice" $words
		echo "$words: $output"
		[ "$status" -eq 120 ]
		[[ $output == *"sluice "*"--help"* ]]
	done
	run "$sluice" park
	[[ $output == *"which program? 'sluice status'"* ]]
	run "$sluice" status --socket "$(printf '%0200d' 0)"
	[ "$status" -eq 121 ]
	[[ $output == *"at most 107 characters"* ]]
}

@test "a daemon that is stopped is not taken for one that answers" {
	start_daemon
	kill -STOP "$daemon"
	run "$sluice" doctor --socket "$world/sluice.sock"
	[ "$status" -eq 123 ]
	[[ $output == *"does not answer at $world/sluice.sock: pid $daemon is stopped"*"kill -CONT $daemon"* ]]
	run "$sluice" run --require --socket "$world/sluice.sock" -- echo started
	[ "$status" -eq 121 ]
	[[ $output == *"pid $daemon is stopped"*"kill -CONT $daemon"* && $output != *started* ]]
	run "$sluice" run --socket "$world/sluice.sock" -- echo started
	[ "$status" -eq 0 ]
	[[ $output == *"starts without Sluice"*started ]]
	run "$sluice" status --socket "$world/sluice.sock"
	[ "$status" -eq 121 ]
	[[ $output == *"is stopped"* ]]
	kill -CONT "$daemon"
}

@test "a folder for the socket that is not ours alone is named" {
	mkdir -m 755 "$world/sluice"
	for words in status "run --require -- true"; do
		run "$sluice" $words
		[ "$status" -eq 121 ]
		[[ $output == *"$world/sluice, where the daemon's socket should be, is somebody else's"*XDG_RUNTIME_DIR* ]]
	done
	run "$sluice" doctor
	[[ $status -eq 123 && $output == *"$world/sluice, where the socket should be"* ]]
	run "$SLUICE_BUILD/src/daemon/sluiced" --user
	[[ $status -eq 1 && $output == *"the folder $world/sluice cannot be used: it is somebody else's"* ]]
	rmdir "$world/sluice"
	echo >"$world/sluice"
	run "$sluice" status
	[[ $status -eq 121 && $output == *"$world/sluice"*"is not a folder"* ]]
}

@test "a negative value is a wrong value and no option" {
	start_daemon
	for value in -5s -0.5 -.5 -1; do
		run "$sluice" set slice $value --socket "$world/sluice.sock"
		[ "$status" -eq 122 ]
		[[ $output == *"slice: expected a time such as 250ms, 2s or 1h, from "*", not '$value'"* ]]
	done
	run "$sluice" set slice -x --socket "$world/sluice.sock"
	[ "$status" -eq 120 ]
}

@test "what cannot be written is no success" {
	start_daemon
	for words in "" --help --version "run --help" "status --socket $world/sluice.sock" "status --json --socket $world/sluice.sock" \
		"set --socket $world/sluice.sock" "set slice 1s --socket $world/sluice.sock" "history --socket $world/sluice.sock" \
		"park --all --socket $world/sluice.sock" "doctor --json" "softgpu --help" "softgpu info"; do
		run sh -c '"$@" >/dev/full' sh "$sluice" $words
		echo "$words: $output"
		[ "$status" -eq 124 ]
		[[ $output == *"could not be written: No space left on device." ]]
	done
	for words in --help --version --print-settings; do
		run sh -c '"$@" >/dev/full' sh "$SLUICE_BUILD/src/daemon/sluiced" $words
		[[ $status -eq 1 && $output == *"could not be written: No space left on device." ]]
	done
}

@test "a daemon that cannot start says what to do" {
	sluiced=$SLUICE_BUILD/src/daemon/sluiced
	run "$sluiced" --socket /nonexistent/folder/socket --state "$world"
	[ "$status" -eq 1 ]
	[[ $output == *"give --socket a path in a folder that exists"* ]]
	run "$sluiced" --socket "$world/s" --state /nonexistent
	[[ $status -eq 1 && $output == *"set SLUICE_STATE to a folder"* ]]
	run "$sluiced" --socket "$world/$(printf '%0200d' 0)" --state "$world"
	[[ $status -eq 1 && $output == *"at most 107 characters"* ]]
	run "$sluiced" --config /nonexistent
	[[ $status -eq 1 && $output == *"/nonexistent: No such file"*"leave --config out"* ]]
	printf '[scheduler]\npolicy = best\nlevels = 99\n[nothing]\n' >"$world/c"
	run "$sluiced" --config "$world/c"
	[[ $status -eq 1 && $output == *"c:2: policy: expected one of mlfq|rr|fifo"*"c:3: levels:"*"c:4: expected [daemon]"* ]]
}

@test "an overlay whose files are memory is no disk" {
	unshare --mount true 2>/dev/null || skip "no file system can be mounted here"
	mkdir "$world/t"
	printf '[memory]\ndisk_folder = %s\n' "$world/t/merged" >"$world/c"
	run unshare --mount sh -c 'mount -t tmpfs none "$1/t" && cd "$1/t" && mkdir lower upper work merged &&
		mount -t overlay none -o "lowerdir=$1/t/lower,upperdir=$1/t/upper,workdir=$1/t/work" merged || exit 77
		exec "$0" --user --foreground --config "$1/c" --socket "$1/s" --state "$1"' "$SLUICE_BUILD/src/daemon/sluiced" "$world"
	[ "$status" -ne 77 ] || skip "no file system can be mounted here"
	[ "$status" -eq 1 ]
	[[ $output == *"disk_folder: expected a folder on disk"*"$world/t/merged: its files are memory"* ]]
}

# Ends the daemon that `run` started, and waits until it has left.
end_own_daemon() {
	pid=$("$sluice" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["daemon"]["pid"])')
	kill "$pid"
	while [ -d "/proc/$pid" ]; do sleep 0.01; done
}

@test "the log of one's own daemon outlives it, and the next one adds to it" {
	run "$sluice" logs
	[ "$status" -eq 124 ]
	[[ $output == *"there is no log at $world/sluice/sluiced.log"*"sluice run"* ]]
	"$sluice" run -- true
	"$sluice" set slice 3s
	end_own_daemon
	run "$sluice" logs
	[ "$status" -eq 0 ]
	[[ $output == *"ready: serving at $world/sluice/sluice.sock"*"set [scheduler] slice = 3s"*"ending"* ]]
	"$sluice" run -- true
	run "$sluice" logs
	[ "$(grep -c "ready: serving" <<<"$output")" -eq 2 ]
	run "$sluice" logs --lines 2
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[0]} == *ending && ${lines[1]} == *"ready: serving"* ]]
}

@test "the log is renamed once when it is large, and logs goes on with the next" {
	mkdir -m 700 "$world/sluice"
	head -c 1048576 /dev/zero | tr '\0' '\n' >"$world/sluice/sluiced.log"
	"$sluice" run -- true
	[ "$(stat -c %s "$world/sluice/sluiced.log.1")" -eq 1048576 ]
	[ "$(stat -c %s "$world/sluice/sluiced.log")" -lt 4096 ]
	mkfifo "$world/followed"
	"$sluice" logs --follow --lines 1 >"$world/followed" 3>&- &
	exec 5<"$world/followed"
	read -r -u 5 line
	[[ $line == *"ready: serving"* ]]
	mv "$world/sluice/sluiced.log" "$world/sluice/sluiced.log.1"
	echo "a new file" >"$world/sluice/sluiced.log"
	read -r -u 5 line
	[ "$line" = "a new file" ]
	kill $!
}

@test "a line break in a value makes no line of the log" {
	"$sluice" run -- true
	"$sluice" set $'program x\ny.visible_memory' 1G
	run "$sluice" logs
	[ "$status" -eq 0 ]
	[[ $output == *"x?y"* ]]
	[[ $output != *$'\ny'* ]]
}

@test "logs of a daemon in the foreground are where it was started, and it says that it is ready" {
	start_daemon
	grep -q "ready: serving at $world/sluice.sock" "$world/log"
	run "$sluice" logs --socket "$world/sluice.sock"
	[ "$status" -eq 124 ]
	[[ $output == *"(pid $daemon) writes its log to where it was started"* ]]
}

@test "logs of the machine's daemon are the journal's" {
	printf '#!/bin/sh\necho "$@"\n' >"$world/journalctl"
	chmod +x "$world/journalctl"
	PATH=$world:$PATH run "$sluice" logs --system --follow --lines 5
	[ "$output" = "--no-pager --unit sluiced --follow --lines 5" ]
}

@test "doctor says what it found, also as JSON" {
	run "$sluice" doctor
	[ "$status" -eq 0 ]
	[[ $output == *"Nothing is in the way."* ]]
	"$sluice" doctor --json | python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["ok"] and d["findings"]'
}

@test "a word that is no text is told so" {
	start_daemon
	for words in "park" "kick" "set" "set --program"; do
		run "$sluice" $words $'x\xff' --socket "$world/sluice.sock"
		[ "$status" -eq 120 ] || [[ $words == set && $output == *"there is no setting"* ]]
	done
	[[ $output == *"not valid UTF-8"* ]]
}

@test "a small stack is enough" {
	start_daemon
	ulimit -s 128
	"$sluice" run --socket "$world/sluice.sock" -- true
	"$sluice" doctor --socket "$world/sluice.sock"
}

@test "who misses our libraries is told where they should be" {
	for words in doctor "softgpu run -- true"; do
		SLUICE_LIBDIR=$world/none run "$sluice" $words
		[ "$status" -ne 0 ]
		[[ $output == *"$world/none"*"SLUICE_LIBDIR"* ]]
	done
	start_daemon
	SLUICE_LIBDIR=$world/none run "$sluice" run --socket "$world/sluice.sock" -- true
	[[ $output == *"$world/none"*"SLUICE_LIBDIR"* ]]
}

@test "doctor tells what a daemon would not start with" {
	mkdir -p "$world/config/sluice"
	printf '[scheduler]\nslice = 300\n' > "$world/config/sluice/sluiced.conf"
	XDG_CONFIG_HOME=$world/config run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"BAD   settings "*"sluiced.conf:2: slice: expected a time"*"Mend that line"* ]]
}

@test "doctor speaks of the machine's daemon when that is meant, and of rights when these are missing" {
	SLUICE_SOCKET=$world/none run "$sluice" doctor --system
	[[ $output == *"none runs at "*"systemctl enable --now sluiced.socket"* ]] || [[ $output == *"answers at"* ]]
	[[ $output == *"sluiced --system --print-settings"* ]] || [[ $output == *"BAD   settings"* ]]
	mkdir -p "$world/config/sluice"
	ln -s "$world/config/sluice/sluiced.conf" "$world/config/sluice/sluiced.conf"
	XDG_CONFIG_HOME=$world/config run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"BAD   settings "*"Too many levels"* && $output != *"Mend that line"* ]]
	rm "$world/config/sluice/sluiced.conf"
	printf '[scheduler]\n' >"$world/config/sluice/sluiced.conf"
	chmod 000 "$world/config/sluice/sluiced.conf"
	as_others=()
	[ ! -r "$world/config/sluice/sluiced.conf" ] || as_others=(setpriv --bounding-set -dac_override,-dac_read_search)
	XDG_CONFIG_HOME=$world/config run "${as_others[@]}" "$sluice" doctor
	[[ $output == *"Permission denied"*"Let whoever starts the daemon read it"* && $output != *"Mend that line"* ]]
}

@test "doctor tells a disk_max that the disk does not have" {
	start_daemon
	run "$sluice" doctor --socket "$world/sluice.sock"
	[[ $output == *"bytes that do not fit in host memory go to"* ]] || skip "no folder is on disk here"
	[[ $output != *"so much is not free there"* ]]
	"$sluice" set disk_max 64T --socket "$world/sluice.sock"
	run "$sluice" doctor --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	[[ $output == *" free), at most 64.0 TiB, and so much is not free there"*"Free some space there, or lower disk_max"* ]]
}

@test "doctor names every platform and driver, and what can be done there" {
	run "$sluice" doctor
	[[ $output == *"the loader takes our layer in"*"Portable Computing Language: "*"objects that move"* ]]
	mkdir -p "$world/boards"
	LD_LIBRARY_PATH=$SLUICE_BUILD/devices/softgpu run "$sluice" doctor
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"driver: "*"softgpu/libcuda.so.1"*": CUDA "*"1 device"*"memory that moves behind its address"* ]]
}

@test "doctor tells where there is no device, and whose word that was" {
	! ldconfig -p | grep -q "libcuda\.so\.1" || skip "a CUDA driver is installed"
	mkdir "$world/none"
	OCL_ICD_VENDORS=$world/none run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"OCL_ICD_VENDORS says where to look: '$world/none'"* ]]
	[[ $output == *"BAD   devices   neither CUDA nor OpenCL has a device"*"sluice softgpu run"* ]]
	[[ $output == *"Something is in the way"* ]]
}

@test "doctor names the variable that leads to a wrong socket" {
	echo >"$world/file"
	SLUICE_SOCKET=$world/file/sluice.sock run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"cannot reach $world/file/sluice.sock"*"SLUICE_SOCKET names it"* ]]
}

@test "a relative socket is where the program was started" {
	cd "$world"
	near=${world##*/}.sock # by which teardown finds the daemon
	SLUICE_SOCKET=$near run "$sluice" run -- true
	[ "$status" -eq 0 ]
	[ -S "$world/$near" ]
	[ ! -d "$world/$world" ]
}

@test "doctor tells a layer that is named and not there" {
	OPENCL_LAYERS=/nowhere/layer.so run "$sluice" doctor
	[ "$status" -eq 0 ]
	[[ $output == *"OPENCL_LAYERS names /nowhere/layer.so: No such file or directory"* ]]
	OPENCL_LAYERS=$SLUICE_BUILD/devices/limiter/libsluice-limiter.so run "$sluice" doctor
	[[ $output != *"OPENCL_LAYERS names"* ]]
}

@test "doctor survives a driver that crashes, and one that is none" {
	printf 'void abort(void); int cuInit(unsigned f) { abort(); }\n' >"$world/a.c"
	for name in cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceTotalMem_v2 cuDeviceGetAttribute; do
		printf 'int %s(void) { return 0; }\n' "$name" >>"$world/a.c"
	done
	cc -w -shared -fPIC -o "$world/libcuda.so.1" "$world/a.c"
	LD_LIBRARY_PATH=$world run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"$world/libcuda.so.1 crashed when it was asked"*"repair the driver"*"see the lines marked BAD"* ]]
	printf 'int nothing;\n' >"$world/a.c"
	cc -shared -fPIC -o "$world/libcuda.so.1" "$world/a.c"
	LD_LIBRARY_PATH=$world run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"lacks calls that every driver has"* ]]
	SLUICE_CUDA_DRIVER=$world/none run "$sluice" doctor
	[ "$status" -eq 123 ]
	[[ $output == *"$world/none: No such file"*"unset it"* ]]
}

@test "the shim is where a driver is, and nowhere else" {
	[ ! -r /usr/lib/x86_64-linux-gnu/libcuda.so.1 ] && ! grep -qa /libcuda.so.1 /etc/ld.so.cache || skip "this machine has a CUDA driver"
	said='echo "preloaded: $LD_PRELOAD"'
	run "$sluice" run -- sh -c "$said"
	[[ $output == *"preloaded: " ]]
	LD_LIBRARY_PATH=$SLUICE_BUILD/devices/softgpu run "$sluice" run -- sh -c "$said"
	[[ $output == *"preloaded: "*"libcuda.so.1"* ]]
	run "$sluice" run -- "$sluice" softgpu run --memory 16M -- sh -c "$said"
	[[ $output == *"preloaded: "*"libcuda.so.1"* ]]
}

@test "completion knows programs, and what a program is given" {
	start_daemon
	source "$SLUICE_SOURCE/data/completions/sluice"
	sluice() {
		[ "$1" != --complete ] || { "$sluice" "$@" && return; }
		"$sluice" "$@" --socket "$world/sluice.sock"
	}
	COMP_WORDS=(sluice set "disk_f") COMP_CWORD=2
	_sluice
	[ "${COMPREPLY[*]}" = disk_folder ]
	COMP_WORDS=(sluice set priority "") COMP_CWORD=3
	_sluice
	[ "${COMPREPLY[*]}" = "high low normal" ]
	COMP_WORDS=(sluice set memory.allow_mapped o) COMP_CWORD=3
	_sluice
	[ "${COMPREPLY[*]}" = "off on" ]
	COMP_WORDS=(sluice set --program chat hash_clean a) COMP_CWORD=5
	_sluice
	[ "${COMPREPLY[*]}" = "always auto" ]
	COMP_WORDS=(sluice set --json policy fi) COMP_CWORD=4
	_sluice
	[ "${COMPREPLY[*]}" = fifo ]
	COMP_WORDS=(sluice set --program = chat prio) COMP_CWORD=5
	_sluice
	[ "${COMPREPLY[*]}" = priority ]
	_command_offset() { offset=$1; }
	COMP_WORDS=(sluice run -- cat /etc/host) COMP_CWORD=4
	_sluice
	[ "$offset" -eq 3 ]
	COMP_WORDS=(sluice run cat /etc/host) COMP_CWORD=3
	_sluice
	[ "$offset" -eq 2 ]
}

# What completion offers for a line; the last word is the one at the cursor.
offered() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=() offset=
	_sluice || true # nothing to offer
	echo "${COMP_WORDS[*]}: ${COMPREPLY[*]} $offset"
}

@test "completion takes names with blanks, the words of options, and asks the daemon of the line" {
	source "$SLUICE_SOURCE/data/completions/sluice"
	_command_offset() { offset=$1; }
	sluice() {
		[ "$1" != --complete ] || { "$sluice" "$@" && return; }
		echo "$*" >"$world/asked"
		printf '{\n  "devices": [\n    {\n      "name": "card"\n    }\n  ],\n'
		printf '  "programs": [\n    {\n      "name": "my chat",\n      "pid": 1\n    },\n    {\n      "name": "coder"\n    }\n  ]\n}\n'
	}
	for verb in park unpark kick; do
		offered sluice "$verb" ""
		[ "${#COMPREPLY[@]}" -eq 2 ]
		[ "${COMPREPLY[0]}" = 'my\ chat' ]
		[ "${COMPREPLY[1]}" = coder ]
	done
	offered sluice park --socket = /run/x c
	[ "${COMPREPLY[*]}" = coder ]
	[ "$(<"$world/asked")" = "status --json --socket /run/x" ]
	offered sluice set --system --program c
	[ "${COMPREPLY[*]}" = coder ]
	[ "$(<"$world/asked")" = "status --json --system" ]
	offered sluice park --a
	[ "${COMPREPLY[*]}" = --all ]
	offered sluice status --a
	[ -z "${COMPREPLY[*]}" ]
	offered sluice run --name coder --r
	[ "${COMPREPLY[*]}" = --require ]
	offered sluice run --name coder cat --name x
	[ "$offset" -eq 4 ]
	offered sluice softgpu run --memory 64M -- cat x
	[ "$offset" -eq 6 ]
	offered sluice softgpu run --profile rtx5090
	[ "${COMPREPLY[*]}" = rtx5090-x8 ]
	offered sluice run --socket "$world/ask"
	[ "${COMPREPLY[*]}" = "$world/asked" ]
	offered sluice history --last ""
	[ -z "${COMPREPLY[*]}" ]
}

@test "completion offers every command of help, and every long option of a command's help" {
	source "$SLUICE_SOURCE/data/completions/sluice"
	sluice() { "$sluice" "$@"; }
	for verb in $("$sluice" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		offered sluice "$verb"
		[[ " ${COMPREPLY[*]} " == *" $verb "* ]]
		[ "$verb" != softgpu ] || continue
		for option in $("$sluice" "$verb" --help | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p' | grep -v usage); do
			offered sluice "$verb" "$option"
			[[ " ${COMPREPLY[*]} " == *" $option "* ]]
		done
	done
	offered sluice softgpu r
	[ "${COMPREPLY[*]}" = "run reset" ]
	offered sluice --v
	[ "${COMPREPLY[*]}" = --version ]
}

@test "commands find the daemon of the state folder from another run-time folder" {
	mkdir -m 700 "$world/other" "$world/state"
	export XDG_STATE_HOME=$world/state
	"$sluice" run -- true
	[ "$(readlink "$world/state/sluice/socket")" = "$world/sluice/sluice.sock" ]
	export XDG_RUNTIME_DIR=$world/other
	run "$sluice" run --require -- sh -c 'echo "$SLUICE_SOCKET"'
	[[ $status -eq 0 && $output == "$world/sluice/sluice.sock" ]]
	run "$sluice" status
	[ "$status" -eq 0 ]
	run "$sluice" doctor
	[[ $status -eq 0 && $output == *"answers at $world/sluice/sluice.sock"* ]]
	# one that cannot be reached keeps the folder: both say who it is and what to do
	rm "$world/state/sluice/socket"
	run "$sluice" run -- true
	[ "$status" -eq 0 ]
	[[ $output == *"/roster is used by sluiced (pid "*"already."*"End it first, or set SLUICE_STATE to another folder."*"without Sluice"* ]]
	run "$sluice" doctor
	[[ $status -eq 123 && $output == *"another daemon (pid "*") uses the state folder $world/state/sluice"*"kill "* ]]
}

@test "the link to the socket goes with the daemon" {
	start_daemon
	[ "$(readlink "$world/socket")" = "$world/sluice.sock" ]
	kill "$daemon"
	wait "$daemon"
	daemon=
	[ ! -L "$world/socket" ]
}

@test "doctor finds folders in which no daemon could start" {
	mkdir -m 700 "$world/run" "$world/state"
	export XDG_RUNTIME_DIR=$world/run XDG_STATE_HOME=$world/state
	run "$sluice" doctor
	[[ $status -eq 0 && $output == *"a daemon can use $world/run/sluice and $world/state/sluice"* ]]
	[ -z "$(ls -A "$world/run")$(ls -A "$world/state")" ]
	mkdir -m 700 "$world/state/sluice" "$world/state/sluice/roster"
	run "$sluice" doctor
	[[ $status -eq 123 && $output == *"$world/state/sluice/roster, where the daemon keeps its roster, cannot be used: not a file"* ]]
	rmdir "$world/state/sluice/roster" "$world/state/sluice"
	unshare --user --map-root-user --mount true || skip "no file system can be mounted here"
	for full in run state; do
		run unshare --user --map-root-user --mount sh -c '
			mount -t tmpfs -o size=64k,mode=700 none "$1" && { cat /dev/zero >"$1/filler" 2>/dev/null; "$2" doctor; }' \
			sh "$world/$full" "$sluice"
		[[ $status -eq 123 && $output == *"folder $world/$full cannot be used: No space left on device"*"Free some space there"* ]]
		mkdir -m 700 "$world/$full/sluice"
		run unshare --user --map-root-user --mount sh -c '
			mount -t tmpfs -o ro,mode=700 none "$1/sluice" && "$2" doctor' sh "$world/$full" "$sluice"
		[[ $status -eq 123 && $output == *"cannot be used: Read-only file system"* ]]
	done
}

@test "a path that is no socket is called so" {
	echo kept >"$world/file"
	for words in "status --socket $world/file" "run --require --socket $world/file -- true"; do
		run "$sluice" $words
		[[ $status -eq 121 && $output == *"$world/file is not a socket."*"--socket"* ]]
	done
	run "$sluice" doctor --socket "$world/file"
	[[ $status -eq 123 && $output == *"$world/file, where the socket should be, is not a socket"* ]]
	run "$SLUICE_BUILD/src/daemon/sluiced" --socket "$world/file" --state "$world"
	[[ $status -eq 1 && $output == *"$world/file is not a socket"* ]]
	[ "$(cat "$world/file")" = kept ]
}

@test "names that nobody could read or write again are refused" {
	for name in $'a\nb' $'a\033[2Jb' ' a' 'a ' ' '; do
		run "$sluice" run --name "$name" -- true
		[[ $status -eq 120 && $output == *"without control characters, and without blanks at its ends"* && $output != *$'\033'* ]]
	done
	run "$sluice" run --name "a b" -- true
	[ "$status" -eq 0 ]
}

@test "a value out of range is told apart from one that is none" {
	start_daemon
	run "$sluice" set slice 100h --socket "$world/sluice.sock"
	[[ $status -eq 122 && $output == *"slice: 100h is more than 1h; expected a time such as 250ms, 2s or 1h, from 1ms to 1h"* ]]
	run "$sluice" set slice 1h --socket "$world/sluice.sock"
	[ "$status" -eq 0 ]
	run "$sluice" set slice --socket "$world/sluice.sock"
	[[ $output == *" 1h "* ]]
}
