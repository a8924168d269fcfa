/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recipes: what the nodes of an executable graph write, so that a launch of it vouches for its
 * writes as other calls do (writes.h). Copies and sets say it by their parameters, kernels by their
 * PTX. A graph with any other node that may write memory has no recipe, and its launches may write
 * anything; so may those of a graph whose kernels are not analysed yet.
 *
 *   (none) -> WALKED   instantiation: every node understood, parameters copied
 *   WALKED -> TOLD     [slu_cuda_recipe_spans_locked] the first launch whose kernels are all KNOWN
 *   TOLD   -> WALKED   a node of the instance got other parameters, or an update all of them
 *   any    -> (none)   the instance ends, or changes in a way that is not followed
 *
 * The graph of an instance may change or end, so its nodes are read when it is instantiated,
 * whether memory is short or not. Updates are read only while calls tell what they write: programs
 * that update an instance at each step pay nothing otherwise, and have no recipe until the next
 * update.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/touch.h"

/*
 * All that a launch of @exec writes, by rising addresses. Return: NULL if that is not known. Valid
 * as long as the lock is held.
 */
const struct slu_cuda_span *slu_cuda_recipe_spans_locked(CUgraphExec exec, size_t *ret_n);

/* @exec was made from @graph. */
void slu_cuda_recipe_made(CUgraphExec exec, CUgraph graph);
/* @exec is about to end. */
void slu_cuda_recipe_drop(CUgraphExec exec);
/* A node got new parameters, by the call for all kinds of nodes. */
void slu_cuda_recipe_node_set(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params);

/* A child of a fork has no driver, and none of this. */
void slu_cuda_recipe_forked(void);
