/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "board/board.h"
#include "core/core.h"
#include "daemon/devices.h"
#include "daemon/node.h"
#include "daemon/order.h"

/* A folder in place of / and of the folder of boards, a core, and a private daemon's devices. */
struct fixture {
	char root[64];
	struct slu_core *core;
	struct slu_devices *devices;
	int status;
	char why[192];
};

static const uint8_t card[16] = { 0x1a, 0x2b, 0x3c, 0x4d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

static void make(struct fixture *f, const char *path, const char *text)
{
	char full[256], *slash = full + strlen(f->root) + 1;
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", f->root, path);
	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash++ = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct slu_core_config config;

	assert_non_null(f);
	strcpy(f->root, "/tmp/sluice-devices-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	slu_core_config_default(&config);
	assert_int_equal(slu_core_new(&config, 1, &f->core), 0);
	assert_int_equal(slu_devices_new(f->core, false, f->root, &f->devices), 0);
	slu_devices_configure(f->devices, f->root, 10);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	slu_devices_free(f->devices);
	slu_core_free(f->core);
	snprintf(command, sizeof(command), "rm -rf %s", f->root);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static struct slu_hello_device hello_of(const uint8_t uuid[16], uint64_t total_bytes)
{
	struct slu_hello_device hello = { .total_bytes = total_bytes, .name = "GPU" };

	memcpy(hello.uuid, uuid, 16);
	return hello;
}

static int acquire(struct fixture *f, const struct slu_hello_device *hello,
		   struct slu_device **ret_device)
{
	f->status = 0;
	return slu_devices_acquire(f->devices, 2, hello, ret_device, &f->status, f->why,
				   sizeof(f->why));
}

static void make_card(struct fixture *f)
{
	make(f, "proc/driver/nvidia/gpus/0000:01:00.0/information",
	     "Model: \t\t Some Card\nGPU UUID: \t GPU-00000000-0000-0000-0000-000000000000\n"
	     "Device Minor: \t 0\n");
	make(f, "proc/driver/nvidia/gpus/0000:02:00.0/information",
	     "Model: \t\t Some Card\nGPU UUID: \t GPU-1a2b3c4d-0102-0304-0506-0708090a0b0c\n"
	     "Device Minor: \t 1\n");
	make(f, "dev/nvidia1", "");
}

static void test_a_card_is_found_by_uuid(void **state)
{
	struct fixture *f = *state;
	char path[256], want[256];
	uint8_t other[16] = { 9 };

	make_card(f);
	snprintf(want, sizeof(want), "%s/dev/nvidia1", f->root);
	assert_int_equal(slu_node_find(f->root, card, "", path, sizeof(path)), 0);
	assert_string_equal(path, want);
	assert_int_equal(slu_node_find(f->root, other, "", path, sizeof(path)), -ENOENT);
}

static void test_a_card_without_uuid_is_found_by_its_place_on_the_bus(void **state)
{
	struct fixture *f = *state;
	char path[256], want[256];

	make(f, "sys/bus/pci/devices/0000:03:00.0/drm/renderD129/x", "");
	make(f, "dev/dri/renderD129", "");
	snprintf(want, sizeof(want), "%s/dev/dri/renderD129", f->root);
	assert_int_equal(slu_node_find(f->root, card, "0000:03:00.0", path, sizeof(path)), 0);
	assert_string_equal(path, want);
	assert_int_equal(slu_node_find(f->root, card, "../../x", path, sizeof(path)), -ENOENT);
}

static void test_a_card_with_two_nodes_is_one_card_whatever_its_uuid(void **state)
{
	struct fixture *f = *state;
	uint8_t invented[16] = { 9 };
	char path[256], want[256];

	make_card(f);
	make(f, "sys/bus/pci/devices/0000:02:00.0/drm/renderD128/x", "");
	make(f, "dev/dri/renderD128", "");
	snprintf(want, sizeof(want), "%s/dev/nvidia1", f->root);
	assert_int_equal(slu_node_find(f->root, invented, "0000:02:00.0", path, sizeof(path)), 0);
	assert_string_equal(path, want);
}

static void test_a_card_is_locked_while_it_is_used(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1000);
	struct slu_device *device, *same;
	char path[256];
	int fd;

	make_card(f);
	snprintf(path, sizeof(path), "%s/dev/nvidia1", f->root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_int_equal(device->kind, SLU_DEVICE_NODE);
	assert_int_equal(device->usable_bytes, 900);
	assert_int_equal(acquire(f, &hello, &same), 0);
	assert_ptr_equal(device, same);
	slu_devices_release(f->devices, device);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	slu_devices_release(f->devices, device);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);

	/* now another daemon has it */
	assert_int_equal(acquire(f, &hello, &device), SLU_DEVICES_E_REFUSED);
	assert_int_equal(f->status, EBUSY);
	assert_non_null(strstr(f->why, "is managed by"));
	/* however little of it fits */
	assert_int_equal(slu_devices_acquire(f->devices, 2, &hello, &device, &f->status, f->why, 8),
			 SLU_DEVICES_E_REFUSED);
	assert_string_equal(f->why, "GPU is ");
	close(fd);
	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_int_equal(slu_devices_n(f->devices), 1);
	slu_devices_release(f->devices, device);
}

static void make_render(struct fixture *f)
{
	make(f, "sys/bus/pci/devices/0000:03:00.0/drm/renderD129/x", "");
	make(f, "dev/dri/renderD129", "");
}

static void test_an_invented_uuid_at_the_address_of_a_card_is_that_card(void **state)
{
	static const uint8_t invented[16] = { 9, 9, 9 };
	struct fixture *f = *state;
	struct slu_hello_device liar = hello_of(invented, 1000), honest = hello_of(card, 1000);
	struct slu_device *first, *second;

	make_render(f);
	strcpy(liar.pci, "0000:03:00.0");
	strcpy(honest.pci, "0000:03:00.0");
	assert_int_equal(acquire(f, &liar, &first), 0);
	assert_int_equal(acquire(f, &honest, &second), 0);
	assert_ptr_equal(first, second);
	slu_devices_release(f->devices, first);
	slu_devices_release(f->devices, second);
}

static void test_the_largest_size_counts_while_a_card_is_used(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device small = hello_of(card, 1000), right = hello_of(card, 100000);
	struct slu_core_device_view view;
	struct slu_device *first, *second;

	make_card(f);
	assert_int_equal(acquire(f, &small, &first), 0);
	assert_int_equal(acquire(f, &right, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(first->total_bytes, 100000);
	slu_core_view_device(f->core, first->number, &view);
	assert_int_equal(view.usable_bytes, 90000);
	slu_devices_release(f->devices, first);
	assert_int_equal(acquire(f, &small, &first), 0);
	assert_int_equal(first->total_bytes, 100000);
	slu_devices_release(f->devices, first);
	slu_devices_release(f->devices, second);
	/* and is forgotten when no program uses it, without another number */
	assert_int_equal(acquire(f, &small, &first), 0);
	assert_int_equal(first->total_bytes, 1000);
	assert_int_equal(slu_devices_n(f->devices), 1);
	slu_devices_release(f->devices, first);
}

static void test_a_size_that_the_system_reports_counts_alone(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device small = hello_of(card, 1000), large = hello_of(card, 1 << 30);
	struct slu_device *first, *second;

	make_render(f);
	make(f, "sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total", "500000\n");
	strcpy(small.pci, "0000:03:00.0");
	strcpy(large.pci, "0000:03:00.0");
	assert_int_equal(acquire(f, &small, &first), 0);
	assert_int_equal(acquire(f, &large, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(first->total_bytes, 500000);
	slu_devices_release(f->devices, first);
	slu_devices_release(f->devices, second);
}

static void test_a_strangers_lock_does_not_stop_a_system_daemon(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1000);
	struct slu_devices *devices;
	struct slu_device *device;
	char path[256];
	int fd;

	make_card(f);
	assert_int_equal(slu_devices_new(f->core, true, f->root, &devices), 0);
	slu_devices_configure(devices, f->root, 10);
	snprintf(path, sizeof(path), "%s/dev/nvidia1", f->root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(slu_devices_acquire(devices, 2, &hello, &device, &f->status, f->why,
					     sizeof(f->why)),
			 0);
	slu_devices_release(devices, device);
	slu_devices_free(devices);
	close(fd);
}

static struct dev_board *make_board(struct fixture *f, const char *name, uint64_t bytes)
{
	struct dev_board_identity identity = {
		.name = "board's own name",
		.capacity_bytes = bytes,
		.granule_bytes = 4096,
	};
	struct dev_board *board;
	char path[256];

	memcpy(identity.uuid, card, sizeof(card));
	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	assert_int_equal(dev_board_open(path, &identity, &board), 0);
	return board;
}

static void test_a_board_has_its_size_and_name(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 5 << 20);
	struct dev_board *board = make_board(f, "opencl0", 1 << 20);
	struct slu_device *device;

	make(f, "not-a-board", "memory of something");
	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_int_equal(device->kind, SLU_DEVICE_BOARD);
	assert_int_equal(device->total_bytes, 1 << 20);
	assert_string_equal(device->name, "board's own name");
	assert_int_equal(flock(dev_board_fd(board), LOCK_EX | LOCK_NB), -1);
	slu_devices_release(f->devices, device);
	dev_board_close(board);
}

static void test_a_board_made_again_with_another_size_is_another_device(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1 << 20);
	struct slu_device *first, *second;
	char path[256];

	dev_board_close(make_board(f, "opencl0", 1 << 20));
	assert_int_equal(acquire(f, &hello, &first), 0);
	slu_devices_release(f->devices, first);
	snprintf(path, sizeof(path), "%s/opencl0", f->root);
	assert_int_equal(unlink(path), 0);
	dev_board_close(make_board(f, "opencl0", 2 << 20));
	assert_int_equal(acquire(f, &hello, &second), 0);
	assert_ptr_not_equal(first, second);
	assert_int_equal(second->total_bytes, 2 << 20);
	assert_int_equal(slu_devices_n(f->devices), 2);
	slu_devices_release(f->devices, second);
}

static bool nobody(void *data, const struct slu_device *device, pid_t pid, uint64_t bytes)
{
	(void)device;
	(void)bytes;
	(void)data;
	(void)pid;
	return false;
}

static bool us(void *data, const struct slu_device *device, pid_t pid, uint64_t bytes)
{
	(void)data;
	(void)device;
	assert_int_equal(bytes, 4096);
	return pid == getpid();
}

static void test_outsiders_are_processes_that_are_no_clients(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1 << 20);
	struct dev_board *board = make_board(f, "opencl0", 1 << 20);
	struct slu_core_device_view view;
	struct slu_device *device;

	assert_int_equal(dev_board_attach(board, "somebody"), 0);
	assert_int_equal(dev_board_take(board, 4096, 512), 0);
	assert_int_equal(acquire(f, &hello, &device), 0);
	slu_devices_look(f->devices, 3, nobody, NULL);
	assert_int_equal(device->n_outsiders, 1);
	assert_int_equal(device->overhead_bytes, 512);
	assert_string_equal(device->outsiders[0].name, "somebody");
	slu_core_view_device(f->core, device->number, &view);
	assert_int_equal(view.outsider_bytes, 4096);
	assert_int_equal(view.overhead_bytes, 512);
	slu_devices_look(f->devices, 4, us, NULL);
	assert_int_equal(device->n_outsiders, 0);
	assert_int_equal(device->used_bytes, 4096);
	slu_core_view_device(f->core, device->number, &view);
	assert_int_equal(view.outsider_bytes, 0);
	slu_devices_release(f->devices, device);
	dev_board_close(board);
}

static void test_only_private_daemons_accept_unknown_devices(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1000);
	struct slu_devices *system_wide;
	struct slu_device *device;

	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_int_equal(device->kind, SLU_DEVICE_NONE);
	slu_devices_release(f->devices, device);

	assert_int_equal(slu_devices_new(f->core, true, f->root, &system_wide), 0);
	slu_devices_configure(system_wide, f->root, 10);
	assert_int_equal(slu_devices_acquire(system_wide, 3, &hello, &device, &f->status, f->why,
					     sizeof(f->why)),
			 SLU_DEVICES_E_REFUSED);
	assert_int_equal(f->status, ENODEV);
	slu_devices_free(system_wide);
}

static void test_impossible_sizes_are_rejected(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 0);
	struct slu_device *device;

	assert_int_equal(acquire(f, &hello, &device), SLU_DEVICES_E_REFUSED);
	hello.total_bytes = UINT64_MAX;
	assert_int_equal(acquire(f, &hello, &device), SLU_DEVICES_E_REFUSED);
}

static void test_if_all_numbers_are_taken_the_oldest_unused_one_is_reused(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1000);
	struct slu_device *used[SLU_DEVICES_MAX], *device;
	struct slu_core_device_view view;

	for (unsigned i = 0; i < SLU_DEVICES_MAX; i++) {
		hello.uuid[0] = (uint8_t)i;
		assert_int_equal(acquire(f, &hello, &used[i]), 0);
	}
	hello.uuid[0] = 0xff;
	hello.total_bytes = 2000;
	assert_int_equal(acquire(f, &hello, &device), SLU_DEVICES_E_REFUSED);
	assert_int_equal(f->status, ENOSPC);

	slu_devices_release(f->devices, used[9]);
	slu_devices_release(f->devices, used[7]);
	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_int_equal(device->number, 9);
	slu_core_view_device(f->core, 9, &view);
	assert_int_equal(view.usable_bytes, device->usable_bytes);
	assert_int_equal(slu_devices_n(f->devices), SLU_DEVICES_MAX);

	slu_devices_release(f->devices, device);
	for (unsigned i = 0; i < SLU_DEVICES_MAX; i++)
		if (i != 7 && i != 9)
			slu_devices_release(f->devices, used[i]);
}

