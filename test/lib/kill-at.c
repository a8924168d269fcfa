/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kills the process that it is preloaded into at a message of its choice: a test that runs with 1,
 * 2, 3, … until the process lives to its end has been through every one of them.
 *
 *   KILL_AT=N        the N-th packet of this process: a packet that comes in is read, and then it
 *                    dies; of packets that go out, those with odd N are lost with it, and those
 *                    with even N have left
 *   KILL_IN=NAME     only in a process of that name (others, such as sluice before it becomes the
 *                    program, are left alone)
 *
 * Packets are those of the protocol between daemon and program. Questions of commands (ASK,
 * ANSWER) do not count: looking at the daemon does not change which message is the N-th.
 */

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* see wire/messages.def */
#define ASK    13
#define ANSWER 14

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t recvmsg(int fd, struct msghdr *msg, int flags);

static unsigned n_packets;

static bool is_message(int fd, const struct msghdr *msg)
{
	int type = 0;
	socklen_t size = sizeof(type);
	uint16_t kind;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET)
		return false;
	if (!msg->msg_iovlen || msg->msg_iov[0].iov_len < sizeof(kind))
		return false;
	memcpy(&kind, msg->msg_iov[0].iov_base, sizeof(kind));
	return kind && kind != ASK && kind != ANSWER;
}

/* Whether this packet is the one; its number is then odd or even as *ret_number says. */
static bool is_the_one(unsigned *ret_number)
{
	const char *at = getenv("KILL_AT"), *in = getenv("KILL_IN");

	if (!at || (in && strcmp(in, program_invocation_short_name)))
		return false;
	*ret_number = __atomic_add_fetch(&n_packets, 1, __ATOMIC_SEQ_CST);
	return *ret_number == strtoul(at, NULL, 10);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*next)(int, const struct msghdr *, int) =
		(__typeof__(next))dlsym(RTLD_NEXT, "sendmsg");
	unsigned number;
	bool dies = is_message(fd, msg) && is_the_one(&number);
	ssize_t n;

	if (dies && number % 2)
		kill(getpid(), SIGKILL);
	n = next(fd, msg, flags);
	if (dies)
		kill(getpid(), SIGKILL);
	return n;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*next)(int, struct msghdr *, int) = (__typeof__(next))dlsym(RTLD_NEXT, "recvmsg");
	ssize_t n = next(fd, msg, flags);
	unsigned number;

	if (n > 0 && is_message(fd, msg) && is_the_one(&number))
		kill(getpid(), SIGKILL);
	return n;
}
