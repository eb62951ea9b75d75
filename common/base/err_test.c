#include "base/err.h"

#include <string.h>

#include "base/encoding.h"
#include "test/unit.h"

CASE(names_come_from_the_table)
{
    assert_string_equal(err_name(ERR_OK), "ok");
    assert_string_equal(err_name(ERR_NOT_FOUND), "not found");
    assert_string_equal(err_name(ERR_CANCELLED), "cancelled");
    assert_string_equal(err_name((enum err)99), "unknown error");
}

CASE(set_fills_and_returns)
{
    struct errinfo ei = {.status = 404, .retry_after_ms = 7};
    assert_int_equal(err_set(&ei, ERR_RETRY, "no answer from %s in %d s", "host", 3), ERR_RETRY);
    assert_string_equal(ei.text, "no answer from host in 3 s");
    assert_int_equal(ei.status, 0);
    assert_int_equal(ei.retry_after_ms, 0);
    assert_int_equal(err_set(NULL, ERR_DENIED, "nobody asks"), ERR_DENIED);
}

CASE(the_old_text_may_be_an_argument)
{
    struct errinfo ei = {0};
    (void)err_set(&ei, ERR_INVALID, "inner");
    (void)err_set(&ei, ERR_INVALID, "outer (%s)", ei.text);
    assert_string_equal(ei.text, "outer (inner)");
}

CASE(wrap_puts_context_in_front)
{
    struct errinfo ei = {0};
    (void)err_set(&ei, ERR_CONFLICT, "changed meanwhile");
    ei.status = 409;
    assert_int_equal(err_wrap(&ei, ERR_CONFLICT, "canary %s", "podinfo"), ERR_CONFLICT);
    assert_string_equal(ei.text, "canary podinfo: changed meanwhile");
    assert_int_equal(ei.status, 409);
    assert_int_equal(err_wrap(NULL, ERR_CONFLICT, "x"), ERR_CONFLICT);
}

CASE(long_texts_are_cut_between_characters)
{
    struct errinfo ei = {0};
    char text[1200];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t at = shift; at + 3 < sizeof(text); at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        (void)err_set(&ei, ERR_INVALID, "%s", text);
        assert_true(utf8_valid(ei.text, strlen(ei.text)));
        assert_in_range(strlen(ei.text), sizeof(ei.text) - 4, sizeof(ei.text) - 1);
        (void)err_wrap(&ei, ERR_INVALID, "%s", text);
        assert_true(utf8_valid(ei.text, strlen(ei.text)));
        assert_in_range(strlen(ei.text), sizeof(ei.text) - 4, sizeof(ei.text) - 1);
        (void)err_wrap(&ei, ERR_INVALID, "a");
        assert_memory_equal(ei.text, "a: ", 3);
    }
}

CASE(what_is_no_utf8_becomes_question_marks)
{
    static const struct {
        const char *given, *text;
    } cases[] = {
        {"found \xe2\x82", "found ??"}, /* as truncated by "%.8s" */
        {"\xff\xe2\x82\xac\xc0\xaf", "?\xe2\x82\xac??"},
        {"plain", "plain"},
    };
    EACH_ROW (row, cases) {
        struct errinfo ei = {0};
        (void)err_set(&ei, ERR_INVALID, "%s", row->given);
        assert_string_equal(ei.text, row->text);
    }
}
