/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Host functions that are nodes of graphs. A node keeps the function's address and may run it any
 * number of times, in clones and executables of its graph, so a record of it has no end that we
 * could see. It is therefore kept for good, once for each pair of function and argument; a program
 * that asks a node for its parameters gets its own back.
 *
 * In which stream a graph runs we do not know inside the function. While one runs for long the
 * device counts as waiting for the host, without proof of what is behind it.
 */

#include <stdbool.h>

#include "cuabi/cuda-min.h"

/* Replaces a function and its argument by ours. Without memory, or in a program with very many
 * nodes, they stay as they are. */
void slu_cuda_nodes_wrap(CUhostFn *function, void **user);
