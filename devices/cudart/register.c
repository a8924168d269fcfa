/* SPDX-License-Identifier: Apache-2.0 */

/* What the compiler's own code calls: registration, and the launch that `<<<…>>>` becomes. */

#include "cudart/image.h"
#include "cudart/runtime.h"

/* A handle is the image, seen through the type that the compiler's code gives it. */
static struct dev_rt_image *image_of(void **handle)
{
	return (struct dev_rt_image *)handle;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
	return (void **)dev_rt_image_new(wrapper);
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	dev_rt_image_free(image_of(handle));
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid,
			    int *warp_size)
{
	if (handle)
		dev_rt_image_add(image_of(handle), DEV_RT_KERNEL, host, name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
		       size_t bytes, int is_constant, int is_global)
{
	if (handle)
		dev_rt_image_add(image_of(handle), DEV_RT_VARIABLE, host, name);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
			      int is_extern, size_t bytes, int is_constant, int is_global)
{
	if (handle)
		dev_rt_image_add(image_of(handle), DEV_RT_MANAGED, host, name);
}

char __cudaInitModule(void **handle)
{
	return handle && !dev_rt_end(dev_rt_image_place_managed(image_of(handle)));
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void *stream)
{
	struct dev_rt_thread *thread = dev_rt_thread();

	if (thread->n_configurations == DEV_RT_CONFIGURATIONS_MAX)
		return (unsigned)dev_rt_end(cudaErrorInvalidConfiguration);
	thread->configurations[thread->n_configurations++] = (struct dev_rt_configuration){
		.grid = grid,
		.block = block,
		.shared_bytes = shared_bytes,
		.stream = stream,
	};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared_bytes,
				       void *ret_stream)
{
	struct dev_rt_thread *thread = dev_rt_thread();
	const struct dev_rt_configuration *c;

	if (!thread->n_configurations)
		return dev_rt_end(cudaErrorMissingConfiguration);
	c = &thread->configurations[--thread->n_configurations];
	*ret_grid = c->grid;
	*ret_block = c->block;
	*ret_shared_bytes = c->shared_bytes;
	*(cudaStream_t *)ret_stream = c->stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
	return dev_rt_end(dev_rt_kernel(host, ret_kernel));
}
