/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Return values
 *
 *   0    success
 *   < 0  -errno: we cannot go on; forward it, never match on it
 *   > 0  a condition of this one function (FOO_E_*): handle it, never forward it
 *
 * slu_error() starts an error, slu_fold() forwards what a callee returned. Both
 * leave a line of trace on stderr when slu_error_set_trace(true) was called: the
 * daemon and the command do that on request, the injected library never does.
 */

#include <errno.h>
#include <stdbool.h>

int slu_error_raise(int r, const char *func, const char *file, int line);
void slu_error_set_trace(bool on);

#define slu_error(r) slu_error_raise((r), __func__, __FILE__, __LINE__)
#define slu_fold(r)                                                                          \
	({                                                                                   \
		int _slu_r = (r);                                                            \
		_slu_r < 0 ? slu_error_raise(_slu_r, __func__, __FILE__, __LINE__) : _slu_r; \
	})
