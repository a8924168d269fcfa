/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/reason.h"

static const char *const texts[] = {
#define SLU_PREDICT_REASON(name, text) text,
#include "predict/reasons.def"
};

const char *slu_predict_reason_text(enum slu_predict_reason reason)
{
	return reason < _SLU_PREDICT_REASON_MAX ? texts[reason] : texts[0];
}
