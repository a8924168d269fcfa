/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/driver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "softgpu/driver/execution/truth.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/suspend.h"
#include "softgpu/driver/visible.h"

struct dev_driver dev_driver = { .lock = SLU_LOCK_INIT(DEV_DRIVER_RANK) };

enum state {
	STATE_NEW,
	STATE_READY,
	STATE_FORKED,
};

static pthread_mutex_t init_mutex = PTHREAD_MUTEX_INITIALIZER;
static enum state state; /* atomic */
static __thread bool is_in_host_function;

static void after_fork_in_child(void)
{
	__atomic_store_n(&state, STATE_FORKED, __ATOMIC_RELEASE);
	dev_suspend_thread_forget();
}

CUresult dev_driver_result(int r)
{
	switch (r) {
	case 0:
		return CUDA_SUCCESS;
	case -ENOMEM:
	case -EUSERS:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -EINVAL:
		return CUDA_ERROR_INVALID_VALUE;
	case -ENODEV:
		return CUDA_ERROR_NO_DEVICE;
	default:
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
}

/* The few words of the interface do not tell why: `sluice softgpu run` looks at errno as well. */
static CUresult init_fail(int r)
{
	errno = -r;
	return dev_driver_result(r);
}

/* Opens, and if need be makes, all cards of the machine. */
static int machine_open(struct dev_card *cards, const struct dev_settings *settings)
{
	int r = 0;

	for (unsigned i = 0; i < settings->n_devices && !r; i++)
		r = dev_card_open(&cards[i], i, settings);
	/* one table of addresses serves all cards, so their granules must be alike */
	for (unsigned i = 1; i < settings->n_devices && !r; i++)
		if (cards[i].granule_bytes != cards[0].granule_bytes)
			r = DEV_CARD_E_MISMATCH;
	for (unsigned i = 0; i < settings->n_devices && r; i++)
		if (cards[i].board)
			dev_card_close(&cards[i]);
	return r;
}

/* Keeps the cards that the program may see, in the order in which it wants to see them. */
static int cards_open(struct dev_driver *d)
{
	struct dev_card cards[DEV_SETTINGS_DEVICES_MAX] = { 0 };
	uint8_t uuids[DEV_SETTINGS_DEVICES_MAX][16];
	unsigned numbers[DEV_SETTINGS_DEVICES_MAX];
	int r = machine_open(cards, &d->settings);

	if (r)
		return r;
	for (unsigned i = 0; i < d->settings.n_devices; i++)
		memcpy(uuids[i], dev_board_identity(cards[i].board)->uuid, sizeof(uuids[i]));
	d->n_cards = dev_visible_choose(secure_getenv("CUDA_VISIBLE_DEVICES"),
					d->settings.n_devices, uuids, numbers);
	for (unsigned i = 0; i < d->n_cards; i++) {
		d->cards[i] = cards[numbers[i]];
		d->cards[i].index = i;
		cards[numbers[i]].board = NULL;
	}
	for (unsigned i = 0; i < d->settings.n_devices; i++)
		if (cards[i].board)
			dev_card_close(&cards[i]);
	return d->n_cards ? 0 : -ENODEV;
}

static CUresult init_locked(void)
{
	struct dev_driver *d = &dev_driver;
	int r;

	r = dev_settings_read(&d->settings);
	if (!r)
		r = dev_fault_init(secure_getenv("SLUICE_SOFTGPU_FAULT"));
	if (!r)
		r = dev_truth_init();
	if (r)
		return init_fail(r);
	r = cards_open(d);
	if (!r)
		r = dev_window_init(&d->window, d->cards[0].granule_bytes, d->n_cards);
	if (!r)
		r = dev_truth_prepare();
	if (r) {
		for (unsigned i = 0; i < d->n_cards; i++)
			dev_card_close(&d->cards[i]);
		d->n_cards = 0;
		return r == DEV_CARD_E_MISMATCH ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH : init_fail(r);
	}
	pthread_atfork(NULL, NULL, after_fork_in_child);
	dev_suspend_thread_start();
	return CUDA_SUCCESS;
}

CUresult dev_driver_init(void)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&init_mutex);
	if (state == STATE_NEW) {
		result = init_locked();
		if (!result)
			__atomic_store_n(&state, STATE_READY, __ATOMIC_RELEASE);
	} else if (state == STATE_FORKED) {
		result = CUDA_ERROR_NOT_INITIALIZED;
	}
	pthread_mutex_unlock(&init_mutex);
	return result;
}

CUresult dev_driver_check(void)
{
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != STATE_READY)
		return CUDA_ERROR_NOT_INITIALIZED;
	return is_in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult dev_driver_enter(void)
{
	CUresult result = dev_driver_check();

	if (!result)
		dev_suspend_pass();
	return result;
}

CUresult dev_driver_card(CUdevice device, struct dev_card **ret_card)
{
	CUresult result = dev_driver_enter();

	if (result)
		return result;
	if (device < 0 || (unsigned)device >= dev_driver.n_cards)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_card = &dev_driver.cards[device];
	return CUDA_SUCCESS;
}

CUresult dev_driver_card_numbered(unsigned number, struct dev_card **ret_card)
{
	CUresult result = dev_driver_enter();

	if (result)
		return result;
	for (unsigned i = 0; i < dev_driver.n_cards; i++) {
		if (dev_driver.cards[i].number == number) {
			*ret_card = &dev_driver.cards[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

void dev_driver_set_in_host_function(bool on)
{
	is_in_host_function = on;
}
