/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

/* In builds without assertions only tests use it, which keep theirs. */
__thread union slu_lock_held slu_lock_held;
