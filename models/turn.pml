/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Turns and accounts together: two clients on a device of CAPACITY units, each needs NEED of them
 * to run (mode ALL) and makes LAUNCHES launches. Absolute limits, a roster, TURN and CLOSE with an
 * epoch, REST, eviction at rest only; one crash of the daemon and one death of a client anywhere.
 * The driver may refuse while a freed unit is not there yet; the client tries again.
 *
 * Claims:
 *   assertions   a launch has its units
 *   ends         everybody comes to an end and the accounts are zero (weak fairness)
 *   cap          what is held and what is charged stay within the capacity
 *   cover        what is held is charged
 * Broken variants, each must fail:
 *   -DEARLYCLOSE   a slice may end before the first launch            (ends)
 *   -DNOADOPT      a new daemon does not adopt reported turns         (ends)
 *   -DNOREASK      a client does not say WANT again after a rejoin    (ends)
 *   -DNOREST       units leave while commands are in flight           (assertions)
 */

#define N        2
#define CAPACITY 3
#define NEED     2
#ifndef LAUNCHES
#define LAUNCHES 2
#endif

/* the clients */
byte held[N], limit[N], epoch[N], left[N] = LAUNCHES, seq_seen[N];
bit closing[N], gate[N], fly[N], connected[N], alive[N] = 1, asked[N];

/* the daemon; charges are the roster's */
byte charge[N], sent[N], seq[N], turn[N], n_epochs = 1;
bit pending[N], joined[N], wants[N], is_closed[N];
bit up = 1;
byte n_crashes, n_deaths;

byte on_device; /* units, as the driver sees it */
bit ran[N];     /* has launched in this turn */

mtype = { LIMIT, TURN, CLOSE, END, SUMS, HELLO, WANT, REST };
chan to_client[N] = [3] of { mtype, byte, byte };
chan to_daemon[N] = [3] of { mtype, byte, byte };

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define CAN_SAY   (connected[i] && up && nfull(to_daemon[i]))

#ifdef EARLYCLOSE
#define SLICE_IS_OVER(k) (sent[k] >= NEED && !pending[k])
#else
#define SLICE_IS_OVER(k) (ran[k])
#endif

#ifdef NOREST
#define AT_REST (!gate[i])
#else
#define AT_REST (!gate[i] && !fly[i])
#endif

inline leave()
{
	alive[i] = 0; on_device = on_device - held[i];
	held[i] = 0; limit[i] = 0; gate[i] = 0; epoch[i] = 0
}

proctype client(byte i)
{
	mtype m;
	byte a, b;

end:	do
	:: atomic {
		alive[i] && !connected[i] && up && empty(to_client[i]) && nfull(to_daemon[i]) ->
		connected[i] = 1; seq_seen[i] = 0;
#ifndef NOREASK
		asked[i] = 0;
#endif
		limit[i] = held[i]; to_daemon[i]!HELLO,held[i],epoch[i]
	}
	:: atomic {
		alive[i] && nempty(to_client[i]) && (nfull(to_daemon[i]) || !up) ->
		to_client[i]?m,a,b;
		if
		:: m == LIMIT ->
			seq_seen[i] = a; limit[i] = b;
			if :: CAN_SAY -> to_daemon[i]!SUMS,a,MAX(limit[i], held[i]) :: else fi
		:: m == TURN -> epoch[i] = a; closing[i] = 0
		:: m == CLOSE ->
			if
			:: epoch[i] == a -> closing[i] = 1; gate[i] = 0
			:: epoch[i] != a -> if :: CAN_SAY -> to_daemon[i]!REST,a,0 :: else fi
			fi
		:: m == END -> connected[i] = 0; closing[i] = 0; limit[i] = held[i]
		fi
	}
	:: atomic {
		alive[i] && left[i] > 0 && !gate[i] && !asked[i] && epoch[i] == 0 && CAN_SAY ->
		asked[i] = 1; to_daemon[i]!WANT,0,0
	}
	/* open, fill, launch, end of a kernel */
	:: atomic {
		alive[i] && epoch[i] != 0 && !closing[i] && !gate[i] && held[i] == NEED ->
		gate[i] = 1
	}
	:: atomic {
		alive[i] && epoch[i] != 0 && !closing[i] && held[i] < NEED && held[i] < limit[i] &&
		on_device < CAPACITY ->
		held[i]++; on_device++
	}
	:: atomic {
		alive[i] && gate[i] && !fly[i] && left[i] > 0 ->
		assert(held[i] == NEED); fly[i] = 1; left[i]--; ran[i] = 1
	}
	:: atomic { fly[i] -> assert(held[i] == NEED); fly[i] = 0 }
	/* drained; a unit leaves */
	:: atomic {
#ifdef NOREST
		alive[i] && closing[i] && CAN_SAY ->
#else
		alive[i] && closing[i] && !fly[i] && CAN_SAY ->
#endif
		a = epoch[i]; epoch[i] = 0; closing[i] = 0; asked[i] = 0;
		to_daemon[i]!REST,a,(left[i] > 0)
	}
	:: atomic {
		alive[i] && held[i] > limit[i] && AT_REST && CAN_SAY ->
		held[i]--; on_device--; to_daemon[i]!SUMS,seq_seen[i],MAX(limit[i], held[i])
	}
	/* death, and the end of the program */
	:: atomic { alive[i] && n_deaths < 1 -> n_deaths++; leave(); fly[i] = 0 }
	:: atomic { alive[i] && left[i] == 0 && !fly[i] -> leave() }
	od
}

