/* SPDX-License-Identifier: Apache-2.0 */
/* A module's functions, decoded when a kernel first needs them. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/interp/code.h"

/*
 * An address of a function is its number in a range that no host address lies in (it is not
 * canonical), so that a call through a wrong pointer is found out.
 */
#define FUNCTION_TAG UINT64_C(0x5c00000000000000)

struct module_lock {
	pthread_mutex_t mutex;
};

int dev_interp_module_new(const struct slu_ptx_module *ptx, struct dev_interp_module **ret_module)
{
	struct dev_interp_module *m = calloc(1, sizeof(*m));
	struct module_lock *lock = calloc(1, sizeof(*lock));
	struct dev_interp_code **codes =
		calloc(ptx->n_functions + 1, sizeof(struct dev_interp_code *));

	if (!m || !lock || !codes) {
		free(m);
		free(lock);
		free(codes);
		return slu_error(-ENOMEM);
	}
	pthread_mutex_init(&lock->mutex, NULL);
	m->ptx = ptx;
	m->codes = codes;
	m->lock = lock;
	*ret_module = m;
	return 0;
}

void dev_interp_module_free(struct dev_interp_module *m)
{
	struct module_lock *lock;

	if (!m)
		return;
	for (unsigned i = 0; i < m->ptx->n_functions; i++)
		dev_interp_decode_free(m->codes[i]);
	lock = m->lock;
	pthread_mutex_destroy(&lock->mutex);
	free(lock);
	free(m->codes);
	free(m);
}

struct dev_interp_code *dev_interp_module_code(const struct dev_interp_module *m,
					       const struct slu_ptx_function *function)
{
	return __atomic_load_n(&m->codes[function->index], __ATOMIC_ACQUIRE);
}

uint64_t dev_interp_module_function_address(const struct slu_ptx_function *function)
{
	return FUNCTION_TAG + ((uint64_t)function->index + 1) * 16;
}

const struct slu_ptx_function *dev_interp_module_function(const struct dev_interp_module *m,
							  uint64_t address)
{
	uint64_t index = (address - FUNCTION_TAG) / 16 - 1;

	if (address & 15 || index >= m->ptx->n_functions || !m->ptx->functions[index]->is_defined)
		return NULL;
	return m->ptx->functions[index];
}

/* Visits whatever the function's text names: what it calls, and what it takes the address of. */
static int for_named(struct dev_interp_module *m, const struct slu_ptx_function *f,
		     int (*visit)(struct dev_interp_module *, const struct slu_ptx_function *,
				  void *, struct slu_ptx_error *),
		     void *userdata, struct slu_ptx_error *ret_error)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < f->n_instrs; i++) {
		const struct slu_ptx_instr *instr = &f->instrs[i];

		for (unsigned k = 0; !r && k < instr->n_operands; k++)
			if (instr->operands[k].kind == SLU_PTX_OPERAND_FUNCTION)
				r = visit(m, instr->operands[k].function, userdata, ret_error);
		if (r || !instr->call || instr->operands[0].kind != SLU_PTX_OPERAND_REG)
			continue;
		/* an indirect call may reach what tables in memory point to */
		for (unsigned v = 0; !r && v < m->ptx->n_variables; v++)
			for (const struct slu_ptx_reloc *reloc = m->ptx->variables[v]->relocs;
			     !r && reloc; reloc = reloc->next)
				if (reloc->function)
					r = visit(m, reloc->function, userdata, ret_error);
	}
	return r;
}

/* Recursion ends because a function that is being prepared counts as prepared. */
static int module_prepare(struct dev_interp_module *m, const struct slu_ptx_function *f,
			  void *userdata, struct slu_ptx_error *ret_error)
{
	struct dev_interp_code *code;
	int r;

	if (m->codes[f->index] || !f->is_defined)
		return 0;
	r = dev_interp_decode(f, false, &code, ret_error);
	if (r)
		return r;
	__atomic_store_n(&m->codes[f->index], code, __ATOMIC_RELEASE);
	r = for_named(m, f, module_prepare, userdata, ret_error);
	if (r) {
		/* nothing has run yet that could hold it */
		dev_interp_decode_free(code);
		__atomic_store_n(&m->codes[f->index], NULL, __ATOMIC_RELEASE);
	}
	return r;
}

/* Decodes a function and throws the code away: most kernels of a large module never run. */
static int module_check(struct dev_interp_module *m, const struct slu_ptx_function *f,
			void *userdata, struct slu_ptx_error *ret_error)
{
	bool *is_checked = userdata;
	struct dev_interp_code *code;
	int r;

	if (is_checked[f->index] || !f->is_defined)
		return 0;
	is_checked[f->index] = true;
	r = dev_interp_decode(f, true, &code, ret_error);
	if (r)
		return r;
	dev_interp_decode_free(code);
	return for_named(m, f, module_check, userdata, ret_error);
}

int dev_interp_module_check(struct dev_interp_module *m, struct slu_ptx_error *ret_error)
{
	bool *is_checked = calloc(m->ptx->n_functions + 1, sizeof(*is_checked));
	int r = is_checked ? 0 : slu_error(-ENOMEM);

	for (unsigned i = 0; !r && i < m->ptx->n_functions; i++)
		if (m->ptx->functions[i]->is_kernel)
			r = module_check(m, m->ptx->functions[i], is_checked, ret_error);
	free(is_checked);
	return r;
}

int dev_interp_module_prepare(struct dev_interp_module *m, const struct slu_ptx_function *kernel,
			      struct slu_ptx_error *ret_error)
{
	struct module_lock *lock = m->lock;
	int r;

	pthread_mutex_lock(&lock->mutex);
	r = module_prepare(m, kernel, NULL, ret_error);
	pthread_mutex_unlock(&lock->mutex);
	return r;
}

static const struct dev_interp_isa *forced;

void dev_interp_isa_force(const struct dev_interp_isa *isa)
{
	forced = isa;
}

bool dev_interp_isa_has_v3(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

const struct dev_interp_isa *dev_interp_isa(void)
{
	if (forced)
		return forced;
	return dev_interp_isa_has_v3() ? &dev_interp_isa_v3 : &dev_interp_isa_base;
}
