/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/truth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/images/module.h"

static const char *trace_path; /* constant after init, as its descriptor */
static int trace_fd = -1;

/* held over a launch that is traced */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static uint64_t n_launches; /* guarded by it, as the next two */
static uint64_t n_lost; /* launches that could not be written, and of which nothing is said yet */
static bool is_torn;	/* the trace ends amid a line of ours */

/* one byte a page of the window; made when it is first needed */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;
static uint8_t *table; /* NULL: no memory was had for it, and nothing is counted */

int dev_truth_init(void)
{
	const char *path = secure_getenv("SLUICE_SOFTGPU_TRACE");

	if (trace_fd >= 0 || !path || !*path)
		return 0;
	trace_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (trace_fd < 0)
		return slu_error(-errno);
	trace_path = strdup(path);
	return trace_path ? 0 : slu_error(-ENOMEM);
}

static void make_table(void)
{
	const struct dev_window *window = &dev_driver.window;
	void *p = mmap(NULL, window->bytes >> window->shift, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	table = p == MAP_FAILED ? NULL : p;
}

int dev_truth_prepare(void)
{
	if (trace_fd < 0)
		return 0;
	pthread_once(&table_once, make_table);
	return table ? 0 : slu_error(-ENOMEM);
}

void dev_truth_begin(struct dev_truth *ret_truth, struct dev_card *card,
		     struct dev_interp_memory *memory)
{
	*ret_truth = (struct dev_truth){
		.card = card,
		.is_traced = trace_fd >= 0,
		.is_charged = card->shared->traits.in_alone != 0,
	};
	if (ret_truth->is_traced || (ret_truth->is_charged && dev_driver.window.n_host)) {
		pthread_once(&table_once, make_table);
		memory->touched = table;
	}
	if (ret_truth->is_traced || (ret_truth->is_charged && memory->n_ranges))
		memory->range_bytes = ret_truth->range_bytes;
	if (ret_truth->is_traced)
		pthread_mutex_lock(&one_at_a_time);
}

/* -- pages ---------------------------------------------------------------------------------- */

struct tally {
	FILE *trace;		  /* NULL: not traced */
	uint64_t n_runs;	  /* that were written down */
	uint64_t host_pages[2];	  /* read, written */
	uint64_t run_page, run_n; /* pages that were touched alike, not written down yet */
	uint8_t run_how;
};

static void end_run(struct tally *t)
{
	const struct dev_window *window = &dev_driver.window;

	if (t->run_n && t->trace) {
		fprintf(t->trace, "%c %" PRIx64 " %" PRIu64 "\n", " rwx"[t->run_how],
			window -> base + (t->run_page << window->shift), t -> run_n);
		t->n_runs++;
	}
	t->run_n = 0;
}

static void add_page(struct tally *t, uint64_t page, uint8_t how, bool is_host)
{
	if (t->run_n && (t->run_page + t->run_n != page || t->run_how != how))
		end_run(t);
	if (!t->run_n) {
		t->run_page = page;
		t->run_how = how;
	}
	t->run_n++;
	if (is_host) {
		t->host_pages[0] += !!(how & DEV_INTERP_READ);
		t->host_pages[1] += !!(how & DEV_INTERP_WRITE);
	}
}

/* Looks at the pages of one mapping and clears what it finds. */
static void truth_walk(struct tally *t, uint64_t base, uint64_t bytes, bool is_host)
{
	const struct dev_window *window = &dev_driver.window;
	uint64_t page = (base - window->base) >> window->shift,
		 end = page + (bytes >> window->shift);

	while (page < end) {
		uint64_t eight;

		if (end - page >= 8 && page % 8 == 0) {
			memcpy(&eight, table + page, sizeof(eight));
			if (!eight) {
				page += 8;
				continue;
			}
		}
		if (table[page])
			add_page(t, page,
				 __atomic_exchange_n(&table[page], 0, __ATOMIC_RELAXED) & 3,
				 is_host);
		page++;
	}
}

static void walk_all(struct dev_truth *truth, struct tally *t)
{
	const struct dev_spans *mappings = &dev_driver.window.mappings;

	dev_driver_lock();
	for (size_t i = 0; i < mappings->n; i++) {
		const struct dev_mapping *m = mappings->array[i].data;
		bool is_host = !m->phys->card && m->access[truth->card->index];

		if (truth->is_traced || is_host)
			truth_walk(t, m->base, m->phys->bytes, is_host);
	}
	dev_driver_unlock();
	end_run(t);
}

/* -- the end of a launch -------------------------------------------------------------------- */

/* Said once: who asked for a trace should not find a short one without a word. */
static void truth_complain(int error)
{
	static bool has_said; /* guarded by one_at_a_time */

	if (!has_said)
		fprintf(stderr,
			"sluice: the trace %s cannot be written: %s; launches are missing in it\n",
			trace_path, strerror(error));
	has_said = true;
}

static bool write_all(const char *text, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		ssize_t n = write(trace_fd, text + at, bytes - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			is_torn = is_torn || at;
			truth_complain(n < 0 ? errno : ENOSPC);
			return false;
		}
		at += (size_t)n;
	}
	is_torn = false;
	return true;
}

