/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_ALLOC_H
#define SC_BASE_ALLOC_H

/*
 * Memory and the cleanup attributes.  All allocation of the library goes through here, so
 * that tests can make any of it fail.  Owning locals carry a cleanup attribute and are
 * initialised where declared; SANDCELL_TAKE hands them over.  Needs gcc or clang.
 */

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

void *sc_malloc(size_t size);
void *sc_calloc(size_t count, size_t size);
void *sc_realloc(void *ptr, size_t size);
char *sc_strdup(const char *text);
char *sc_strndup(const char *text, size_t len);
void sc_free(void *ptr);

/* Fails the n-th allocation from now, counted from 0, and all later ones; SIZE_MAX: none.
 */
void sc_alloc_fail_from(size_t nth);

#define SANDCELL_CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void sc_freep(void *ptr)
{
	sc_free(*(void **)ptr);
}

static inline void sc_closep(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#define sc_autofree  SANDCELL_CLEANUP(sc_freep)
#define sc_autoclose SANDCELL_CLEANUP(sc_closep)

#define SANDCELL_TAKE(ptr)                                                                 \
	({                                                                                 \
		__typeof__(ptr) taken_ = (ptr);                                            \
		(ptr) = NULL;                                                              \
		taken_;                                                                    \
	})
#define SANDCELL_TAKE_FD(fd)                                                               \
	({                                                                                 \
		int taken_ = (fd);                                                         \
		(fd) = -1;                                                                 \
		taken_;                                                                    \
	})

#endif
