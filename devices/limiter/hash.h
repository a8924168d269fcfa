/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* uthash for a guest: no memory is no reason to exit. An element that was not added has no hh.tbl.
 */

#define HASH_NONFATAL_OOM 1

#include <uthash.h>
