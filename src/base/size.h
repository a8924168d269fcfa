/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sizes and times as people write them. Sizes are binary: "16G", "1.5 GiB", "512M", "4096";
 * times are "250ms", "2s", "1.5 s", "10us".
 */

#include <stddef.h>
#include <stdint.h>

#define SLU_SIZE_STRING_MAX 24

/* Return: 0, or -EINVAL where @s is no size (or no time), -ERANGE where it is too large. */
int slu_size_parse(const char *s, uint64_t *ret_bytes);
int slu_size_parse_time(const char *s, uint64_t *ret_ns);

/* Three significant digits and a unit: "15.1 GiB", "0 B"; "2.1 s", "350 ms". Return: @buf. */
const char *slu_size_format(char buf[static SLU_SIZE_STRING_MAX], uint64_t bytes);
const char *slu_size_format_time(char buf[static SLU_SIZE_STRING_MAX], uint64_t ns);
