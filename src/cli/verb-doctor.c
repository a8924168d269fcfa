/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice doctor`: looks for what keeps Sluice from working here. Each line says what was checked,
 * what was found, and, if something is missing, what to do. Changes nothing.
 */

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/parse.h"
#include "cli/reply.h"

static void look_at_daemon(struct slu_doctor *d)
{
	bool is_said = !d->where.socket && !d->where.is_system && getenv("SLUICE_SOCKET");
	char why[SLU_CLI_WORDS_MAX], then[SLU_CLI_WORDS_MAX];
	struct slu_cli_peer peer;
	int r;

	if (d->install.daemon[0])
		slu_doctor_say(d, SLU_VERDICT_FINE, "daemon", NULL, "%s", d->install.daemon);
	else
		slu_doctor_say(d, SLU_VERDICT_BAD, "daemon", "Reinstall Sluice.",
			       "sluiced is not beside this command");
	r = slu_cli_ping(&d->where, &peer);
	if (!r) {
		slu_doctor_say(d, SLU_VERDICT_FINE, "daemon", NULL, "answers at %s", peer.path);
	} else if (peer.refusal[0]) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "daemon", slu_cli_refusal_advice(r),
			       "at %s refuses the connection: %s", peer.path, peer.refusal);
	} else if (r == -ENOENT || r == -ECONNREFUSED) {
		slu_doctor_say(d, SLU_VERDICT_NOTE, "daemon",
			       d->where.is_system
				       ? "'systemctl enable --now sluiced.socket' starts it "
					 "when it is needed."
			       : d->where.socket ? "'sluiced --socket' starts one there."
						 : "'sluice run' starts one.",
			       "none runs at %s", peer.path);
	} else if (r == -ETIMEDOUT) {
		slu_cli_explain_silence(&peer, why, then);
		slu_doctor_say(d, SLU_VERDICT_BAD, "daemon", then, "does not answer at %s: %s",
			       peer.path, why);
	} else if (r == -ENOTSOCK) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "daemon",
			       is_said ? "SLUICE_SOCKET names it: correct it, or unset it."
			       : d->where.socket
				       ? "Give --socket the path of a daemon's socket, or "
					 "leave it out."
				       : "Remove it: no daemon starts like this.",
			       "%s, where the socket should be, is not a socket", peer.path);
	} else if ((r == -EPERM || r == -ENOTDIR) && !d->where.socket && !is_said) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "daemon",
			       "Remove it, or set XDG_RUNTIME_DIR to a folder of your own.",
			       "%s, where the socket should be, is %s", peer.path,
			       r == -EPERM ? "somebody else's, or open to others" : "not a folder");
	} else {
		slu_doctor_say(d, SLU_VERDICT_BAD, "daemon",
			       is_said ? "SLUICE_SOCKET names it: correct it, or unset it."
				       : "It belongs to somebody else, perhaps: leave --socket or "
					 "--system out.",
			       "cannot reach %s: %s", peer.path, strerror(-r));
	}
}

static void look_at_libraries(struct slu_doctor *d)
{
	if (d->install.opencl[0])
		slu_doctor_say(d, SLU_VERDICT_FINE, "opencl", NULL, "layer: %s", d->install.opencl);
	else
		slu_doctor_say(d, SLU_VERDICT_BAD, "opencl", slu_install_advice(),
			       "our OpenCL layer is not in %s", d->install.looked);
	if (d->install.cuda[0])
		slu_doctor_say(d, SLU_VERDICT_FINE, "cuda", NULL, "shim: %s", d->install.cuda);
	else
		slu_doctor_say(d, SLU_VERDICT_BAD, "cuda", slu_install_advice(),
			       "our CUDA library is not in %s", d->install.looked);
}

static void look_at_kernel(struct slu_doctor *d)
{
	struct utsname u;
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands > 0 && commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		slu_doctor_say(d, SLU_VERDICT_FINE, "kernel", NULL,
			       "membarrier: the gate costs a few nanoseconds");
	else
		slu_doctor_say(d, SLU_VERDICT_NOTE, "kernel", NULL,
			       "no membarrier: the gate costs some 20 ns more a launch");
	if (!uname(&u) && (strstr(u.release, "microsoft") || strstr(u.release, "WSL")))
		slu_doctor_say(d, SLU_VERDICT_NOTE, "kernel", NULL,
			       "WSL: Windows manages the GPU's memory as well; nothing was "
			       "measured there");
}

static void judge_devices(struct slu_doctor *d)
{
	if (!d->n_devices)
		slu_doctor_say(d, SLU_VERDICT_BAD, "devices",
			       "Install your card's driver. Without a card: sluice softgpu run -- "
			       "PROGRAM",
			       "neither CUDA nor OpenCL has a device here that could be shared");
}

static void look_at_memory(struct slu_doctor *d)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char size[SLU_SIZE_STRING_MAX];

	slu_doctor_say(d, SLU_VERDICT_FINE, "memory", NULL,
		       "%s of host memory are free for what leaves the device",
		       slu_size_format(size, bytes));
}

static int run(int argc, char **argv)
{
	struct slu_doctor d = { .findings = json_array() };

	slu_cli_parse(&slu_cli_doctor, argc, argv, &d);
	slu_install_find(&d.install);
	look_at_daemon(&d);
	slu_doctor_folders(&d);
	slu_doctor_settings(&d);
	look_at_libraries(&d);
	look_at_kernel(&d);
	slu_doctor_cuda(&d);
	slu_doctor_opencl(&d);
	judge_devices(&d);
	look_at_memory(&d);
	slu_doctor_disk(&d);
	if (d.where.is_json) {
		json_t *all = json_pack("{s:O, s:b}", "findings", d.findings, "ok", !d.n_bad);

		slu_reply_print(all, false);
		json_decref(all);
	} else {
		puts(d.n_bad ? "Something is in the way: see the lines marked BAD."
			     : "Nothing is in the way.");
	}
	json_decref(d.findings);
	return d.n_bad ? SLU_CLI_TROUBLE : SLU_CLI_OK;
}

const struct slu_cli_verb slu_cli_doctor = {
	.asks = SLU_CLI_ASKS_FACTS,
	.doc = "Look for what keeps Sluice from working here, and say what to do.\v"
	       "Exit status: 0 if nothing is in the way, 123 otherwise.\n\n"
	       "For example:\n"
	       "  sluice doctor\n"
	       "  sluice doctor --json",
	.run = run,
};
