/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/devrt.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "cudaCG"

/* cudaErrorInvalidValue */
#define INVALID "1"

/*
 * Blocks meet at a word of the launch's own place: each adds 1, the first one as much as makes the
 * top bit change when all have been there.
 */
#define SYNCHRONIZE(name)                                                                     \
	".weak .func (.param .b32 result) " name "(.param .b64 handle, .param .b32 flags)\n"  \
	"{\n"                                                                                 \
	"	.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d;\n"                                    \
	"	ld.param.u64 %d, [handle]; setp.eq.u64 %p, %d, 0;\n"                                \
	"	@%p bra NONE;\n"                                                                    \
	"	bar.sync 0;\n"                                                                      \
	"	mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; or.b32 %r1, %r1, %r2;\n"                  \
	"	mov.u32 %r2, %tid.z; or.b32 %r1, %r1, %r2; setp.ne.u32 %p, %r1, 0;\n"               \
	"	@%p bra WAIT;\n"                                                                    \
	"	membar.gl;\n"                                                                       \
	"	mov.u32 %r1, %nctaid.x; mov.u32 %r2, %nctaid.y; mul.lo.u32 %r1, %r1, %r2;\n"        \
	"	mov.u32 %r2, %nctaid.z; mul.lo.u32 %r1, %r1, %r2; sub.u32 %r1, 0x80000001, %r1;\n"  \
	"	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; or.b32 %r2, %r2, %r3;\n"              \
	"	mov.u32 %r3, %ctaid.z; or.b32 %r2, %r2, %r3; setp.eq.u32 %p, %r2, 0;\n"             \
	"	selp.u32 %r1, %r1, 1, %p; atom.add.u32 %r4, [%d+4], %r1;\n"                         \
	"LOOK:	ld.volatile.u32 %r5, [%d+4]; xor.b32 %r6, %r5, %r4; setp.ge.s32 %p, %r6, 0;\n" \
	"	@%p bra LOOK;\n"                                                                    \
	"	membar.gl;\n"                                                                       \
	"WAIT:	bar.sync 0;\n"                                                                 \
	"	mov.u32 %r7, 0; st.param.b32 [result], %r7; ret;\n"                                 \
	"NONE:	mov.u32 %r7, " INVALID "; st.param.b32 [result], %r7; ret;\n"                 \
	"}\n"

/* Threads of a block, and the number of this one, in %r1 and %r2; of blocks in %r3 and %r4. */
#define COUNT                                                                             \
	"	mov.u32 %r5, %ntid.x; mov.u32 %r6, %ntid.y; mov.u32 %r7, %ntid.z;\n"            \
	"	mul.lo.u32 %r1, %r5, %r6; mul.lo.u32 %r1, %r1, %r7;\n"                          \
	"	mov.u32 %r8, %tid.z; mov.u32 %r9, %tid.y; mad.lo.u32 %r8, %r8, %r6, %r9;\n"     \
	"	mov.u32 %r9, %tid.x; mad.lo.u32 %r2, %r8, %r5, %r9;\n"                          \
	"	mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y; mov.u32 %r7, %nctaid.z;\n"      \
	"	mul.lo.u32 %r3, %r5, %r6; mul.lo.u32 %r3, %r3, %r7;\n"                          \
	"	mov.u32 %r8, %ctaid.z; mov.u32 %r9, %ctaid.y; mad.lo.u32 %r8, %r8, %r6, %r9;\n" \
	"	mov.u32 %r9, %ctaid.x; mad.lo.u32 %r4, %r8, %r5, %r9;\n"

/* One number of threads, and one of grids, each where there is a pointer for it. */
#define TELL(name, threads, grids)                                                        \
	".weak .func (.param .b32 result) " name                                          \
	"(.param .b64 threads, .param .b64 grids, .param .b64 handle)\n"                  \
	"{\n"                                                                             \
	"	.reg .pred %p; .reg .b32 %r<10>; .reg .b64 %d<4>;\n"                            \
	"	ld.param.u64 %d1, [threads]; ld.param.u64 %d2, [grids];\n"                      \
	"	ld.param.u64 %d3, [handle]; setp.eq.u64 %p, %d3, 0;\n"                          \
	"	@%p bra NONE;\n" COUNT threads                                            \
	"	setp.ne.u64 %p, %d1, 0; @%p st.u32 [%d1], %r1;\n"                               \
	"	mov.u32 %r1, " grids "; setp.ne.u64 %p, %d2, 0; @%p st.u32 [%d2], %r1;\n" \
	"	mov.u32 %r1, 0; st.param.b32 [result], %r1; ret;\n"                             \
	"NONE:	mov.u32 %r1, " INVALID "; st.param.b32 [result], %r1; ret;\n"             \
	"}\n"

static const char text[] =
	".version 6.0\n.target sm_30\n.address_size 64\n"
	/* 1 is the scope of a grid; no other is left */
	".weak .func (.param .b64 result) " PREFIX "GetIntrinsicHandle(.param .b32 scope)\n"
	"{\n"
	"	.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d;\n"
	"	ld.param.u32 %r1, [scope]; mov.u32 %r2, %envreg1; mov.u32 %r3, %envreg2;\n"
	"	mov.b64 %d, {%r3, %r2}; setp.ne.u32 %p, %r1, 1;\n"
	"	@%p mov.u64 %d, 0;\n"
	"	st.param.b64 [result], %d; ret;\n"
	"}\n" SYNCHRONIZE(PREFIX "Synchronize") SYNCHRONIZE(PREFIX "SynchronizeGrid")
		TELL(PREFIX "GetSize", "	mul.lo.u32 %r1, %r1, %r3;\n", "1")
			TELL(PREFIX "GetRank", "	mad.lo.u32 %r1, %r4, %r1, %r2;\n", "0");

CUresult dev_devrt_add(struct dev_image *image, const struct dev_image_log *log)
{
	struct dev_image both[] = { *image, { .text = text, .bytes = sizeof(text) - 1 } }, merged;
	CUresult result;

	if (!memmem(image->text, image->bytes, PREFIX, strlen(PREFIX)))
		return CUDA_SUCCESS;
	result = dev_image_merge(both, 2, log, &merged);
	if (result)
		return result;
	dev_image_close(image);
	*image = merged;
	return CUDA_SUCCESS;
}
