/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"

#include <stdio.h>

const char *slu_uuid_format(char buf[static SLU_UUID_STRING_MAX], const uint8_t uuid[16])
{
	int n = snprintf(buf, SLU_UUID_STRING_MAX, "GPU");

	for (unsigned i = 0; i < 16; i++)
		n += snprintf(buf + n, SLU_UUID_STRING_MAX - (size_t)n, "%s%02x",
			      i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	return buf;
}
