/* SPDX-License-Identifier: Apache-2.0 */

/* The streams that threads have for themselves, one a context; they go with their thread. */

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "softgpu/driver/context.h"
#include "softgpu/driver/execution/stream.h"

struct own_stream {
	LIST_ENTRY(own_stream) link;
	uint64_t context_id;
	struct dev_context *context;
	struct dev_stream *stream;
	uint64_t stream_id;
};
LIST_HEAD(own_streams, own_stream);

static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static pthread_key_t own_key;

static void drop_own_streams(void *data)
{
	struct own_streams *list = data;
	struct own_stream *own;

	while ((own = LIST_FIRST(list))) {
		struct dev_stream *stream = dev_stream_find(own->stream, own->stream_id);

		LIST_REMOVE(own, link);
		if (stream)
			dev_stream_free(stream, false);
		free(own);
	}
	free(list);
}

static void make_own_key(void)
{
	pthread_key_create(&own_key, drop_own_streams);
}

CUresult dev_stream_get_own(struct dev_context *context, struct dev_stream **ret_stream)
{
	struct own_streams *list;
	struct own_stream *own;
	CUresult result;

	pthread_once(&own_once, make_own_key);
	list = pthread_getspecific(own_key);
	if (!list) {
		list = calloc(1, sizeof(*list));
		if (!list || pthread_setspecific(own_key, list)) {
			free(list);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	LIST_FOREACH (own, list, link)
		if (own->context == context && own->context_id == context->id) {
			*ret_stream = own->stream;
			return CUDA_SUCCESS;
		}
	own = calloc(1, sizeof(*own));
	if (!own)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = dev_stream_new(context, 0, 0, false, &own->stream);
	if (result) {
		free(own);
		return result;
	}
	own->context = context;
	own->context_id = context->id;
	own->stream_id = own->stream->id;
	LIST_INSERT_HEAD(list, own, link);
	*ret_stream = own->stream;
	return CUDA_SUCCESS;
}
