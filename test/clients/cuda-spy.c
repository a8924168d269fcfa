/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver between the shim and the software GPU that writes down what it is asked: every name is a
 * jump to the driver that SLUICE_SPY_DRIVER names, but for those below, each a line in the file
 * SLUICE_SPY_LOG once it has returned:
 *
 *   thread call mode bytes result begin end detail
 *
 * with the thread's name, its capture mode, and times in ns, monotonic. It says BAD where the
 * genuine driver would refuse, or fail later: a mapping that is not unmapped as a whole, pinned
 * pages that are not there yet.
 *
 * SLUICE_SPY_LAZY=1: what records an event comes late, and leaves more in the stream than that.
 * SLUICE_SPY_NO_HOST=1: host memory cannot be mapped for the device. SLUICE_SPY_NO_PAGES=1: the
 * device cannot fault. SLUICE_SPY_TWIN: a file that is locked while a mapping call runs; BAD if
 * somebody else has it.
 *
 * Its arrays are its own; nothing can be done with them.
 *
 * It has a private table of its own (the id is sixteen times 0x5a), whose only entry is a launch
 * that nobody in front of it sees.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuabi/cuda-calls.h"
#include "cuabi/names.h"

__attribute__((__visibility__("hidden"))) void *slu_real_table[_SLU_CUNAME_MAX];
__attribute__((__visibility__("hidden"))) void *slu_real_resolve(unsigned id);

static struct {
	pthread_once_t once;
	void *driver;
	FILE *log;
} spy = { .once = PTHREAD_ONCE_INIT };

static __thread CUstreamCaptureMode mode_mine = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void open_all(void)
{
	spy.driver = dlopen(getenv("SLUICE_SPY_DRIVER"), RTLD_NOW | RTLD_LOCAL);
	spy.log = fopen(getenv("SLUICE_SPY_LOG"), "ae");
	if (!spy.driver || !spy.log)
		abort();
	setlinebuf(spy.log);
}

void *slu_real_resolve(unsigned id)
{
	pthread_once(&spy.once, open_all);
	slu_real_table[id] = dlsym(spy.driver, slu_cunames[id].symbol);
	return slu_real_table[id];
}

#define REAL(name) ((__typeof__(&name))slu_real_resolve(SLU_CUNAME_##name))

static void write_line(const char *call, size_t bytes, CUresult r, uint64_t begin_ns,
		       const char *detail)
{
	char name[32] = "?";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	fprintf(spy.log, "%s %s %d %zu %d %llu %llu %s\n", name, call, (int)mode_mine, bytes,
		(int)r, (unsigned long long)begin_ns, (unsigned long long)slu_clock_now_ns(),
		detail);
}

/* -- the mapping calls ---------------------------------------------------------------------------
 */

/* Whether somebody, that is whoever calls us, holds the lock. */
static const char *look_at_lock(void)
{
	const char *folder = getenv("SLUICE_SPY_LOCKS");
	char pattern[4096];
	bool is_free = true;
	glob_t found;
	int fd;

	snprintf(pattern, sizeof(pattern), "%s/vmm-*.lock", folder ? folder : "/nowhere");
	if (glob(pattern, 0, NULL, &found))
		return "free";
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		/* shared: two who look at the same time do not take each other for the holder */
		is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
		close(fd);
	}
	globfree(&found);
	return is_free ? "free" : "held";
}

/* What is mapped, to see that it is unmapped as it was mapped. */
static struct {
	pthread_mutex_t lock;
	struct {
		CUdeviceptr address;
		size_t bytes;
	} rows[65536];
	unsigned n;
} mapped = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool find_mapping(CUdeviceptr address, size_t bytes, bool takes)
{
	bool found = false;

	pthread_mutex_lock(&mapped.lock);
	for (unsigned i = 0; i < mapped.n && !found; i++) {
		found = mapped.rows[i].address == address && mapped.rows[i].bytes == bytes;
		if (found && takes)
			mapped.rows[i] = mapped.rows[--mapped.n];
	}
	pthread_mutex_unlock(&mapped.lock);
	return found;
}

CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device)
{
	CUresult r = REAL(cuDeviceGetAttribute)(ret_value, attribute, device);

	if (attribute == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS &&
	    getenv("SLUICE_SPY_NO_PAGES"))
		*ret_value = 0;
	return r;
}

static CUresult make_array(CUarray *ret_array)
{
	*ret_array = malloc(1);
	return *ret_array ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *description)
{
	return make_array(ret_array);
}

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *description)
{
	return make_array(ret_array);
}

