/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/meter.h"

#include "base/util.h"

#define HALF_NS	  (SLU_NS_PER_S / 4)
#define LEVEL_NS  SLU_NS_PER_MS /* what makes level 1 */
#define LINES_MAX 32u		/* at once; */
#define LINE_NS	  SLU_NS_PER_S	/* … and then one in this time */
#define PROBES	  8u

static void user_halve(struct slu_meter_user *user, uint64_t now_ns)
{
	uint64_t n = slu_sub_floor(now_ns, user->halved_ns) / HALF_NS;

	user->spent_ns = n < 64 ? user->spent_ns >> n : 0;
	user->halved_ns += n * HALF_NS;
}

/* The record of @uid, or one that it takes over: of these few, of the user who used least. */
static struct slu_meter_user *user_find(struct slu_meter *meter, uid_t uid, uint64_t now_ns)
{
	struct slu_meter_user *least = NULL;

	for (unsigned i = 0; i < PROBES; i++) {
		struct slu_meter_user *user = &meter->users[(uid + i) % SLU_METER_USERS];

		user_halve(user, now_ns);
		if (user->uid == uid)
			return user;
		if (!least || user->spent_ns < least->spent_ns)
			least = user;
	}
	*least = (struct slu_meter_user){ .uid = uid, .halved_ns = now_ns };
	return least;
}

void slu_meter_spend(struct slu_meter *meter, uid_t uid, uint64_t now_ns, uint64_t spent_ns)
{
	user_find(meter, uid, now_ns)->spent_ns += spent_ns;
}

unsigned slu_meter_level(struct slu_meter *meter, uid_t uid, uint64_t now_ns)
{
	uint64_t ns = user_find(meter, uid, now_ns)->spent_ns / LEVEL_NS;
	unsigned level = 0;

	for (; ns && level < SLU_METER_LEVELS - 1; ns /= 2)
		level++;
	return level;
}

bool slu_meter_may_speak(struct slu_meter *meter, uid_t uid, uint64_t now_ns)
{
	struct slu_meter_user *user = user_find(meter, uid, now_ns);

	user->spoke_ns = SLU_MAX(user->spoke_ns, now_ns);
	if (user->spoke_ns >= now_ns + LINES_MAX * LINE_NS)
		return false;
	user->spoke_ns += LINE_NS;
	return true;
}
