/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Return: cudaErrorNotSupported, and remembers it as the thread's last error. */
int dev_rt_absent(void);
