/* SPDX-License-Identifier: Apache-2.0 */

/* One direction of a connection: packets in order, and its end. */

#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
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

static struct slu_sim_packet *packet_at(const struct slu_sim_queue *queue, unsigned i)
{
	return &queue->packets[(queue->first + i) % SLU_SIM_QUEUE_MAX];
}

bool slu_sim_queue_put(struct slu_sim_queue *queue, const struct slu_message *m)
{
	struct slu_sim_packet *p;

	if (queue->n == SLU_SIM_QUEUE_MAX)
		return false;
	p = packet_at(queue, queue->n++);
	p->is_end = !m;
	if (m)
		p->message = *m;
	return true;
}

bool slu_sim_queue_put_newest(struct slu_sim_queue *queue, const struct slu_message *m,
			      unsigned n_sent)
{
	struct slu_message newest = *m;
	unsigned n_kept = SLU_MIN(n_sent, queue->n);

	/* what is before the end of a connection was on another one */
	for (unsigned i = n_kept; i < queue->n; i++)
		if (packet_at(queue, i)->is_end)
			n_kept = i + 1;
	for (unsigned i = n_kept; i < queue->n; i++)
		if (!slu_message_supersede(&newest, &packet_at(queue, i)->message))
			*packet_at(queue, n_kept++) = *packet_at(queue, i);
	queue->n = n_kept;
	return slu_sim_queue_put(queue, &newest);
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
