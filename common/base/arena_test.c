#include "base/arena.h"
#include "test/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

CASE(pieces_are_zeroed_aligned_and_apart)
{
    struct arena *own = arena_new();
    unsigned char *pieces[500];
    for (size_t i = 0; i < 500; i++) {
        size_t size = i * i % 1000;
        pieces[i] = arena_alloc(own, size);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(pieces[i][j], 0);
        memset(pieces[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < 500; i++) {
        for (size_t j = 0; j < i * i % 1000; j++)
            assert_int_equal(pieces[i][j], i & 0xff);
    }
    assert_ptr_not_equal(arena_alloc(own, 0), arena_alloc(own, 0));
    arena_free(own);
    arena_free(NULL);
}

CASE(large_pieces_leave_the_current_block)
{
    struct arena *own = arena_new();
    char *before = arena_alloc(own, 16);
    char *large = arena_alloc(own, 10 * 1024 * 1024);
    char *after = arena_alloc(own, 16);
    large[10 * 1024 * 1024 - 1] = 1;
    assert_true(after > before && after - before < 256);
    assert_int_equal(arena_used(own), 10 * 1024 * 1024 + 32);
    arena_free(own);
}

/* A recycled arena must not show old content. */
CASE(a_new_one_is_empty)
{
    for (int round = 0; round < 3; round++) {
        struct arena *arenas[40];
        for (int i = 0; i < 40; i++) {
            arenas[i] = arena_new();
            assert_int_equal(arena_used(arenas[i]), 0);
            unsigned char *piece = arena_alloc(arenas[i], 4000);
            for (int at = 0; at < 4000; at++)
                assert_int_equal(piece[at], 0);
            memset(piece, 0xff, 4000);
            memset(arena_alloc(arenas[i], 10000), 0xff, 10000);
            for (int other = 0; other < i; other++)
                assert_ptr_not_equal(arenas[other], arenas[i]);
        }
        for (int i = 0; i < 40; i++)
            arena_free(arenas[i]);
    }
}

CASE(reset_starts_over)
{
    struct arena *own = arena_new();
    char *first = arena_strdup(own, "dirt that must not come back");
    for (int i = 0; i < 100; i++)
        memset(arena_alloc(own, 5000), 0xff, 5000);
    arena_reset(own);
    assert_int_equal(arena_used(own), 0);
    char *again = arena_alloc(own, 29);
    assert_ptr_equal(again, first);
    for (size_t i = 0; i < 29; i++)
        assert_int_equal(again[i], 0);
    arena_reset(own);
    arena_reset(own);
    arena_free(own);
}

struct trace {
    struct arena *own;
    char text[16];
};

static void note_b(void *ptr)
{
    strncat(((struct trace *)ptr)->text, "b", 2);
}

static void note_a(void *ptr)
{
    struct trace *trace = ptr;
    strncat(trace->text, "a", 2);
    arena_defer(trace->own, note_b, trace);
}

CASE(deferred_calls_run_last_in_first_out)
{
    struct trace trace = {.own = arena_new()};
    arena_defer(trace.own, note_b, &trace);
    arena_defer(trace.own, note_a, &trace);
    assert_int_equal(arena_used(trace.own), 0);
    assert_string_equal(trace.text, "");
    arena_reset(trace.own);
    assert_string_equal(trace.text, "abb"); /* note_a deferred one more */
    arena_reset(trace.own);
    assert_string_equal(trace.text, "abb");
    arena_defer(trace.own, note_b, &trace);
    arena_free(trace.own);
    assert_string_equal(trace.text, "abbb");
}

CASE(texts_are_copied)
{
    struct arena *own = arena_new();
    assert_null(arena_strdup(own, NULL));
    assert_string_equal(arena_strdup(own, ""), "");
    assert_string_equal(arena_strndup(own, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(own, NULL, 0), "");
    assert_string_equal(arena_printf(own, "%d-%s", 5, "x"), "5-x");
    for (int width = 250; width < 262; width++) {
        char *text = arena_printf(own, "%*s", width, "");
        assert_int_equal(strlen(text), width);
    }
    arena_free(own);
}

CASE(heap_helpers_work)
{
    char *text = heap_printf("%s/%d", "a", 1);
    assert_string_equal(text, "a/1");
    text = heap_grow(text, 100);
    assert_string_equal(text, "a/1");
    free(text);
    assert_null(heap_strdup(NULL));
    text = heap_strdup("copy");
    assert_string_equal(text, "copy");
    free(text);
    int *zeros = heap_array(10, sizeof(*zeros));
    for (int i = 0; i < 10; i++)
        assert_int_equal(zeros[i], 0);
    free(zeros);
    free(heap_alloc(0));
    free(heap_grow(NULL, 0));
}

CASE(what_is_struck_out)
{
    static const struct {
        const char *text, *secret, *want;
    } cases[] = {
        {"no such token: s3cret", "s3cret", "no such token: ***"},
        {"s3crets3cret s3cre", "s3cret", "****** s3cre"},
        {"aaaaa", "aaa", "***aa"},
        {"ab", "ab", "ab"},
        {"", "s3cret", ""},
    };
    EACH_ROW (row, cases)
        assert_string_equal(arena_strike_out(arena, row->text, row->secret), row->want);
    /* a text of secrets only, in the memory of one copy */
    enum { LEN = 100 * 1000 }; /* the sanitizer scans the rest of the text at each search */
    char *text = memset(arena_alloc(arena, LEN + 1), 'a', LEN);
    size_t before = arena_used(arena);
    assert_int_equal(strspn(arena_strike_out(arena, text, "aaaa"), "*"), LEN / 4 * 3);
    assert_true(arena_used(arena) - before < 2 * LEN);
}

static void ask_for_half_of_everything(void)
{
    struct arena *own = arena_new();
    (void)arena_alloc(own, SIZE_MAX / 2);
}

static void overflow_an_array(void)
{
    struct arena *own = arena_new();
    (void)arena_array(own, SIZE_MAX / 4, 8);
}

static void overflow_the_heap(void)
{
    free(heap_array(SIZE_MAX / 4, 8));
}

CASE(too_much_ends_the_process)
{
    void (*const calls[])(void) = {ask_for_half_of_everything, overflow_an_array,
                                   overflow_the_heap};
    EACH_ROW (row, calls) {
        pid_t pid = fork();
        if (pid == 0) {
            struct rlimit none = {0};
            setrlimit(RLIMIT_CORE, &none);
            close(STDERR_FILENO);
            signal(SIGABRT, SIG_DFL);
            (*row)();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}
