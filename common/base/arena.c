#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer unused memory is poisoned, with a gap after each piece, to detect
 * overruns. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
enum { GAP = 16, SPARE_MAX = 0 };
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
enum { GAP = 0, SPARE_MAX = 16 };
#endif

enum { ALIGN = _Alignof(max_align_t), FIRST_BLOCK = 4096, LARGEST_STEP = 256 * 1024 };

struct block {
    struct block *next;
    size_t size; /* of data */
    size_t used;
    _Alignas(max_align_t) unsigned char data[];
};

struct deferred {
    struct deferred *next;
    void (*fn)(void *ptr);
    void *ptr;
};

struct arena {
    struct block *blocks; /* allocation is from the first one */
    struct block *first;  /* kept by arena_reset() */
    struct deferred *deferred;
    size_t handed_out;
    struct arena *next_spare;
};

/*
 * Free list of arenas with their first block: a request uses several, and malloc() is slow for
 * their size. Not used under AddressSanitizer, to detect use after free.
 */
static _Thread_local struct {
    struct arena *first;
    int count;
} spare;

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "out of memory: %zu bytes were asked for\n", size);
    abort();
}

static size_t checked_product(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(SIZE_MAX);
    return total;
}

static struct block *block_new(size_t size)
{
    if (size > SIZE_MAX / 2)
        out_of_memory(size);
    struct block *block = malloc(sizeof(*block) + size);
    if (!block)
        out_of_memory(sizeof(*block) + size);
    *block = (struct block){.size = size};
    ASAN_POISON_MEMORY_REGION(block->data, size);
    return block;
}

static void block_free(struct block *block)
{
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
    free(block);
}

struct arena *arena_new(void)
{
    struct arena *arena = spare.first;

    if (arena) {
        spare.first = arena->next_spare;
        spare.count--;
        return arena;
    }
    arena = heap_alloc(sizeof(*arena));
    arena->first = arena->blocks = block_new(FIRST_BLOCK);
    return arena;
}

/* A deferred call may defer another one, which runs next. */
static void run_deferred(struct arena *arena)
{
    while (arena->deferred) {
        struct deferred *first = arena->deferred;
        arena->deferred = first->next;
        first->fn(first->ptr);
    }
}

void arena_reset(struct arena *arena)
{
    run_deferred(arena);
    while (arena->blocks) {
        struct block *block = arena->blocks;
        arena->blocks = block->next;
        if (block != arena->first)
            block_free(block);
    }
    arena->blocks = arena->first;
    *arena->first = (struct block){.size = arena->first->size};
    arena->handed_out = 0;
    ASAN_POISON_MEMORY_REGION(arena->first->data, arena->first->size);
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    arena_reset(arena);
    if (spare.count < SPARE_MAX) {
        arena->next_spare = spare.first;
        spare.first = arena;
        spare.count++;
        return;
    }
    block_free(arena->first);
    free(arena);
}

/* Makes room for a piece; a large one gets a block of its own after the current one. */
static struct block *block_for(struct arena *arena, size_t size)
{
    struct block *current = arena->blocks;
    if (current->size - current->used >= size)
        return current;
    if (size > LARGEST_STEP / 4) {
        struct block *own = block_new(size);
        own->next = current->next;
        current->next = own;
        return own;
    }
    size_t step = current->size < LARGEST_STEP / 2 ? current->size * 2 : LARGEST_STEP;
    struct block *block = block_new(step > size ? step : size);
    block->next = current;
    arena->blocks = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        out_of_memory(size);
    size_t want = (size ? size : 1) + GAP;
    want = (want + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct block *block = block_for(arena, want);
    void *piece = block->data + block->used;
    block->used += want;
    arena->handed_out += size;
    ASAN_UNPOISON_MEMORY_REGION(piece, size);
    return memset(piece, 0, size);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    return arena_alloc(arena, checked_product(count, size));
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);
    if (len > 0)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    char small[256];
    int len = vsnprintf(small, sizeof(small), fmt, args);
    char *text = NULL;
    if (len < 0) {
        text = arena_strdup(arena, "");
    } else if ((size_t)len < sizeof(small)) {
        text = arena_strndup(arena, small, (size_t)len);
    } else {
        text = arena_alloc(arena, (size_t)len + 1);
        vsnprintf(text, (size_t)len + 1, fmt, again);
    }
    va_end(again);
    return text;
}

const char *arena_strike_out(struct arena *arena, const char *text, const char *secret)
{
    static const char stars[] = "***";
    size_t len = strlen(secret), n = strlen(stars);
    const char *at = strstr(text, secret);

    if (len < n || !at)
        return text;
    char *out = arena_strdup(arena, text), *to = out;
    for (; at; at = strstr(text, secret)) {
        memcpy(to, text, (size_t)(at - text));
        to += at - text;
        memcpy(to, stars, n);
        to += n;
        text = at + len;
    }
    memcpy(to, text, strlen(text) + 1);
    return out;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = arena_vprintf(arena, fmt, args);
    va_end(args);
    return text;
}

void arena_defer(struct arena *arena, void (*fn)(void *ptr), void *ptr)
{
    struct deferred *deferred = ARENA_NEW(arena, struct deferred);
    *deferred = (struct deferred){.next = arena->deferred, .fn = fn, .ptr = ptr};
    arena->handed_out -= sizeof(*deferred);
    arena->deferred = deferred;
}

size_t arena_used(const struct arena *arena)
{
    return arena->handed_out;
}

void *heap_alloc(size_t size)
{
    void *ptr = calloc(1, size ? size : 1);
    if (!ptr)
        out_of_memory(size);
    return ptr;
}

void *heap_array(size_t count, size_t size)
{
    return heap_alloc(checked_product(count, size));
}

void *heap_grow(void *ptr, size_t size)
{
    void *grown = realloc(ptr, size ? size : 1);
    if (!grown)
        out_of_memory(size);
    return grown;
}

char *heap_strdup(const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    return memcpy(heap_alloc(size), text, size);
}

char *heap_printf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    size_t size = len < 0 ? 1 : (size_t)len + 1;
    char *text = heap_alloc(size);
    va_start(args, fmt);
    vsnprintf(text, size, fmt, args);
    va_end(args);
    return text;
}
