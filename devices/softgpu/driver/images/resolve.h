/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which members of archives a link needs: as with any linker, those that define a name which the
 * texts so far use and do not define, and in turn what these members use.
 */

#include <stdbool.h>
#include <stddef.h>

#include "softgpu/driver/images/image.h"

/*
 * @texts are part of the link whatever they hold; of @members, ret_is_needed[i] says it of the
 * i-th. Return: 0, -ENOMEM.
 */
int dev_resolve(const struct dev_image *texts, size_t n_texts, const struct dev_image *members,
		size_t n_members, bool *ret_is_needed);