static void test_a_device_without_its_board_is_gone_until_the_board_returns(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1 << 20);
	struct slu_device *device;
	char path[256];

	dev_board_close(make_board(f, "opencl0", 1 << 20));
	assert_int_equal(acquire(f, &hello, &device), 0);
	snprintf(path, sizeof(path), "%s/opencl0", f->root);
	assert_int_equal(unlink(path), 0);
	slu_devices_look(f->devices, 3, nobody, NULL);
	assert_false(slu_device_is_gone(device));
	slu_devices_release(f->devices, device);
	slu_devices_look(f->devices, 4, nobody, NULL);
	assert_true(slu_device_is_gone(device));

	dev_board_close(make_board(f, "opencl0", 1 << 20));
	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_false(slu_device_is_gone(device));
	slu_devices_release(f->devices, device);
	assert_false(slu_device_is_gone(device));
}

static void add_board(struct fixture *f, const char *name, uint8_t uuid)
{
	struct dev_board_identity identity = { .uuid = { uuid }, .capacity_bytes = 1 << 20 };
	struct dev_board *board;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	assert_int_equal(dev_board_open(path, &identity, &board), 0);
	dev_board_close(board);
}

static struct slu_device *acquire_named(struct fixture *f, const uint8_t uuid[16], const char *pci)
{
	struct slu_hello_device hello = hello_of(uuid, 1 << 20);
	struct slu_device *device;

