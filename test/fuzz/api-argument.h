/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arguments for any function of the driver, made of a fuzzer's bytes: most kinds take one byte, a
 * structure as many as it has choices, and behind the end of the input everything is zero. What is
 * made lives until the next call.
 *
 *   o  where a handle or an address is put      h  a handle: of whatever kind, dead or alive
 *   D  where a descriptor is put                d  a descriptor
 *   n  where something else is put              N  where a number is put that says how many fit
 *   e  64 bytes that name something elsewhere   a  an address; U  one of either side
 *   b  the host's bytes                         s  a size of those
 *   z  any size    i  a small number            c  a number from 0 to 4, for the lists:
 *   l  handles    u  addresses    v  sizes      I  places    g  attributes    r, k  where they go
 *   t  a text      *  its length                q  a file that swallows everything
 *   f  a function  F  a stream's callback       p  parameters of a launch    x  packed ones
 *   w  the word that holds 5                    5  what is waited for there: 5
 *   j  a location  J  the same by value         .  zero
 *
 * and structures: 2, 3, P copies; M, Q properties of memory and pools; C rights; L a launch; V an
 * attribute's value; K, S, H, A, O, G nodes; W values in a stream; Y, R of batches; E edges;
 * X an instantiation; 4, 6 arrays; 7, 8, 9 what a texture reads, how, and a view of it.
 *
 * Pointers that the driver reads or writes through are valid or NULL: what else a program passes
 * there is its own end. The same goes for waiting for what never comes.
 */

#include <stddef.h>
#include <stdint.h>

#include "cuabi/cuda-calls.h"

#define SLU_API_HANDLES_MAX 4096

struct slu_api {
	const uint8_t *data; /* what is left of the input */
	size_t size;
	uint64_t handles[SLU_API_HANDLES_MAX]; /* all that were given in this run */
	unsigned n_handles;
	int fds[64];
	unsigned n_fds;
	CUdeviceptr signal; /* eight bytes of the device that hold 5 */
	/* of this call: where a node puts the address that it allocates, NULL: it does not */
	const CUdeviceptr *allocated;
};

extern struct slu_api slu_api;

/* Return: the next byte. */
uint8_t slu_api_take(void);

/* Return: an argument of @kind. */
uint64_t slu_api_argument(char kind);

/* The host's bytes: of two places. */
void *slu_api_scratch(unsigned which);

/* For the structures. */
uint64_t slu_api_handle(void);
uint64_t slu_api_address(void);
uint64_t slu_api_unified(void);
uint64_t slu_api_size(void);
void *slu_api_bytes(void);

/* Return: an argument that points to a structure. */
void *slu_api_structure(char kind);

/* fuzz-api.c. Return: the place of the function of that name in the table. */
unsigned slu_api_find(const char *name);
