/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call that puts work on a device, made from gated.def. With the gate open a wrapper adds
 * a few stores and loads and the genuine call: no lock, no message, no driver call of ours. And the
 * calls of loose.def, which are only counted, and of loading.def, which may need headroom.
 */
#include "cuda/bypass.h"
#include "cuda/device.h"
#include "cuda/early.h"
#include "cuda/gate.h"
#include "cuda/real.h"
#include "cuda/headroom.h"
#include "cuda/predict-trace.h"
#include "cuda/query.h"
#include "cuda/rhythm.h"
#include "cuda/writes.h"

#define COUNT_(a, b, c, d, e, f, g, h, i, j, k, n, ...) n
#define COUNT(...)					COUNT_(__VA_ARGS__, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define JOIN_(a, b)					a##b
#define JOIN(a, b)					JOIN_(a, b)

#define PARAMETERS_1(A)				    A a
#define PARAMETERS_2(A, B)			    PARAMETERS_1(A), B b
#define PARAMETERS_3(A, B, C)			    PARAMETERS_2(A, B), C c
#define PARAMETERS_4(A, B, C, D)		    PARAMETERS_3(A, B, C), D d
#define PARAMETERS_5(A, B, C, D, E)		    PARAMETERS_4(A, B, C, D), E e
#define PARAMETERS_6(A, B, C, D, E, F)		    PARAMETERS_5(A, B, C, D, E), F f
#define PARAMETERS_7(A, B, C, D, E, F, G)	    PARAMETERS_6(A, B, C, D, E, F), G g
#define PARAMETERS_8(A, B, C, D, E, F, G, H)	    PARAMETERS_7(A, B, C, D, E, F, G), H h
#define PARAMETERS_9(A, B, C, D, E, F, G, H, I)	    PARAMETERS_8(A, B, C, D, E, F, G, H), I i
#define PARAMETERS_10(A, B, C, D, E, F, G, H, I, J) PARAMETERS_9(A, B, C, D, E, F, G, H, I), J j
#define PARAMETERS_11(A, B, C, D, E, F, G, H, I, J, K) \
	PARAMETERS_10(A, B, C, D, E, F, G, H, I, J), K k

#define ARGUMENTS_1  a
#define ARGUMENTS_2  ARGUMENTS_1, b
#define ARGUMENTS_3  ARGUMENTS_2, c
#define ARGUMENTS_4  ARGUMENTS_3, d
#define ARGUMENTS_5  ARGUMENTS_4, e
#define ARGUMENTS_6  ARGUMENTS_5, f
#define ARGUMENTS_7  ARGUMENTS_6, g
#define ARGUMENTS_8  ARGUMENTS_7, h
#define ARGUMENTS_9  ARGUMENTS_8, i
#define ARGUMENTS_10 ARGUMENTS_9, j
#define ARGUMENTS_11 ARGUMENTS_10, k

/* The _ptsz calls mean the calling thread's own stream by 0. */
#define PER_THREAD(stream) ((stream) ? (stream) : SLU_STREAM_PER_THREAD)
#define LEGACY		   SLU_STREAM_LEGACY
#define MINE		   SLU_STREAM_PER_THREAD

/* Outside the gate: a thread that waits here delays no other one. */
static inline void flight_wait(struct slu_cuda_device *device)
{
	if (__builtin_expect(slu_cuda_flight_is_full(&device->flight), 0))
		slu_cuda_gate_wait_for_flight(device);
}

static inline bool device_has_host_calls(const struct slu_cuda_device *device)
{
	return __builtin_expect(
		atomic_load_explicit(&device->stream_uses.n_host_calls, memory_order_relaxed) != 0,
		0);
}

/*
 * A call that waits for all that is queued before it would wait inside the gate for a host
 * function, and the host function perhaps for a program that needs our turn to end. So it waits out
 * here.
 */
static inline void host_calls_wait(struct slu_cuda_device *device, CUstream stream)
{
	if (device_has_host_calls(device))
		slu_cuda_gate_wait_outside(device, stream);
}

/* Whether calls tell what they write. */
static inline bool calls_tell(const struct slu_cuda_device *device)
{
	return slu_gate_wants_writes(device->index) || slu_cuda_predict_trace_is_on;
}

static inline void launch_note(struct slu_cuda_device *device, CUstream stream)
{
	uint64_t number;

	if (__builtin_expect(slu_cuda_flight_add(&device->flight, &number), 0))
		slu_cuda_flight_mark(device, stream);
	slu_cuda_streams_note(&device->stream_uses, stream, number);
}

/* What tells this call from others: the call itself, and the kernel or the graph. */
#define CALL_KEY(name)                                             \
	((uintptr_t)&name ^ _Generic((a), CUfunction               \
				     : (uintptr_t)(a), CUgraphExec \
				     : (uintptr_t)(a), default     \
				     : (uintptr_t)0))

