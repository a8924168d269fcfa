/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table for people: columns as wide as their widest cell, counted in characters as a terminal
 * shows them, not in bytes. The last column is not padded.
 */

#include <stdbool.h>
#include <stdio.h>

#define SLU_TABLE_COLUMNS_MAX 16

struct slu_table;

struct slu_table *slu_table_new(unsigned n_columns);
void slu_table_free(struct slu_table *table);

/* Numbers stand right. */
void slu_table_align_right(struct slu_table *table, unsigned column);

/* Appends a cell, row by row, column by column; NULL is a dash. */
void slu_table_add(struct slu_table *table, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

void slu_table_print(const struct slu_table *table, FILE *out, const char *indent);
