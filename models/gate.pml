/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The gate, the drain and the eviction of one client: two program threads, the helper, and a
 * daemon that may miss its closing deadline, crash and come back.
 *
 * Claim (assertions): no thread launches, and nothing runs on the device, while the units are not
 * in place. Sequentially consistent: it says nothing about membarrier; the litmus test of
 * src/client does.
 *
 * Broken variants, each must fail:
 *   -DLATE_PUBLISH   a thread loads the word first and publishes itself afterwards
 *   -DPAGE           threads read the daemon's word instead of the local one
 * Variant that holds, and shows that the daemon's word adds nothing to safety:
 *   -DPAGE_READY     threads test the daemon's word and the local one
 */

#define THREADS  2
#define LAUNCHES 2   /* of each thread */
#define TURNS    4
#define REJOIN   100 /* REJOIN + epoch on the wire is a HELLO */

bit word;            /* the local word: written by the helper only */
bit page;            /* the daemon's word */
byte slot[THREADS];  /* a thread that has published itself */
byte fly;            /* work queued or running on the device */
bit placed;          /* every unit is on the device */
byte epoch;          /* the client's turn; 0: none */

mtype = { TURN, CLOSE, END };
chan to_client = [4] of { mtype, byte };
chan to_daemon = [4] of { byte };       /* REST(epoch), or REJOIN + epoch */
bit up = 1;
byte n_turns;
byte n_crashes;
bit done;

#if defined(PAGE)
#define OPEN page
#elif defined(PAGE_READY)
#define OPEN (page && word)
#else
#define OPEN word
#endif

active [THREADS] proctype thread()
{
	byte n = 0;

	do
	:: n < LAUNCHES ->
#ifdef LATE_PUBLISH
		if
		:: OPEN -> slot[_pid] = 1; assert(placed); fly++; n++; slot[_pid] = 0
		:: !OPEN -> skip
		fi
#else
		slot[_pid] = 1;
		if
		:: OPEN -> assert(placed); fly++; n++; slot[_pid] = 0
		:: !OPEN -> slot[_pid] = 0; (OPEN || done)
		fi
#endif
	/* the device ends a piece of work, which touched every unit */
	:: fly > 0 -> d_step { (fly > 0) -> assert(placed); fly-- }
	:: n == LAUNCHES && fly == 0 -> break
	:: done -> break
	od
}

inline answer(e)
{
	d_step {
		if
		:: up && nfull(to_daemon) -> to_daemon!e
		:: else
		fi
	}
}

active proctype helper()
{
	mtype m;
	byte e;

	do
	:: to_client?m,e ->
		if
		:: m == TURN -> epoch = e; placed = 1; word = 1      /* fill, then open */
		:: m == CLOSE ->
			if
			:: e == epoch ->
				word = 0;
				(slot[0] == 0 && slot[1] == 0);      /* membarrier, then the slots */
				(fly == 0);                          /* drain */
				epoch = 0;
				answer(e);
				assert(fly == 0);
				placed = 0                           /* evicted */
			:: else -> answer(e)
			fi
		:: m == END -> d_step { if :: up -> to_daemon!(REJOIN + epoch) :: else fi }
		fi
	:: done -> break
	od
}

active proctype daemon()
{
	byte current = 0, e;
	bit closing = 0, known = 1;

	do
	:: up && known && current == 0 && n_turns < TURNS && nfull(to_client) ->
		n_turns++; current = n_turns; page = 1; to_client!TURN,current
	:: up && known && current != 0 && !closing && nfull(to_client) ->
		page = 0; closing = 1; to_client!CLOSE,current
	/* the deadline is over: told as stuck, and a new turn before the REST came */
	:: up && known && closing && n_turns < TURNS && nfull(to_client) ->
		closing = 0; n_turns++; current = n_turns; page = 1; to_client!TURN,current
	:: up && nempty(to_daemon) -> to_daemon?e;
		if
		:: e >= REJOIN -> known = 1; current = e - REJOIN; closing = 0; page = (current != 0)
		:: e < REJOIN && e == current && closing -> current = 0; closing = 0
		:: else -> skip
		fi
	:: up && known && n_crashes < 1 && nfull(to_client) ->
		n_crashes++;
		atomic {
			do
			:: to_daemon?e
			:: empty(to_daemon) -> break
			od;
			current = 0; closing = 0; known = 0; to_client!END,0
		}
	:: n_turns == TURNS && current == 0 -> done = 1; break
	:: timeout -> done = 1; break
	od
}