#define GATED(name, stream, touches, needs, prepare, finish, ...)                       \
	CUresult name(JOIN(PARAMETERS_, COUNT(__VA_ARGS__))(__VA_ARGS__))               \
	{                                                                               \
		struct slu_cuda_device *device_ = slu_cuda_device_here();               \
		CUresult result_;                                                       \
                                                                                        \
		if (__builtin_expect(!device_, 0))                                      \
			return SLU_REAL(name)(JOIN(ARGUMENTS_, COUNT(__VA_ARGS__)));    \
		prepare;                                                                \
		if (__builtin_expect(!slu_gate_try_enter(device_->index), 0)) {         \
			const struct slu_cuda_touch touch_ = touches;                   \
                                                                                        \
			result_ = slu_cuda_early_enter(device_, &touch_);               \
			if (result_ != CUDA_SUCCESS) {                                  \
				finish;                                                 \
				return result_;                                         \
			}                                                               \
		}                                                                       \
		if (__builtin_expect(calls_tell(device_), 0)) {                         \
			const struct slu_cuda_touch touch_ = touches;                   \
                                                                                        \
			slu_cuda_writes_tell(&touch_);                                  \
		}                                                                       \
		result_ = SLU_REAL(name)(JOIN(ARGUMENTS_, COUNT(__VA_ARGS__)));         \
		launch_note(device_, stream);                                           \
		slu_cuda_rhythm_submit(CALL_KEY(name));                                 \
		slu_cuda_gate_leave(device_);                                           \
		SLU_CUDA_HEADROOM_RETRY (device_, needs, result_) {                     \
			result_ = SLU_REAL(name)(JOIN(ARGUMENTS_, COUNT(__VA_ARGS__))); \
			launch_note(device_, stream);                                   \
		}                                                                       \
		finish;                                                                 \
		return result_;                                                         \
	}

/* What a call touches, for whoever has to know (touch.h). */
#define TOUCH(kind_, ...)		   ((struct slu_cuda_touch){ .kind = SLU_CUDA_TOUCH_##kind_, ##__VA_ARGS__ })
#define ANYTHING			   TOUCH(ANYTHING)
#define UNWRITTEN			   TOUCH(UNWRITTEN)
#define COPY(to, from, bytes)		   slu_cuda_touch_copy((uint64_t)(to), (uint64_t)(from), bytes)
#define BYTES(address, bytes_)		   TOUCH(BYTES, .written = { address, bytes_ })
#define ROWS(address, pitch, row_bytes, n) slu_cuda_touch_rows(address, pitch, row_bytes, n)
#define LAUNCH(params_, extra_)                         \
	TOUCH(LAUNCH, .launch = { .function = a,        \
				  .grid = { b, c, d },  \
				  .block = { e, f, g }, \
				  .params = (params_),  \
				  .extra = (extra_),    \
				  .stream = i })
#define GRAPH		   TOUCH(GRAPH, .exec = a)
#define CONFIGURED	   slu_cuda_touch_configured(a, b, c, d)
#define ELEMENTS(n, bytes) slu_cuda_touch_product(n, bytes)

#define SLU_GATED(name, stream, touches, ...) \
	GATED(name, stream, touches, 0, flight_wait(device_), , __VA_ARGS__)
#define SLU_GATED_WAITS(name, stream, touches, ...)                       \
	GATED(name, stream, touches, 0, host_calls_wait(device_, stream), \
	      slu_cuda_rhythm_meet(SLU_CUDA_RHYTHM_COPY), __VA_ARGS__)
#define SEEN(address) slu_cuda_query_host_sees(address)
#define SLU_GATED_SEEN(name, stream, is_seen, touches, ...)         \
	GATED(name, stream, touches, 0,                             \
	      device_has_host_calls(device_) && (is_seen)           \
		      ? slu_cuda_gate_wait_outside(device_, stream) \
		      : flight_wait(device_),                       \
	      , __VA_ARGS__)
#define GRAPH_PREPARE(stream)                                                \
	uint64_t graph_bytes_;                                               \
                                                                             \
	flight_wait(device_);                                                \
	if (!slu_cuda_graphmem_prepare(device_, a, stream, &graph_bytes_)) { \
		return CUDA_ERROR_OUT_OF_MEMORY;                             \
	}
#define SLU_GATED_GRAPH(name, stream, touches, ...)                       \
	GATED(name, stream, touches, graph_bytes_, GRAPH_PREPARE(stream), \
	      slu_cuda_graphmem_launched(device_, a, graph_bytes_, result_), __VA_ARGS__)
#include "cuda/gated.def"

#define SLU_LOOSE(name, ...)                                                    \
	CUresult name(JOIN(PARAMETERS_, COUNT(__VA_ARGS__))(__VA_ARGS__))       \
	{                                                                       \
		CUresult result_;                                               \
                                                                                \
		slu_cuda_bypass_begin();                                        \
		result_ = SLU_REAL(name)(JOIN(ARGUMENTS_, COUNT(__VA_ARGS__))); \
		slu_cuda_bypass_end();                                          \
		return result_;                                                 \
	}
#include "cuda/loose.def"

#define SLU_LOADING(name, ...)                                                           \
	CUresult name(JOIN(PARAMETERS_, COUNT(__VA_ARGS__))(__VA_ARGS__))                \
	{                                                                                \
		CUresult result_ = SLU_REAL(name)(JOIN(ARGUMENTS_, COUNT(__VA_ARGS__))); \
		struct slu_cuda_device *device_ = NULL;                                  \
                                                                                         \
		if (result_ == CUDA_ERROR_OUT_OF_MEMORY)                                 \
			device_ = slu_cuda_device_here();                                \
		SLU_CUDA_HEADROOM_RETRY (device_, 0, result_)                            \
			result_ = SLU_REAL(name)(JOIN(ARGUMENTS_, COUNT(__VA_ARGS__)));  \
		return result_;                                                          \
	}
#include "cuda/loading.def"