/* Says so if launches before this one are missing. A line that was cut must not look like one. */
static bool write_lost(void)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%slost %d %" PRIu64 "\n", is_torn ? "?\n" : "",
			 (int)getpid(), n_lost);

	if (n_lost && !write_all(text, (size_t)n))
		return false;
	n_lost = 0;
	return true;
}

static bool write_trace(struct dev_truth *truth, const struct dev_command_kernel *k,
			uint64_t start_ns, const struct tally *t, const char *pages)
{
	slu_cleanup(slu_freep) char *text = NULL;
	uint64_t page = dev_driver.window.page_bytes;
	int n;

	n = asprintf(&text,
		     "launch %d %" PRIu64 " %s %u %u %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64
		     " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n%s",
		     (int)getpid(), n_launches, k->function->kernel->name, k->grid[0], k->grid[1],
		     k->grid[2], k->block[0], k->block[1], k->block[2], start_ns,
		     slu_clock_now_ns(), page, truth->range_bytes[0] + t->host_pages[0] * page,
		     truth->range_bytes[1] + t->host_pages[1] * page, t->n_runs, pages);
	if (n < 0) {
		text = NULL;
		truth_complain(ENOMEM);
		return false;
	}
	return write_lost() && write_all(text, (size_t)n);
}

/* The pages of a launch, as text. */
static bool end_pages(struct tally *t)
{
	bool is_whole = t->trace && !ferror(t->trace);

	if (t->trace && fclose(t->trace))
		is_whole = false;
	if (!is_whole)
		truth_complain(ENOMEM);
	return is_whole;
}

uint64_t dev_truth_end(struct dev_truth *truth, const struct dev_command_kernel *kernel,
		       uint64_t start_ns)
{
	uint64_t read_bytes, written_bytes, in_ns = 0, out_ns = 0;
	struct tally t = { 0 };
	char *pages = NULL;
	size_t bytes = 0;

	if (truth->is_traced)
		t.trace = open_memstream(&pages, &bytes);
	if (table && (truth->is_traced || dev_driver.window.n_host))
		walk_all(truth, &t);
	if (truth->is_traced) {
		n_launches++;
		if (!end_pages(&t) || !write_trace(truth, kernel, start_ns, &t, pages))
			n_lost++;
		pthread_mutex_unlock(&one_at_a_time);
	}
	free(pages);

	read_bytes = truth->range_bytes[0] + t.host_pages[0] * dev_driver.window.page_bytes;
	written_bytes = truth->range_bytes[1] + t.host_pages[1] * dev_driver.window.page_bytes;
	if (truth->is_charged && read_bytes)
		in_ns = dev_card_book(truth->card, DEV_BOARD_ENGINE_IN, read_bytes, start_ns);
	if (truth->is_charged && written_bytes)
		out_ns = dev_card_book(truth->card, DEV_BOARD_ENGINE_OUT, written_bytes, start_ns);
	return SLU_MAX(in_ns, out_ns);
}
