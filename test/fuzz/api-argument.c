/* SPDX-License-Identifier: Apache-2.0 */

#include "api-argument.h"

#include <string.h>

#include "base/util.h"

#define SCRATCH 8192
#define LIST	4

struct slu_api slu_api;

static uint8_t scratch[2][SCRATCH] __attribute__((aligned(4096)));
static const char *last_text;

/* What one call may have several of. */
static struct {
	uint64_t lists[4][LIST];
	CUmemLocation locations[LIST];
	uint32_t attributes[LIST];
	void *results[LIST];
	uint64_t values[16];
	void *params[16];
	void *packed[5];
	size_t packed_bytes;
	size_t number;
	unsigned n_lists;
} made;

static const char *const texts[] = {
	"",
	"k",
	"v",
	"\177ELF....",
	".version 6.3\n.target sm_75\n.address_size 64\n.visible .global .u32 v = 5;\n"
	".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\n"
	"ld.param.u64 %d1, [p];\nmov.u32 %r1, 3;\nst.global.u32 [%d1], %r1;\nret;\n}\n",
	".version 6.3\n.target sm_75\n.address_size 64\n.visible .global .attribute(.managed) .u32 "
	"v;\n"
	".shared .align 4 .b8 s[64];\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
	".reg .b32 %r<3>;\n.reg .b64 %d<3>;\nld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n"
	"ld.global.u32 %r1, [%d1];\nst.shared.u32 [s], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [s];\n"
	"atom.global.add.u32 %r1, [%d2], %r2;\nret;\n}\n.visible .entry e()\n{\nret;\n}\n",
	"e",
	"cuMemAlloc",
};

static void host_function(void *user)
{
	(void)user;
}

static void callback(CUstream stream, CUresult status, void *user)
{
	(void)stream;
	(void)status;
	(void)user;
}

uint8_t slu_api_take(void)
{
	if (!slu_api.size)
		return 0;
	slu_api.size--;
	return *slu_api.data++;
}

void *slu_api_scratch(unsigned which)
{
	return scratch[which % 2];
}

static uint64_t handle_of(uint8_t choice)
{
	static const uint64_t special[] = { 0, 1, 2, 3, UINT64_MAX, 0x1000 };

	if (choice < SLU_ARRAY_SIZE(special))
		return special[choice];
	return slu_api.n_handles
		       ? slu_api.handles[(choice - SLU_ARRAY_SIZE(special)) % slu_api.n_handles]
		       : 0;
}

uint64_t slu_api_handle(void)
{
	return handle_of(slu_api_take());
}

/* Four of five begin where an allocation does. */
uint64_t slu_api_address(void)
{
	uint8_t choice = slu_api_take();

	return choice < 205 ? handle_of(choice)
			    : handle_of((uint8_t)(choice - 199)) + choice % 5 * 4;
}

uint64_t slu_api_size(void)
{
	static const uint64_t sizes[] = {
		0,	  1,	    4,	      64,	512,	    4096,	   1 << 16,
		2u << 20, 4u << 20, 16 << 20, 1u << 31, UINT64_MAX, UINT64_MAX / 2
	};
	uint8_t choice = slu_api_take();

	return sizes[choice % SLU_ARRAY_SIZE(sizes)] + (choice >= 208 ? 3 : 0);
}

void *slu_api_bytes(void)
{
	uint8_t choice = slu_api_take();

	return choice == 255 ? NULL : scratch[choice % 2];
}

static uint64_t *list(uint64_t (*next)(void))
{
	uint64_t *l = made.lists[made.n_lists++ % SLU_ARRAY_SIZE(made.lists)];

	for (unsigned i = 0; i < LIST; i++)
		l[i] = next();
	return l;
}

static uint64_t place(void)
{
	return slu_api_take() % LIST;
}

/* Small, because what they are sizes of may be the host's bytes. */
static uint64_t small_size(void)
{
	return slu_api_size() % (SCRATCH / 2);
}

/* What the driver does not know is a pointer of the program's own, so it is one that can be used.
 */
uint64_t slu_api_unified(void)
{
	uint8_t choice = slu_api_take();
	uint64_t address = handle_of(choice);
	CUmemorytype type;

	if (choice < 250 &&
	    !cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address))
		return address;
	return choice == 255 ? 0 : (uintptr_t)scratch[choice % 2];
}

