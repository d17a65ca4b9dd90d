/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t allocations_left = SIZE_MAX;

void sc_alloc_fail_from(size_t nth)
{
	atomic_store(&allocations_left, nth);
}

/* One relaxed load in production; the counting happens only while a test asked for it. */
static int may_allocate(void)
{
	size_t left = atomic_load_explicit(&allocations_left, memory_order_relaxed);

	if (left == SIZE_MAX)
		return 1;
	while (left > 0) {
		if (atomic_compare_exchange_weak(&allocations_left, &left, left - 1))
			return 1;
	}
	return 0;
}

void *sc_malloc(size_t size)
{
	return may_allocate() ? malloc(size ? size : 1) : NULL;
}

void *sc_calloc(size_t count, size_t size)
{
	return may_allocate() ? calloc(count ? count : 1, size ? size : 1) : NULL;
}

void *sc_realloc(void *ptr, size_t size)
{
	return may_allocate() ? realloc(ptr, size ? size : 1) : NULL;
}

char *sc_strndup(const char *text, size_t len)
{
	char *copy = NULL;

	if (len == SIZE_MAX)
		return NULL;
	copy = sc_malloc(len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *sc_strdup(const char *text)
{
	return sc_strndup(text, strlen(text));
}

void sc_free(void *ptr)
{
	free(ptr);
}