/* What the daemon does about client @k, the other one being @o. */

inline give_turn(k, o)
{
	joined[k] && alive[k] && wants[k] && turn[k] == 0 && turn[o] == 0 && nfull(to_client[k]) ->
	n_epochs++; turn[k] = n_epochs; wants[k] = 0; ran[k] = 0; to_client[k]!TURN,n_epochs,0
}

inline raise(k, o)
{
	joined[k] && turn[k] != 0 && !is_closed[k] && !pending[k] && sent[k] < NEED &&
	charge[o] + MAX(charge[k], sent[k] + 1) <= CAPACITY && nfull(to_client[k]) ->
	sent[k]++; charge[k] = MAX(charge[k], sent[k]); seq[k]++; pending[k] = 1;
	to_client[k]!LIMIT,seq[k],sent[k]
}

/* the one at rest gives what the holder lacks */
inline lower(k, o)
{
	joined[k] && turn[k] == 0 && turn[o] != 0 && !is_closed[o] && sent[o] < NEED &&
	!pending[k] && charge[k] == sent[k] && sent[k] > 0 && charge[0] + charge[1] >= CAPACITY &&
	nfull(to_client[k]) ->
	sent[k]--; seq[k]++; pending[k] = 1; to_client[k]!LIMIT,seq[k],sent[k]
}

inline release_later(k)
{
	!alive[k] && (joined[k] || charge[k] > 0) ->
	do :: to_daemon[k]?m,a,b :: empty(to_daemon[k]) -> break od;
	do :: to_client[k]?m,a,b :: empty(to_client[k]) -> break od;
	joined[k] = 0; charge[k] = 0; sent[k] = 0; turn[k] = 0; wants[k] = 0; pending[k] = 0;
	is_closed[k] = 0
}

proctype daemon()
{
	mtype m;
	byte i, a, b;

end:	do
	:: atomic {
		nempty(to_daemon[0]) || nempty(to_daemon[1]) ->
		if
		:: nempty(to_daemon[0]) -> i = 0
		:: nempty(to_daemon[1]) -> i = 1
		fi;
		to_daemon[i]?m,a,b;
		if
		:: m == HELLO ->
			joined[i] = 1; charge[i] = a; sent[i] = a; seq[i] = 0; pending[i] = 0;
			wants[i] = 0; is_closed[i] = 0;
#ifndef NOADOPT
			turn[i] = b   /* closed below if the other one has a turn as well */
#endif
		:: m == SUMS && joined[i] ->
			if
			:: a == seq[i] -> pending[i] = 0; charge[i] = MAX(b, sent[i])
			:: else
			fi
		:: m == WANT && joined[i] -> wants[i] = 1
		:: m == REST && joined[i] ->
			if
			:: turn[i] == a -> turn[i] = 0; is_closed[i] = 0; wants[i] = b
			:: else
			fi
		:: else
		fi;
		i = 0; m = 0; a = 0; b = 0
	}
	:: atomic { give_turn(0, 1) }
	:: atomic { give_turn(1, 0) }
	/* the slice is over, or both have a turn since a restart: then the second one is closed first */
	:: atomic {
		joined[0] && turn[0] != 0 && !is_closed[0] &&
		((wants[1] && SLICE_IS_OVER(0)) || turn[1] != 0) && nfull(to_client[0]) ->
		is_closed[0] = 1; to_client[0]!CLOSE,turn[0],0
	}
	:: atomic {
		joined[1] && turn[1] != 0 && !is_closed[1] &&
		((wants[0] && SLICE_IS_OVER(1)) || (turn[0] != 0 && !is_closed[0])) &&
		nfull(to_client[1]) ->
		is_closed[1] = 1; to_client[1]!CLOSE,turn[1],0
	}
	:: atomic { raise(0, 1) }
	:: atomic { raise(1, 0) }
	:: atomic { lower(0, 1) }
	:: atomic { lower(1, 0) }
	:: atomic { release_later(0); m = 0; a = 0; b = 0 }
	:: atomic { release_later(1); m = 0; a = 0; b = 0 }
	/* a crash and a restart: what was sent is still readable, what was not read is lost */
	:: atomic {
		n_crashes < 1 && nfull(to_client[0]) && nfull(to_client[1]) ->
		n_crashes++;
		i = 0;
		do
		:: i < N ->
			do :: to_daemon[i]?m,a,b :: empty(to_daemon[i]) -> break od;
			if
			:: connected[i] && alive[i] -> to_client[i]!END,0,0
			:: else -> skip
			fi;
			joined[i] = 0; turn[i] = 0; wants[i] = 0; pending[i] = 0; is_closed[i] = 0;
			seq[i] = 0; sent[i] = 0;
			i++
		:: else -> break
		od;
		i = 0; m = 0; a = 0; b = 0
	}
	od
}

init
{
	atomic { run client(0); run client(1); run daemon() }
}

#define finished (!alive[0] && !alive[1] && charge[0] == 0 && charge[1] == 0)

ltl ends { <> finished }
ltl cap { [] (held[0] + held[1] <= CAPACITY && charge[0] + charge[1] <= CAPACITY) }
ltl cover { [] ((held[0] <= charge[0] && held[1] <= charge[1]) || !alive[0] || !alive[1]) }
