/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text from a client for a terminal, a log or JSON. */

/* Replaces characters that are not printable or not valid UTF-8 by '?'. */
void slu_text_clean(char *text);
