/* The output of a task: its beginning and its end are kept, however it is split into pieces. */

#include <string.h>

#include "loadtester/task_run.h"
#include "test/unit.h"

CASE(short_output_is_kept_whole)
{
    struct output output = {0};
    assert_string_equal(output_text(&output, arena), "");
    output_add(&output, "one\n", 4);
    output_add(&output, "", 0);
    output_add(&output, "two\n", 4);
    assert_string_equal(output_text(&output, arena), "one\ntwo\n");
    assert_string_equal(output_tail(&output, arena, 100), "one\ntwo\n");
    assert_string_equal(output_tail(&output, arena, 6), "two\n");
    assert_string_equal(output_tail(&output, arena, 2), "o\n");
    assert_int_equal(output.total, 8);
    output_fini(&output);
}

CASE(zero_bytes_hide_nothing)
{
    struct output output = {0};
    output_add(&output, "a\0b\0\0c", 6);
    assert_string_equal(output_text(&output, arena), "a?b??c");
    output_fini(&output);
}

/* The expected text: the first bytes, a note, and the last bytes. */
static void check_long(struct arena *arena, size_t piece, size_t total)
{
    struct output output = {0};
    char *all = arena_alloc(arena, total);
    for (size_t i = 0; i < total; i++)
        all[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < total; i += piece)
        output_add(&output, all + i, total - i < piece ? total - i : piece);
    const char *text = output_text(&output, arena);
    assert_memory_equal(text, all, OUTPUT_HEAD);
    assert_memory_equal(text + strlen(text) - OUTPUT_TAIL, all + total - OUTPUT_TAIL, OUTPUT_TAIL);
    size_t left_out = total - OUTPUT_HEAD - OUTPUT_TAIL;
    const char *note = left_out ? arena_printf(arena, "\n[%zu bytes left out]\n", left_out) : "";
    assert_int_equal(strlen(text), OUTPUT_HEAD + OUTPUT_TAIL + strlen(note));
    assert_memory_equal(text + OUTPUT_HEAD, note, strlen(note));
    assert_int_equal(output.total, total);
    output_fini(&output);
}

CASE(long_output_keeps_both_ends)
{
    static const size_t pieces[] = {1, 7, 4096, OUTPUT_HEAD, OUTPUT_TAIL, 1000000};
    static const size_t totals[] = {OUTPUT_HEAD + OUTPUT_TAIL, OUTPUT_HEAD + OUTPUT_TAIL + 1,
                                    3 * OUTPUT_TAIL + 11};
    EACH_ROW (row, pieces) {
        for (size_t t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
            check_long(arena, *row, totals[t]);
        }
    }
}