CUresult cuArrayDestroy(CUarray array)
{
	free(array);
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	bool is_host = prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
	uint64_t begin = slu_clock_now_ns();
	CUresult r;

	if (is_host && getenv("SLUICE_SPY_NO_HOST"))
		r = CUDA_ERROR_NOT_SUPPORTED;
	else
		r = REAL(cuMemCreate)(ret_handle, bytes, prop, flags);
	write_line("cuMemCreate", bytes, r, begin, is_host ? "host" : "device");
	return r;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	uint64_t begin = slu_clock_now_ns();
	const char *detail = look_at_lock();
	CUresult r = REAL(cuMemMap)(address, bytes, offset, handle, flags);

	pthread_mutex_lock(&mapped.lock);
	if (r == CUDA_SUCCESS && mapped.n < sizeof(mapped.rows) / sizeof(mapped.rows[0])) {
		mapped.rows[mapped.n].address = address;
		mapped.rows[mapped.n++].bytes = bytes;
	}
	pthread_mutex_unlock(&mapped.lock);
	write_line("cuMemMap", bytes, r, begin, offset ? "BAD:offset" : detail);
	return r;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t n)
{
	uint64_t begin = slu_clock_now_ns();
	const char *detail = look_at_lock();
	CUresult r = REAL(cuMemSetAccess)(address, bytes, access, n);

	write_line("cuMemSetAccess", bytes, r, begin, detail);
	return r;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	uint64_t begin = slu_clock_now_ns();
	const char *detail = look_at_lock();
	bool is_whole = find_mapping(address, bytes, false);
	CUresult r = REAL(cuMemUnmap)(address, bytes);

	if (r == CUDA_SUCCESS)
		find_mapping(address, bytes, true);
	write_line("cuMemUnmap", bytes, r, begin, is_whole ? detail : "BAD:part");
	return r;
}

/* -- events --------------------------------------------------------------------------------------
 */

#define LAZY_US	   20000
#define LAZY_CALLS 16 /* every so many */

static void linger(void *data)
{
	usleep(LAZY_US);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	static unsigned n_calls; /* atomic */
	char name[32] = "?";
	bool is_lazy;
	CUresult r;

	/* the threads of the library have names of ours */
	pthread_getname_np(pthread_self(), name, sizeof(name));
	is_lazy = getenv("SLUICE_SPY_LAZY") && strncmp(name, "sluice", 6) &&
		  !(__atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED) % LAZY_CALLS);
	if (is_lazy)
		usleep(LAZY_US);
	r = REAL(cuEventRecord)(event, stream);
	if (is_lazy)
		REAL(cuLaunchHostFunc)(stream, linger, NULL);
	return r;
}

/* -- pinning -------------------------------------------------------------------------------------
 */

static bool is_resident(void *host, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page;
	unsigned char *pages = calloc(n, 1);
	bool is_there = pages && !mincore(host, bytes, pages);

	for (size_t i = 0; is_there && i < n; i++)
		is_there = pages[i] & 1;
	free(pages);
	return is_there;
}

CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned int flags)
{
	const char *detail = is_resident(host, bytes) ? "there" : "BAD:absent";
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuMemHostRegister_v2)(host, bytes, flags);

	write_line("cuMemHostRegister", bytes, r, begin, detail);
	return r;
}

CUresult cuMemHostAlloc(void **ret_host, size_t bytes, unsigned int flags)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuMemHostAlloc)(ret_host, bytes, flags);

	write_line("cuMemHostAlloc", bytes, r, begin, "-");
	return r;
}

/* -- streams, events, copies, waits --------------------------------------------------------------
 */

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode wanted = *mode;
	CUresult r = REAL(cuThreadExchangeStreamCaptureMode)(mode);

	if (r == CUDA_SUCCESS)
		mode_mine = wanted;
	return r;
}

CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuStreamCreate)(ret_stream, flags);

	write_line("cuStreamCreate", 0, r, begin,
		   flags & CU_STREAM_NON_BLOCKING ? "beside" : "blocking");
	return r;
}

CUresult cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuEventCreate)(ret_event, flags);

	write_line("cuEventCreate", 0, r, begin, "-");
	return r;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuStreamWaitEvent)(stream, event, flags);

	write_line("cuStreamWaitEvent", 0, r, begin, "-");
	return r;
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
				unsigned int flags)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuStreamWaitValue32_v2)(stream, address, value, flags);

	write_line("cuStreamWaitValue", 0, r, begin, "-");
	return r;
}

static void write_copy(const char *call, size_t bytes, CUresult r, uint64_t begin, CUstream stream)
{
	char detail[32];

	snprintf(detail, sizeof(detail), "%p", (void *)stream);
	write_line(call, bytes, r, begin, detail);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr address, const void *host, size_t bytes, CUstream stream)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuMemcpyHtoDAsync_v2)(address, host, bytes, stream);

	write_copy("cuMemcpyHtoDAsync", bytes, r, begin, stream);
	return r;
}

CUresult cuMemcpyDtoHAsync_v2(void *host, CUdeviceptr address, size_t bytes, CUstream stream)
{
	uint64_t begin = slu_clock_now_ns();
	CUresult r = REAL(cuMemcpyDtoHAsync_v2)(host, address, bytes, stream);

	write_copy("cuMemcpyDtoHAsync", bytes, r, begin, stream);
	return r;
}

/* -- the private table ---------------------------------------------------------------------------
 */

static struct {
	size_t bytes;
	void *launch;
} table;

CUresult cuGetExportTable(const void **ret_table, const CUuuid *id)
{
	for (size_t i = 0; id && i < sizeof(id->bytes); i++)
		if (id->bytes[i] != 0x5a)
			return REAL(cuGetExportTable)(ret_table, id);
	table.bytes = sizeof(table);
	table.launch = slu_real_resolve(SLU_CUNAME_cuLaunchKernel);
	*ret_table = &table;
	return CUDA_SUCCESS;
}
