/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Formats of texels: the runtime counts bits of four channels, the driver names them. */

#include "cudart/cudart-min.h"

/* Return: cudaErrorInvalidChannelDescriptor where the driver has no such format. */
cudaError_t dev_rt_format(const struct cudaChannelFormatDesc *channels, CUarray_format *ret_format,
			  unsigned *ret_n_channels);
/* The same the other way round; no bits for a format that has none here. */
struct cudaChannelFormatDesc dev_rt_channels(CUarray_format format, unsigned n_channels);
/* Bytes of a texel of an array. */
cudaError_t dev_rt_texel_bytes(cudaArray_t array, size_t *ret_bytes);