	snprintf(hello.pci, sizeof(hello.pci), "%s", pci);
	assert_int_equal(acquire(f, &hello, &device), 0);
	return device;
}

static void test_devices_are_numbered_as_in_the_drivers_tools(void **state)
{
	struct fixture *f = *state;
	struct slu_device *other, *soft, *second, *list[SLU_DEVICES_MAX];

	other = acquire_named(f, (uint8_t[16]){ 9 }, "");
	assert_int_equal(other->index, 0);
	/* the second software GPU is number 1, though no program has used the first */
	add_board(f, "softgpu0", 70);
	add_board(f, "softgpu1", 71);
	soft = acquire_named(f, (uint8_t[16]){ 71 }, "0000:00:01.0");
	assert_int_equal(soft->index, 1);
	assert_int_equal(other->index, 2);
	/* so is the second card, as in nvidia-smi */
	make_card(f);
	second = acquire_named(f, card, "0000:02:00.0");
	assert_int_equal(second->index, 1);
	assert_int_equal(soft->index, 3);
	assert_int_equal(slu_order_index(f->devices, soft->number), 3);
	assert_int_equal(slu_order_list(f->devices, list), 3);
	assert_ptr_equal(list[0], second);
	assert_ptr_equal(list[1], soft);
	assert_ptr_equal(list[2], other);
	slu_devices_release(f->devices, other);
	slu_devices_release(f->devices, soft);
	slu_devices_release(f->devices, second);
}

