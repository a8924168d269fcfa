/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#ifndef NDEBUG
__thread unsigned char slu_lock_held[_SLU_LOCK_RANK_MAX];
#endif
