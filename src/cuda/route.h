/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From a pointer of the genuine driver to our wrapper of the same symbol.
 *
 * cuGetProcAddress() is answered by the genuine driver first, so that its own rules about versions
 * and per-thread streams decide; what it returned is then looked up here. Routing by pointer
 * cannot mix up variants: the wrapper of cuMemcpyHtoD_v2_ptds replaces exactly that symbol.
 */

/* Return: our wrapper of the symbol that @real is, or @real itself. */
void *slu_route_find(void *real);
