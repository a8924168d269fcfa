/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why something is unknown. */

enum slu_predict_reason {
#define SLU_PREDICT_REASON(name, text) SLU_PREDICT_REASON_##name,
#include "predict/reasons.def"
	_SLU_PREDICT_REASON_MAX,
};

const char *slu_predict_reason_text(enum slu_predict_reason reason);
