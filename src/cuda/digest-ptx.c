/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/digest-ptx.h"

/* %d15 is scratch. */
#define MIX_WORD(x)                                             \
	"	shr.u64 %d15, " x ", 33;\n"                     \
	"	xor.b64 " x ", " x ", %d15;\n"                  \
	"	mul.lo.u64 " x ", " x ", 0xff51afd7ed558ccd;\n" \
	"	shr.u64 %d15, " x ", 33;\n"                     \
	"	xor.b64 " x ", " x ", %d15;\n"                  \
	"	mul.lo.u64 " x ", " x ", 0xc4ceb9fe1a85ec53;\n" \
	"	shr.u64 %d15, " x ", 33;\n"                     \
	"	xor.b64 " x ", " x ", %d15;\n"

const char slu_cuda_digest_ptx[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .global .align 16 .b8 slu_digest_space[12304];\n"
	".visible .entry slu_digest(.param .u64 data, .param .u64 n_blocks, .param .u64 sums)\n"
	".maxntid 256, 1, 1\n"
	"{\n"
	"	.shared .align 16 .b8 scratch[4096];\n"
	"	.reg .pred %q<3>;\n"
	"	.reg .b32 %r<9>;\n"
	"	.reg .b64 %d<18>;\n"
	"	ld.param.u64 %d1, [data];\n"
	"	ld.param.u64 %d2, [n_blocks];\n"
	"	ld.param.u64 %d3, [sums];\n"
	"	cvta.to.global.u64 %d1, %d1;\n"
	"	cvta.to.global.u64 %d3, %d3;\n"
	"	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mov.u32 %r4, %nctaid.x;\n"
	/* %d4: the number of the block, %d5: the step to the next one; %d8, %d9: the same in bytes
	 */
	"	mul.wide.u32 %d4, %r1, %r2;\n"
	"	cvt.u64.u32 %d5, %r3;\n"
	"	add.u64 %d4, %d4, %d5;\n"
	"	mul.wide.u32 %d5, %r4, %r2;\n"
	"	shl.b64 %d8, %d4, 4;\n"
	"	add.u64 %d8, %d1, %d8;\n"
	"	shl.b64 %d9, %d5, 4;\n"
	/* %d6, %d7: the sums */
	"	mov.u64 %d6, 0;\n"
	"	mov.u64 %d7, 0;\n"
	"BLOCK:\n"
	"	setp.ge.u64 %q1, %d4, %d2;\n"
	"	@%q1 bra SHARE;\n"
	"	ld.global.v2.u64 {%d10, %d11}, [%d8];\n"
	"	add.u64 %d12, %d4, 1;\n"
	"	mul.lo.u64 %d12, %d12, 0x9e3779b97f4a7c15;\n"
	"	xor.b64 %d10, %d10, %d12;\n" MIX_WORD(
		"%d10") "	shl.b64 %d13, %d12, 32;\n"
			"	shr.u64 %d14, %d12, 32;\n"
			"	or.b64 %d13, %d13, %d14;\n"
			"	xor.b64 %d11, %d11, %d13;\n"
			"	add.u64 %d11, %d11, %d10;\n" MIX_WORD(
				"%d11") "	add.u64 %d10, %d10, %d11;\n"
					"	shr.u64 %d13, %d10, 32;\n"
					"	xor.b64 %d10, %d10, %d13;\n"
					"	mul.lo.u64 %d10, %d10, 0xd6e8feb86659fd93;\n"
					"	add.u64 %d6, %d6, %d10;\n"
					"	add.u64 %d7, %d7, %d11;\n"
					"	add.u64 %d4, %d4, %d5;\n"
					"	add.u64 %d8, %d8, %d9;\n"
					"	bra BLOCK;\n"
					/* the sums of the group; %r7: the threads that add another
					   one's to theirs */
					"SHARE:\n"
					"	mov.u32 %r5, scratch;\n"
					"	shl.b32 %r6, %r3, 4;\n"
					"	add.u32 %r6, %r6, %r5;\n"
					"	st.shared.v2.u64 [%r6], {%d6, %d7};\n"
					"	shr.u32 %r7, %r2, 1;\n"
					"HALF:\n"
					"	bar.sync 0;\n"
					"	setp.eq.u32 %q1, %r7, 0;\n"
					"	@%q1 bra PUT;\n"
					"	setp.ge.u32 %q2, %r3, %r7;\n"
					"	@%q2 bra NEXT;\n"
					"	shl.b32 %r8, %r7, 4;\n"
					"	add.u32 %r8, %r8, %r6;\n"
					"	ld.shared.v2.u64 {%d16, %d17}, [%r8];\n"
					"	add.u64 %d6, %d6, %d16;\n"
					"	add.u64 %d7, %d7, %d17;\n"
					"	st.shared.v2.u64 [%r6], {%d6, %d7};\n"
					"NEXT:\n"
					"	shr.u32 %r7, %r7, 1;\n"
					"	bra HALF;\n"
					"PUT:\n"
					"	setp.ne.u32 %q1, %r3, 0;\n"
					"	@%q1 bra DONE;\n"
					"	mul.wide.u32 %d16, %r1, 16;\n"
					"	add.u64 %d3, %d3, %d16;\n"
					"	st.global.v2.u64 [%d3], {%d6, %d7};\n"
					"DONE:\n"
					"	ret;\n"
					"}\n";
