/* SPDX-License-Identifier: Apache-2.0 */
#include "core/user.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

#define UNUSED_MAX 64 /* records of users without programs that are kept */

static struct slu_core_user *user_find(const struct slu_core *core, uint64_t id)
{
	struct slu_core_user *user;

	TAILQ_FOREACH (user, &core->users, link)
		if (user->id == id)
			return user;
	return NULL;
}

/* The one that has been unused for longest: unused ones are at the end, in their order. */
static void unused_drop(struct slu_core *core)
{
	struct slu_core_user *user;

	TAILQ_FOREACH (user, &core->users, link)
		if (!user->n_clients)
			break;
	TAILQ_REMOVE(&core->users, user, link);
	core->n_unused_users--;
	free(user);
}

static struct slu_core_user *user_new(struct slu_core *core, uint64_t id)
{
	struct slu_core_user *user = calloc(1, sizeof(*user));

	if (!user)
		return NULL;
	if (core->n_unused_users >= UNUSED_MAX)
		unused_drop(core);
	user->id = id;
	for (unsigned d = 0; d < SLU_CORE_DEVICES_MAX; d++)
		user->on[d].granted_ns = core->now_ns;
	TAILQ_INSERT_TAIL(&core->users, user, link);
	core->n_unused_users++;
	return user;
}

int slu_core_user_take(struct slu_core *core, uint64_t id, struct slu_core_user **ret_user)
{
	struct slu_core_user *user = user_find(core, id);

	if (!user)
		user = user_new(core, id);
	if (!user)
		return slu_error(-ENOMEM);
	if (!user->n_clients++) {
		core->n_unused_users--;
		TAILQ_REMOVE(&core->users, user, link);
		TAILQ_INSERT_HEAD(&core->users, user, link);
	}
	*ret_user = user;
	return 0;
}

void slu_core_user_give(struct slu_core *core, struct slu_core_user *user)
{
	if (--user->n_clients)
		return;
	core->n_unused_users++;
	TAILQ_REMOVE(&core->users, user, link);
	TAILQ_INSERT_TAIL(&core->users, user, link);
}

void slu_core_users_free(struct slu_core *core)
{
	struct slu_core_user *user;

	while ((user = TAILQ_FIRST(&core->users))) {
		assert(!user->n_clients);
		TAILQ_REMOVE(&core->users, user, link);
		free(user);
	}
}
