/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cudart.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"

/* What our own archive leaves in a program; see devices/cudart/runtime.c. */
static const char our_mark[] = "Sluice CUDA runtime";

struct file {
	const char *bytes;
	size_t size;
};

/* Part of the file, or NULL if it would reach beyond its end. */
static const void *part(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static const Elf64_Shdr *section(const struct file *file, const Elf64_Ehdr *head, unsigned i)
{
	return i < head->e_shnum ? part(file, head->e_shoff + (uint64_t)i * head->e_shentsize,
					sizeof(Elf64_Shdr))
				 : NULL;
}

/* A text in a table of strings, if it ends within the file. */
static const char *string(const struct file *file, const Elf64_Shdr *table, uint64_t at)
{
	const char *text = table ? part(file, table->sh_offset + at, 1) : NULL;

	return text && memchr(text, '\0', file->size - (size_t)(text - file->bytes)) ? text : NULL;
}

struct found {
	bool has_kernels; /* compiled by nvcc */
	char needed[64];  /* the runtime library that it needs, if any */
};

static void look_at_dynamic(const struct file *file, const Elf64_Ehdr *head,
			    const Elf64_Shdr *dynamic, struct found *found)
{
	const Elf64_Shdr *strings = section(file, head, dynamic->sh_link);
	uint64_t n = dynamic->sh_size / sizeof(Elf64_Dyn);

	for (uint64_t i = 0; i < n; i++) {
		const Elf64_Dyn *d = part(file, dynamic->sh_offset + i * sizeof(*d), sizeof(*d));
		const char *name;

		if (!d || d->d_tag == DT_NULL)
			return;
		if (d->d_tag != DT_NEEDED)
			continue;
		name = string(file, strings, d->d_un.d_val);
		if (name && !strncmp(name, "libcudart.so", 12) &&
		    strlen(name) < sizeof(found->needed))
			strcpy(found->needed, name);
	}
}

static void look(const struct file *file, struct found *ret_found)
{
	const Elf64_Ehdr *head = part(file, 0, sizeof(*head));
	const Elf64_Shdr *names;

	*ret_found = (struct found){ 0 };
	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	names = section(file, head, head->e_shstrndx);
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const Elf64_Shdr *s = section(file, head, i);
		const char *name = s ? string(file, names, s->sh_name) : NULL;

		if (name && !strcmp(name, ".nvFatBinSegment"))
			ret_found->has_kernels = true;
		if (s && s->sh_type == SHT_DYNAMIC)
			look_at_dynamic(file, head, s, ret_found);
	}
}

static void hint(const char *path, const struct file *file, const struct slu_install *install)
{
	struct found found;

	look(file, &found);
	if (!found.has_kernels || !strcmp(found.needed, "libcudart.so.13"))
		return;
	if (found.needed[0]) {
		slu_cli_complain("Compile it with CUDA 13.",
				 "'%s' asks for %s; ours is libcudart.so.13.", path, found.needed);
	} else if (!memmem(file->bytes, file->size, our_mark, sizeof(our_mark) - 1)) {
		char then[PATH_MAX + 80];

		snprintf(then, sizeof(then),
			 "Compile it with 'nvcc -cudart shared', or link our archive in: nvcc -L%s",
			 install->cudart_folder[0] ? install->cudart_folder
						   : install->softgpu_folder);
		slu_cli_complain(then,
				 "'%s' has NVIDIA's own runtime linked in, which refuses every "
				 "driver but NVIDIA's.",
				 path);
	}
}

void slu_cudart_hint(const char *path, const struct slu_install *install)
{
	slu_cleanup(slu_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file file;
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return;
	file = (struct file){ .bytes = bytes, .size = (size_t)st.st_size };
	hint(path, &file, install);
	munmap(bytes, file.size);
}
