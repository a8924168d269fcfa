/* SPDX-License-Identifier: Apache-2.0 */

/* One direction of a connection: packets in order, and its end. */

#include <stdlib.h>

#include "base/error.h"
#include "sim/world.h"

int slu_sim_queue_init(struct slu_sim_queue *queue)
{
	*queue = (struct slu_sim_queue){ 0 };
	queue->packets = calloc(SLU_SIM_QUEUE_MAX, sizeof(*queue->packets));
	return queue->packets ? 0 : slu_error(-ENOMEM);
}

void slu_sim_queue_deinit(struct slu_sim_queue *queue)
{
	free(queue->packets);
	*queue = (struct slu_sim_queue){ 0 };
}

bool slu_sim_queue_put(struct slu_sim_queue *queue, const struct slu_message *m)
{
	struct slu_sim_packet *p;

	if (queue->n == SLU_SIM_QUEUE_MAX)
		return false;
	p = &queue->packets[(queue->first + queue->n++) % SLU_SIM_QUEUE_MAX];
	p->is_end = !m;
	if (m)
		p->message = *m;
	return true;
}

bool slu_sim_queue_take(struct slu_sim_queue *queue, struct slu_sim_packet *ret_packet)
{
	if (queue->n == 0)
		return false;
	*ret_packet = queue->packets[queue->first];
	queue->first = (queue->first + 1) % SLU_SIM_QUEUE_MAX;
	queue->n--;
	return true;
}

void slu_sim_queue_clear(struct slu_sim_queue *queue)
{
	queue->n = 0;
}
