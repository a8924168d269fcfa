/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table for people: columns as wide as their widest cell, counted in characters as a terminal
 * shows them, not in bytes. The first row is the heads. The last column is not padded; it holds
 * words that may take several lines, and where they do not fit next to the other columns they go
 * in lines of their own below.
 */

#include <stdbool.h>
#include <stdio.h>

#define SLU_TABLE_COLUMNS_MAX 16

struct slu_table;

struct slu_table *slu_table_new(unsigned n_columns);
void slu_table_free(struct slu_table *table);

/* Numbers stand right. */
void slu_table_align_right(struct slu_table *table, unsigned column);

/* Leave the column out where it says nothing: every cell below the head is empty, "–" or "0". */
void slu_table_hide_empty(struct slu_table *table, unsigned column);

/*
 * Where lines are too narrow the column's cells are cut, down to @min characters, before any column
 * is left out.
 */
void slu_table_shrink(struct slu_table *table, unsigned column, size_t min);

/* Print at most @n_lines; rows that do not fit are counted in the last one. 0: all. */
void slu_table_limit(struct slu_table *table, size_t n_lines);

/* Leave the column out. */
void slu_table_hide(struct slu_table *table, unsigned column);

/* The column may be left out where lines are too narrow; the one that was named first goes first.
 */
void slu_table_spare(struct slu_table *table, unsigned column);

/* Appends a cell, row by row, column by column. */
void slu_table_add(struct slu_table *table, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* The last cell in this colour (the number of an escape sequence) where stdout may have colour. */
void slu_table_colour(struct slu_table *table, const char *colour);

/* @width: characters a line, @indent included; 0: as many as it takes. */
void slu_table_print(const struct slu_table *table, FILE *out, const char *indent, size_t width);
