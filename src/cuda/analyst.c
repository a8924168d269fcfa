/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/analyst.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "ptx/ptx.h"

static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool has_thread; /* guarded by slu_cuda.lock, as is the next */
static bool is_wanted;

/* Where its parameters are. Return: NULL without memory. */
static struct slu_cuda_kernel_param *params_of(const struct slu_ptx_function *f)
{
	struct slu_cuda_kernel_param *params = calloc(f->n_params + 1, sizeof(*params));

	for (unsigned i = 0; params && i < f->n_params; i++)
		params[i] = (struct slu_cuda_kernel_param){ (uint32_t)f->params[i]->offset,
							    (uint32_t)f->params[i]->size };
	return params;
}

/* The kernel @k of @module; NULL: the text is none, or not what runs. With the lock. */
static void kernel_analyse_locked(struct slu_cuda_kernel *k, const struct slu_ptx_module *module)
{
	const struct slu_ptx_function *f = NULL;
	struct slu_cuda_kernel_param *params = NULL;
	struct slu_predict_kernel *predict = NULL;

	slu_lock_give(&slu_cuda.lock);
	if (module)
		f = slu_ptx_module_kernel(module, k->name);
	if (f && f->is_defined)
		params = params_of(f);
	if (params && slu_predict_kernel_new(module, f, &predict))
		predict = NULL;
	slu_lock_take(&slu_cuda.lock);
	slu_cuda_kernels_know_locked(k, predict, params, f ? f->n_params : 0,
				     f ? f->param_bytes : 0);
}

static struct slu_ptx_module *text_parse(const struct slu_cuda_text *text)
{
	char *unpacked = slu_cuda_text_unpack(text);
	struct slu_ptx_module *module = NULL;
	struct slu_ptx_error error;

	if (unpacked && slu_ptx_parse(unpacked, text->text_bytes, &module, &error))
		module = NULL;
	free(unpacked);
	if (module && module->target_suffix && !text->may_have_suffix) {
		slu_ptx_module_free(module);
		module = NULL;
	}
	return module;
}

/* All kernels of the text of @k, so that it is parsed once for the many that a program uses. */
static void text_analyse_locked(struct slu_cuda_kernel *k)
{
	const struct slu_cuda_text *text = k->text;
	struct slu_cuda_kernel *next;
	struct slu_ptx_module *module;

	slu_lock_give(&slu_cuda.lock);
	module = text_parse(text);
	slu_lock_take(&slu_cuda.lock);
	while ((next = slu_cuda_kernels_next_wanted_locked(text))) {
		kernel_analyse_locked(next, module);
		slu_cuda_kernel_unref_locked(next);
	}
	slu_lock_give(&slu_cuda.lock);
	slu_ptx_module_free(module);
	slu_lock_take(&slu_cuda.lock);
}

static void *analyst_run(void *data)
{
	struct slu_cuda_kernel *k;

	(void)data;
	pthread_setname_np(pthread_self(), "sluice-predict");
	slu_lock_take(&slu_cuda.lock);
	for (;;) {
		while (!is_wanted)
			slu_lock_wait(&slu_cuda.lock, &wake, NULL);
		is_wanted = false;
		while ((k = slu_cuda_kernels_next_wanted_locked(NULL))) {
			text_analyse_locked(k);
			slu_cuda_kernel_unref_locked(k);
		}
	}
	return NULL;
}

void slu_cuda_analyst_wake_locked(void)
{
	sigset_t all, before;
	pthread_t thread;

	is_wanted = true;
	pthread_cond_signal(&wake);
	if (has_thread)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	has_thread = !pthread_create(&thread, NULL, analyst_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (has_thread)
		pthread_detach(thread);
}

void slu_cuda_analyst_forked(void)
{
	pthread_cond_init(&wake, NULL);
	has_thread = is_wanted = false;
}