static uint64_t small_number(void)
{
	uint8_t choice = slu_api_take();

	return choice < 128 ? choice % 12 : (uint64_t)(int64_t)(int8_t)choice;
}

static CUmemLocation location(void)
{
	CUmemLocation l = { .type = slu_api_take() % 6 };

	l.id = (int)(slu_api_take() % 4) - 1;
	return l;
}

static uint64_t text(void)
{
	uint8_t choice = slu_api_take();

	last_text = choice == 255 ? NULL : texts[choice % SLU_ARRAY_SIZE(texts)];
	return (uintptr_t)last_text;
}

static void **parameters(void)
{
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(made.params); i++) {
		made.values[i] = i < 2 ? slu_api_handle() : 0;
		made.params[i] = &made.values[i];
	}
	return made.params;
}

static void **packed(void)
{
	uint8_t choice = slu_api_take();

	if (choice < 192)
		return NULL;
	made.packed_bytes = choice % 32;
	made.packed[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	made.packed[1] = scratch[0];
	made.packed[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	made.packed[3] = &made.packed_bytes;
	made.packed[4] = CU_LAUNCH_PARAM_END;
	return made.packed;
}

static uint64_t descriptor(void)
{
	uint8_t choice = slu_api_take();

	return slu_api.n_fds && choice ? (uint64_t)slu_api.fds[choice % slu_api.n_fds] : UINT64_MAX;
}

/* Long: one switch with a case for each kind. */
uint64_t slu_api_argument(char kind)
{
	CUmemLocation l;
	uint64_t value;

	switch (kind) {
	case 'o':
		return (uintptr_t)&slu_api.handles[slu_api.n_handles++];
	case 'D':
		return (uintptr_t)&slu_api.fds[slu_api.n_fds++];
	case 'd':
		return descriptor();
	case 'n':
	case 'b':
		return (uintptr_t)slu_api_bytes();
	case 'e':
		return (uintptr_t)(scratch[0] + SCRATCH / 2);
	case 'N':
		made.number = slu_api_take() % 16;
		return (uintptr_t)&made.number;
	case 'h':
		return slu_api_handle();
	case 'a':
		return slu_api_address();
	case 'U':
		return slu_api_unified();
	case 's':
		return small_size();
	case 'z':
		return slu_api_size();
	case 'i':
		return small_number();
	case 'c':
		return slu_api_take() % (LIST + 1);
	case 'l':
		return (uintptr_t)list(slu_api_handle);
	case 'u':
		return (uintptr_t)list(slu_api_unified);
	case 'v':
		return (uintptr_t)list(small_size);
	case 'I':
		return (uintptr_t)list(place);
	case 'k':
		for (unsigned i = 0; i < LIST; i++)
			made.lists[0][i] = 4u << slu_api_take() % 4;
		return (uintptr_t)made.lists[0];
	case 'g':
		for (unsigned i = 0; i < LIST; i++)
			made.attributes[i] = slu_api_take() % 24;
		return (uintptr_t)made.attributes;
	case 'r':
		for (unsigned i = 0; i < LIST; i++)
			made.results[i] = slu_api_take() == 255 ? NULL : scratch[1] + 128 * i;
		return (uintptr_t)made.results;
	case 't':
		return text();
	case '*':
		return last_text ? strlen(last_text) : 0;
	case 'q':
		return (uintptr_t) "/dev/null";
	case 'f':
		return (uintptr_t)host_function;
	case 'F':
		return (uintptr_t)callback;
	case 'p':
		return (uintptr_t)parameters();
	case 'x':
		return (uintptr_t)packed();
	case 'w':
		return slu_api.signal + slu_api_take() / 64 % 4;
	case '5':
		return 5;
	case 'j':
		for (unsigned i = 0; i < LIST; i++)
			made.locations[i] = location();
		return (uintptr_t)made.locations;
	case 'J':
		l = location();
		memcpy(&value, &l, sizeof(value));
		return value;
	case '.':
		return 0;
	default:
		return (uintptr_t)slu_api_structure(kind);
	}
}
