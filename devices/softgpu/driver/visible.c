/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/uuid.h"

#define UUID_HEAD "GPU-"

/* Return: the one device whose UUID begins with @size bytes of @text, or -1. */
static int uuid_find(const char *text, size_t size, unsigned n, const uint8_t (*uuids)[16])
{
	char uuid[SLU_UUID_STRING_MAX];
	int found = -1;

	for (unsigned i = 0; i < n; i++) {
		if (strncasecmp(text, slu_uuid_format(uuid, uuids[i]), size) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

/* Return: the device that @entry names, which ends at a comma or with the list, or -1. */
static int entry_find(const char *entry, unsigned n, const uint8_t (*uuids)[16])
{
	unsigned long number;
	char *end;

	entry += strspn(entry, " \t");
	if (!strncmp(entry, UUID_HEAD, strlen(UUID_HEAD)))
		return uuid_find(entry, strcspn(entry, ", \t"), n, uuids);
	if (strspn(entry, "0123456789") == 0)
		return -1;
	/* what follows the digits counts for nothing, as it does there */
	number = strtoul(entry, &end, 10);
	return number < n ? (int)number : -1;
}

unsigned dev_visible_choose(const char *list, unsigned n, const uint8_t (*uuids)[16],
			    unsigned *ret_numbers)
{
	unsigned n_visible = 0;

	if (!list) {
		for (; n_visible < n; n_visible++)
			ret_numbers[n_visible] = n_visible;
		return n;
	}
	for (const char *entry = list; entry; entry = strchr(entry, ',')) {
		int number = entry_find(entry += *entry == ',', n, uuids);

		if (number < 0)
			break;
		for (unsigned i = 0; i < n_visible; i++)
			if (ret_numbers[i] == (unsigned)number)
				return 0;
		ret_numbers[n_visible++] = (unsigned)number;
	}
	return n_visible;
}
