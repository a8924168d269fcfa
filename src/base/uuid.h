/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* UUIDs of devices as NVIDIA's tools print them: GPU-1a2b3c4d-0102-0304-0506-0708090a0b0c. */

#include <stdint.h>

#define SLU_UUID_STRING_MAX 41

/* Return: @buf. */
const char *slu_uuid_format(char buf[static SLU_UUID_STRING_MAX], const uint8_t uuid[16]);
