/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Accounts over crash and death: two clients, one tier of CAPACITY bytes. Each client holds bytes
 * up to its limit without a message; the daemon sends absolute limits with a sequence number, one
 * unanswered at a time, and charges a raise before it sends it.
 *
 * Claim (assertion): both together never hold more than the capacity, over one crash of the daemon
 * and one death of a client at any step.
 *
 * -DROSTER is the protocol: charges are written down before a raise is sent and outlive the daemon.
 * Broken variants, each must fail:
 *   without -DROSTER   a new daemon starts from nothing
 *   -DNOVOID           unspent credit survives the connection
 *   -DANYSEQ           any report lowers the charge, not only the answer to the last LIMIT
 */

#define N        2
#define CAPACITY 2
#ifndef MOVES
#define MOVES 3   /* takes and frees of the programs, in all */
#endif
#define LIMITS 2  /* on one connection, for each client */

byte held[N], limit[N], seq_seen[N];
bit alive[N] = 1, connected[N];

byte charge[N], sent[N], roster[N], seq[N];
bit pending[N], joined[N];
bit up = 1;
byte n_crashes, n_deaths, n_moves;

mtype = { LIMIT, END, SUMS, HELLO };
chan to_client[N] = [2] of { mtype, byte, byte };
chan to_daemon[N] = [2] of { mtype, byte, byte, byte };

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define CAN_SAY   (connected[i] && up && nfull(to_daemon[i]))

inline say_sums()
{
	to_daemon[i]!SUMS,seq_seen[i],MAX(limit[i], held[i]),0
}

proctype client(byte i)
{
	mtype m;
	byte v, q;

	do
	/* an allocation spends credit without a message */
	:: alive[i] && held[i] < limit[i] && n_moves < MOVES ->
		atomic {
			if
			:: alive[i] && held[i] < limit[i] ->
				held[i]++; n_moves++;
				assert(held[0] + held[1] <= CAPACITY)
			:: else
			fi
		}
	/* more is held than allowed: give up and say so */
	:: alive[i] && held[i] > limit[i] ->
		atomic {
			if
			:: held[i] > limit[i] ->
				held[i]--;
				if :: CAN_SAY -> say_sums() :: else fi
			:: else
			fi
		}
	/* the program frees, and may say so */
	:: alive[i] && held[i] > 0 && n_moves < MOVES ->
		atomic {
			if
			:: held[i] > 0 ->
				held[i]--; n_moves++;
				if :: CAN_SAY -> say_sums() :: true :: else fi
			:: else
			fi
		}
	:: alive[i] && nempty(to_client[i]) ->
		atomic {
			to_client[i]?m,q,v;
			if
			:: m == LIMIT ->
				seq_seen[i] = q; limit[i] = v;
				if :: CAN_SAY -> say_sums() :: else fi
			:: m == END ->
				connected[i] = 0;
#ifndef NOVOID
				limit[i] = held[i]
#endif
			fi
		}
	:: alive[i] && !connected[i] && up && empty(to_client[i]) && nfull(to_daemon[i]) ->
		atomic {
			connected[i] = 1; seq_seen[i] = 0;
			to_daemon[i]!HELLO,0,held[i],0
#ifndef NOVOID
			; limit[i] = held[i]
#endif
		}
	:: alive[i] && n_deaths < 1 ->
		atomic { n_deaths++; alive[i] = 0; held[i] = 0; limit[i] = 0 }
	:: !alive[i] -> break
	:: timeout -> break
	od
}

inline send_limit()
{
	sent[i] = v; seq[i]++; pending[i] = 1; to_client[i]!LIMIT,seq[i],v
}

proctype daemon()
{
	mtype m;
	byte i, v, q, o, x;

	do
	:: up ->
		atomic {
			if :: i = 0 :: i = 1 fi;
			o = 1 - i;
			if
			/* a new limit, any value that is allowed */
			:: joined[i] && alive[i] && !pending[i] && seq[i] < LIMITS && nfull(to_client[i]) ->
				if :: v = 0 :: v = 1 :: v = CAPACITY fi;
				if
				:: v > sent[i] && charge[o] + MAX(charge[i], v) <= CAPACITY ->
					charge[i] = MAX(charge[i], v); roster[i] = charge[i];
					send_limit()
				:: v < sent[i] -> send_limit()
				:: else
				fi
			:: nempty(to_daemon[i]) ->
				to_daemon[i]?m,q,x,_;
				if
				:: m == HELLO ->
					joined[i] = 1; charge[i] = x; roster[i] = x; sent[i] = x;
					seq[i] = 0; pending[i] = 0
				:: m == SUMS && joined[i] ->
#ifdef ANYSEQ
					if :: q == seq[i] -> pending[i] = 0 :: else fi;
					charge[i] = x; roster[i] = x
#else
					if
					:: q == seq[i] ->
						pending[i] = 0; charge[i] = MAX(x, sent[i]);
						roster[i] = charge[i]
					:: else
					fi
#endif
				:: else
				fi
			:: !alive[i] && empty(to_daemon[i]) && charge[i] > 0 ->
				charge[i] = 0; roster[i] = 0; joined[i] = 0
			:: else
			fi
		}
	/* a crash and a restart: what was sent is still readable, what was not read is lost */
	:: up && n_crashes < 1 ->
		atomic {
			n_crashes++;
			i = 0;
			do
			:: i < N ->
				do
				:: to_daemon[i]?m,q,x,_
				:: empty(to_daemon[i]) -> break
				od;
				if
				:: connected[i] && alive[i] && nfull(to_client[i]) -> to_client[i]!END,0,0
				:: else -> connected[i] = 0
				fi;
				joined[i] = 0; pending[i] = 0; seq[i] = 0; sent[i] = 0;
#ifdef ROSTER
				charge[i] = roster[i];
#else
				charge[i] = 0;
#endif
				i++
			:: else -> break
			od
		}
	:: timeout -> break
	od
}

init
{
	atomic { run client(0); run client(1); run daemon() }
}
