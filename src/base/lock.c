/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

/* In builds without assertions only tests use it, which keep theirs. */
__thread unsigned char slu_lock_held[_SLU_LOCK_RANK_MAX];
