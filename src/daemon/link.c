/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/link.h"
#include "wire/path.h"

void slu_link_make(const char *state, const char *socket)
{
	char path[PATH_MAX], fresh[PATH_MAX], real[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" SLU_PATH_LINK_NAME, state) >= (int)sizeof(path) ||
	    snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh) ||
	    !realpath(socket, real))
		return;
	/* a rename replaces the link of a killed daemon, so the folder never lacks one */
	unlink(fresh);
	if (symlink(real, fresh) || rename(fresh, path))
		slu_log(WARNING, "cannot make %s: %m, ignoring", path);
}

void slu_link_remove(const char *state)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" SLU_PATH_LINK_NAME, state) < (int)sizeof(path))
		unlink(path);
}
