/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What our test kernels need of a device, in terms of the compiler's own builtins, so that no
 * OpenCL library and no CUDA SDK is needed: clang --target=nvptx64-nvidia-cuda -x cl.
 */

#define TID	   ((int)__nvvm_read_ptx_sreg_tid_x())
#define BLOCK	   ((int)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCK_SIZE ((int)__nvvm_read_ptx_sreg_ntid_x())
#define GRID_SIZE  ((int)__nvvm_read_ptx_sreg_nctaid_x())
#define GLOBAL_ID  (BLOCK * BLOCK_SIZE + TID)
#define BARRIER()  __nvvm_bar_sync(0)
#define FENCE()	   __nvvm_membar_gl()

#define ATOMIC_ADD(p, v)    __nvvm_atom_add_gen_i((int *)(p), v)
#define ATOMIC_CAS(p, a, b) __nvvm_atom_cas_gen_i((int *)(p), a, b)
#define ATOMIC_XCHG(p, v)   __nvvm_atom_xchg_gen_i((int *)(p), v)
#define ATOMIC_ADD_F(p, v)  __nvvm_atom_add_gen_f((float *)(p), v)
