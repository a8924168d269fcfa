/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/interp/rest.h"

#include "softgpu/interp/interp.h"

void dev_interp_rest_init(struct dev_interp_rest *rest, const struct dev_interp_launch *launch)
{
	*rest = (struct dev_interp_rest){ .launch = launch };
	pthread_mutex_init(&rest->lock, NULL);
	pthread_cond_init(&rest->change, NULL);
}

void dev_interp_rest_deinit(struct dev_interp_rest *rest)
{
	pthread_cond_destroy(&rest->change);
	pthread_mutex_destroy(&rest->lock);
}

void dev_interp_rest_join(struct dev_interp_rest *rest)
{
	pthread_mutex_lock(&rest->lock);
	rest->n_threads++;
	pthread_mutex_unlock(&rest->lock);
}

void dev_interp_rest_leave(struct dev_interp_rest *rest)
{
	pthread_mutex_lock(&rest->lock);
	rest->n_threads--;
	/* they may have waited for this one */
	if (rest->is_gathering)
		pthread_cond_broadcast(&rest->change);
	pthread_mutex_unlock(&rest->lock);
}

static void rest_for_all_locked(struct dev_interp_rest *rest)
{
	rest->is_resting = true;
	pthread_mutex_unlock(&rest->lock);
	rest->launch->rest(rest->launch->userdata);
	pthread_mutex_lock(&rest->lock);
	rest->is_resting = false;
	__atomic_store_n(&rest->is_gathering, false, __ATOMIC_RELAXED);
	rest->n_rests++;
	pthread_cond_broadcast(&rest->change);
}

void dev_interp_rest_look(struct dev_interp_rest *rest)
{
	const struct dev_interp_launch *l = rest->launch;
	unsigned n_rests;

	if (!l->must_rest)
		return;
	if (!__atomic_load_n(&rest->is_gathering, __ATOMIC_RELAXED) && !l->must_rest(l->userdata))
		return;
	pthread_mutex_lock(&rest->lock);
	__atomic_store_n(&rest->is_gathering, true, __ATOMIC_RELAXED);
	rest->n_waiting++;
	n_rests = rest->n_rests;
	while (rest->n_rests == n_rests) {
		if (rest->n_waiting == rest->n_threads && !rest->is_resting)
			rest_for_all_locked(rest);
		else
			pthread_cond_wait(&rest->change, &rest->lock);
	}
	rest->n_waiting--;
	pthread_mutex_unlock(&rest->lock);
}