static void test_an_unknown_device_is_gone_with_its_last_user(void **state)
{
	struct fixture *f = *state;
	struct slu_hello_device hello = hello_of(card, 1 << 20);
	struct slu_device *device;

	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_int_equal(device->kind, SLU_DEVICE_NONE);
	assert_false(slu_device_is_gone(device));
	slu_devices_release(f->devices, device);
	assert_true(slu_device_is_gone(device));
	assert_int_equal(acquire(f, &hello, &device), 0);
	assert_false(slu_device_is_gone(device));
	slu_devices_release(f->devices, device);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_a_card_is_found_by_uuid),
		T(test_a_card_without_uuid_is_found_by_its_place_on_the_bus),
		T(test_a_card_with_two_nodes_is_one_card_whatever_its_uuid),
		T(test_a_card_is_locked_while_it_is_used),
		T(test_an_invented_uuid_at_the_address_of_a_card_is_that_card),
		T(test_the_largest_size_counts_while_a_card_is_used),
		T(test_a_size_that_the_system_reports_counts_alone),
		T(test_a_strangers_lock_does_not_stop_a_system_daemon),
		T(test_a_board_has_its_size_and_name),
		T(test_a_board_made_again_with_another_size_is_another_device),
		T(test_outsiders_are_processes_that_are_no_clients),
		T(test_only_private_daemons_accept_unknown_devices),
		T(test_impossible_sizes_are_rejected),
		T(test_if_all_numbers_are_taken_the_oldest_unused_one_is_reused),
		T(test_an_unknown_device_is_gone_with_its_last_user),
		T(test_a_device_without_its_board_is_gone_until_the_board_returns),
		T(test_devices_are_numbered_as_in_the_drivers_tools),
	};
#undef T

	return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
