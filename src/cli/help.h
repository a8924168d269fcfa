/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* argp knows --help and -?; most people try -h. A child parser for every command, without input. */

#include <argp.h>

extern const struct argp slu_cli_help_argp;
