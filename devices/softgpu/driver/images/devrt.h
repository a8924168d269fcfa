/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What programs have from the vendor's device runtime, which is machine code for cards: the
 * functions of a grid that waits for itself (cudaCGSynchronize and those around it), as PTX. They
 * work as the headers of cooperative groups do, in the place that a cooperative launch has for it.
 */

#include "softgpu/driver/images/image.h"

/* Adds to the text what it uses of them and does not define; *@image is replaced. */
CUresult dev_devrt_add(struct dev_image *image, const struct dev_image_log *log);
