/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f32 and f64. Rounding and flushing are a state of the CPU that decode.c arranges, so one
 * handler serves all modes. Approximations are computed as exactly as the C library does it, and
 * flush by themselves.
 */
#include <math.h>

#include "softgpu/interp/isa.h"

/* .sat clamps to [0, 1], and a NaN becomes 0 */
static inline float float_saturate(float x)
{
	return !(x > 0) ? 0 : x > 1 ? 1 : x;
}

static inline float float_flush(float x)
{
	return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* the one NaN that arithmetic gives on the device; on the host its sign may differ */
static inline float quiet_f32(float x)
{
	return x == x ? x : __builtin_nanf("0x3fffff");
}

/* of f64 a NaN keeps its bits */
#define quiet_f64(x) (x)

#define DEFINE_FLOAT(n, F)                         \
	OP2(add_##n, F, F, F, F, quiet_##n(a + b)) \
	OP2(sub_##n, F, F, F, F, quiet_##n(a - b)) \
	OP2(mul_##n, F, F, F, F, quiet_##n(a *b))  \
	OP2(div_##n, F, F, F, F, quiet_##n(a / b)) \
	OP1(rcp_##n, F, F, F, F, quiet_##n(1 / a))
DEFINE_FLOAT(f32, float)
DEFINE_FLOAT(f64, double)

OP3(fma_f32, float, float, float, float, quiet_f32(__builtin_fmaf(a, b, c)))
OP3(fma_f64, double, double, double, double, __builtin_fma(a, b, c))
OP2(add_sat_f32, float, float, float, float, float_saturate(a + b))
OP2(sub_sat_f32, float, float, float, float, float_saturate(a - b))
OP2(mul_sat_f32, float, float, float, float, float_saturate(a *b))
OP3(fma_sat_f32, float, float, float, float, float_saturate(__builtin_fmaf(a, b, c)))
OP1(sqrt_f32, float, float, float, float, quiet_f32(__builtin_sqrtf(a)))
OP1(sqrt_f64, double, double, double, double, __builtin_sqrt(a))

/* signs are bits: a NaN keeps its payload, and only .ftz touches a subnormal */
OP1(abs_f32, uint32_t, uint32_t, uint32_t, uint32_t, a & 0x7fffffff)
OP1(abs_ftz_f32, float, float, float, float, fabsf(float_flush(a)))
OP1(abs_f64, uint64_t, uint64_t, uint64_t, uint64_t, a &INT64_MAX)
OP1(neg_f32, uint32_t, uint32_t, uint32_t, uint32_t, a ^ 0x80000000)
OP1(neg_ftz_f32, float, float, float, float, -float_flush(a))
OP1(neg_f64, uint64_t, uint64_t, uint64_t, uint64_t, a ^ (UINT64_C(1) << 63))
/* copysign d, a, b: the sign of a, the value of b */
OP2(copysign_f32, uint32_t, uint32_t, uint32_t, uint32_t, (a & 0x80000000) | (b & 0x7fffffff))
OP2(copysign_f64, uint64_t, uint64_t, uint64_t, uint64_t,
    (a & (UINT64_C(1) << 63)) | (b & INT64_MAX))

/* the number wins over a NaN, and -0 is less than +0 */
#define DEFINE_MINMAX(n, F)                                  \
	static inline F least_##n(F a, F b)                  \
	{                                                    \
		if (a != a)                                  \
			return b;                            \
		if (b != b)                                  \
			return a;                            \
		if (a == b)                                  \
			return __builtin_signbit(a) ? a : b; \
		return a < b ? a : b;                        \
	}                                                    \
	static inline F most_##n(F a, F b)                   \
	{                                                    \
		if (a != a)                                  \
			return b;                            \
		if (b != b)                                  \
			return a;                            \
		if (a == b)                                  \
			return __builtin_signbit(a) ? b : a; \
		return a > b ? a : b;                        \
	}
DEFINE_MINMAX(f32, float)
DEFINE_MINMAX(f64, double)

OP2(min_f32, float, float, float, float, quiet_f32(least_f32(a, b)))
OP2(max_f32, float, float, float, float, quiet_f32(most_f32(a, b)))
OP2(min_ftz_f32, float, float, float, float, quiet_f32(least_f32(float_flush(a), float_flush(b))))
OP2(max_ftz_f32, float, float, float, float, quiet_f32(most_f32(float_flush(a), float_flush(b))))
OP2(min_nan_f32, float, float, float, float, quiet_f32(a != a || b != b ? NAN : least_f32(a, b)))
OP2(max_nan_f32, float, float, float, float, quiet_f32(a != a || b != b ? NAN : most_f32(a, b)))
OP2(min_nan_ftz_f32, float, float, float, float,
    quiet_f32(a != a || b != b ? NAN : least_f32(float_flush(a), float_flush(b))))
OP2(max_nan_ftz_f32, float, float, float, float,
    quiet_f32(a != a || b != b ? NAN : most_f32(float_flush(a), float_flush(b))))
OP2(min_f64, double, double, double, double, least_f64(a, b))
OP2(max_f64, double, double, double, double, most_f64(a, b))

#define APPROX1(name, expr)                                          \
	OP1(name##_f32, float, float, float, float, quiet_f32(expr)) \
	static inline float name##_flushed(float x)                  \
	{                                                            \
		float a = float_flush(x);                            \
                                                                     \
		return quiet_f32(float_flush(expr));                 \
	}                                                            \
	OP1(name##_ftz_f32, float, float, float, float, name##_flushed(a))
APPROX1(approx_rcp, 1 / a)
APPROX1(approx_sqrt, __builtin_sqrtf(a))
APPROX1(approx_rsqrt, (float)(1 / __builtin_sqrt((double)a)))
APPROX1(approx_sin, sinf(a))
APPROX1(approx_cos, cosf(a))
APPROX1(approx_lg2, log2f(a))
APPROX1(approx_ex2, exp2f(a))
OP1(approx_tanh_f32, float, float, float, float, quiet_f32(tanhf(a)))
/* a * (1/b), and 1/b is nothing where it would be subnormal */
static inline float float_divide(float a, float b)
{
	float size = __builtin_fabsf(b);

	return size > 0x1p126f && size < __builtin_inff() ? a * __builtin_copysignf(0, b) : a / b;
}
OP2(approx_div_f32, float, float, float, float, quiet_f32(float_divide(a, b)))
OP2(approx_div_ftz_f32, float, float, float, float,
    quiet_f32(float_flush(float_divide(float_flush(a), float_flush(b)))))
OP2(full_div_f32, float, float, float, float, quiet_f32(a / b))
OP2(full_div_ftz_f32, float, float, float, float,
    quiet_f32(float_flush(float_flush(a) / float_flush(b))))

static inline double flush_f64(double x)
{
	return fabs(x) < 0x1p-1022 ? copysign(0, x) : x;
}

/* these look at the upper 32 bits only, and give no more */
static inline double float_upper(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, 8);
	bits &= UINT64_C(0xffffffff00000000);
	memcpy(&x, &bits, 8);
	return x;
}

OP1(approx_rcp_ftz_f64, double, double, double, double,
    float_upper(flush_f64(1 / flush_f64(float_upper(a)))))
OP1(approx_rsqrt_f64, double, double, double, double, 1 / __builtin_sqrt(a))
OP1(approx_rsqrt_ftz_f64, double, double, double, double,
    float_upper(flush_f64(1 / __builtin_sqrt(flush_f64(float_upper(a))))))

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

static const struct dev_interp_handler *bind_approx(const struct slu_ptx_form *form)
{
	bool is_ftz = HAS(ftz), is_f64 = form->types[0] == SLU_PTX_TYPE_F64;

	switch (form->opcode) {
	case SLU_PTX_OP_div:
		if (HAS(full))
			return is_ftz ? &full_div_ftz_f32 : &full_div_f32;
		return is_ftz ? &approx_div_ftz_f32 : &approx_div_f32;
	case SLU_PTX_OP_rcp:
		if (is_f64)
			return &approx_rcp_ftz_f64;
		return is_ftz ? &approx_rcp_ftz_f32 : &approx_rcp_f32;
	case SLU_PTX_OP_rsqrt:
		if (is_f64)
			return is_ftz ? &approx_rsqrt_ftz_f64 : &approx_rsqrt_f64;
		return is_ftz ? &approx_rsqrt_ftz_f32 : &approx_rsqrt_f32;
	case SLU_PTX_OP_sqrt:
		return is_ftz ? &approx_sqrt_ftz_f32 : &approx_sqrt_f32;
	case SLU_PTX_OP_sin:
		return is_ftz ? &approx_sin_ftz_f32 : &approx_sin_f32;
	case SLU_PTX_OP_cos:
		return is_ftz ? &approx_cos_ftz_f32 : &approx_cos_f32;
	case SLU_PTX_OP_lg2:
		return is_ftz ? &approx_lg2_ftz_f32 : &approx_lg2_f32;
	case SLU_PTX_OP_ex2:
		return is_ftz ? &approx_ex2_ftz_f32 : &approx_ex2_f32;
	case SLU_PTX_OP_tanh:
		return &approx_tanh_f32;
	default:
		return NULL;
	}
}

const struct dev_interp_handler *DEV_ISA(float_bind)(const struct slu_ptx_form *form)
{
	bool is_64 = form->types[0] == SLU_PTX_TYPE_F64, is_ftz = HAS(ftz);

	if (HAS(approx) || HAS(full))
		return bind_approx(form);
	switch (form->opcode) {
	case SLU_PTX_OP_add:
		return is_64 ? &add_f64 : HAS(sat) ? &add_sat_f32 : &add_f32;
	case SLU_PTX_OP_sub:
		return is_64 ? &sub_f64 : HAS(sat) ? &sub_sat_f32 : &sub_f32;
	case SLU_PTX_OP_mul:
		return is_64 ? &mul_f64 : HAS(sat) ? &mul_sat_f32 : &mul_f32;
	case SLU_PTX_OP_mad:
	case SLU_PTX_OP_fma:
		return is_64 ? &fma_f64 : HAS(sat) ? &fma_sat_f32 : &fma_f32;
	case SLU_PTX_OP_div:
		return is_64 ? &div_f64 : &div_f32;
	case SLU_PTX_OP_rcp:
		return is_64 ? &rcp_f64 : &rcp_f32;
	case SLU_PTX_OP_sqrt:
		return is_64 ? &sqrt_f64 : &sqrt_f32;
	case SLU_PTX_OP_abs:
		return is_64 ? &abs_f64 : is_ftz ? &abs_ftz_f32 : &abs_f32;
	case SLU_PTX_OP_neg:
		return is_64 ? &neg_f64 : is_ftz ? &neg_ftz_f32 : &neg_f32;
	case SLU_PTX_OP_copysign:
		return is_64 ? &copysign_f64 : &copysign_f32;
	case SLU_PTX_OP_min:
		if (HAS(NaN))
			return is_ftz ? &min_nan_ftz_f32 : &min_nan_f32;
		return is_64 ? &min_f64 : is_ftz ? &min_ftz_f32 : &min_f32;
	case SLU_PTX_OP_max:
		if (HAS(NaN))
			return is_ftz ? &max_nan_ftz_f32 : &max_nan_f32;
		return is_64 ? &max_f64 : is_ftz ? &max_ftz_f32 : &max_f32;
	default:
		return NULL;
	}
}
