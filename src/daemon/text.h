/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Words that came from a client and go to a terminal, a log or JSON. */

/* Replaces what is not printable, and all that is no UTF-8, by '?'. */
void slu_text_clean(char *text);
