/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Ops of plain numbers: half of a program computes with arguments and sizes alone. */

#include "predict/program.h"

/*
 * The op of two numbers @a and @b (of one, if it has one operand). Return: false if there is no
 * rule, or no number is the result: then the rules for sets apply.
 */
bool slu_predict_number_op(const struct slu_predict_op *op, int64_t a, int64_t b,
			   int64_t *ret_number);
