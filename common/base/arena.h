/*
 * Arena: memory that is freed all at once. One per tick, request, child process or test.
 *
 * Running out of memory ends the process (with a line on stderr), so no allocation here returns
 * NULL. Other resources (json-c references, descriptors) are registered with arena_defer() and
 * released, last in first out, when the arena is freed or reset.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);  /* runs the deferred calls; NULL is allowed */
void arena_reset(struct arena *arena); /* like free and new, but keeps the first block */

/* Zeroed, aligned for any type. size 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, alloc_size(2)));
/* Zeroed array; an overflow of count*size ends the process. */
void *arena_array(struct arena *arena, size_t count, size_t size);
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

char *arena_strdup(struct arena *arena, const char *text); /* NULL returns NULL */
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *arena, const char *fmt, va_list args);

/* Replaces each occurrence of `secret`, which has at least 3 bytes, with "***". */
const char *arena_strike_out(struct arena *arena, const char *text, const char *secret);

/* Calls fn(ptr) when the arena is freed or reset. */
void arena_defer(struct arena *arena, void (*fn)(void *ptr), void *ptr);

/* Bytes handed out since new/reset, for tests and limits. */
size_t arena_used(const struct arena *arena);

/* Heap memory for objects that outlive arenas; like malloc(), but running out of memory ends the
 * process. */
void *heap_alloc(size_t size);
void *heap_array(size_t count, size_t size);
void *heap_grow(void *ptr, size_t size);
char *heap_strdup(const char *text); /* NULL returns NULL */
char *heap_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
