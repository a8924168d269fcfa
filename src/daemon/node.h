/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node in /dev of a card, found without opening a driver. */

#include <stddef.h>
#include <stdint.h>

/*
 * By @uuid in NVIDIA's /proc/driver/nvidia/gpus/<pci>/information, else by @pci (may be empty)
 * there, else by @pci as a render node: a card of NVIDIA has both nodes and must not count twice.
 * @root goes in front of every path.
 *
 * Return: 0, or -ENOENT.
 */
int slu_node_find(const char *root, const uint8_t uuid[16], const char *pci, char *ret_path,
		  size_t size);

/* The size of the memory of the card at @pci, if the kernel's driver tells it (amdgpu); else 0. */
uint64_t slu_node_total_bytes(const char *root, const char *pci);
