/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All public names of the driver, as jumps to the genuine ones. Each is weak: a wrapper of the same
 * name in C takes its place at link time. A jump knows no prototype and keeps every argument
 * register and the stack; the pointer is looked up at the first call and read from then on.
 */

	.text
	.hidden	slu_real_table
	.hidden	slu_real_resolve

/*
 * slow: the symbol's number is on the stack above the return address. Saves what may carry
 * arguments (six integer and eight vector registers, rax for variadic callees), asks C for the
 * pointer, restores, and jumps.
 */
	.type	slow, @function
slow:
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	/* return address, number and seven registers are on the stack: 8 more align it */
	subq	$136, %rsp
	.cfi_adjust_cfa_offset 136
	movaps	%xmm0, 0(%rsp)
	movaps	%xmm1, 16(%rsp)
	movaps	%xmm2, 32(%rsp)
	movaps	%xmm3, 48(%rsp)
	movaps	%xmm4, 64(%rsp)
	movaps	%xmm5, 80(%rsp)
	movaps	%xmm6, 96(%rsp)
	movaps	%xmm7, 112(%rsp)
	movq	192(%rsp), %rdi
	call	slu_real_resolve
	movq	%rax, %r11
	movaps	0(%rsp), %xmm0
	movaps	16(%rsp), %xmm1
	movaps	32(%rsp), %xmm2
	movaps	48(%rsp), %xmm3
	movaps	64(%rsp), %xmm4
	movaps	80(%rsp), %xmm5
	movaps	96(%rsp), %xmm6
	movaps	112(%rsp), %xmm7
	addq	$136, %rsp
	.cfi_adjust_cfa_offset -136
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	/* the number */
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%r11
	.cfi_endproc
	.size	slow, . - slow

	.set	number, 0

	.macro	jump name
	.p2align 4
	.weak	\name
	.type	\name, @function
\name:
	endbr64
	movq	slu_real_table + 8 * number(%rip), %r11
	testq	%r11, %r11
	jz	1f
	jmp	*%r11
1:	pushq	$number
	jmp	slow
	.size	\name, . - \name
	.set	number, number + 1
	.endm

#define SLU_CUNAME(symbol, base, version, thread) jump symbol;
#include "cuabi/names.def"

	.section .note.GNU-stack, "", @progbits
