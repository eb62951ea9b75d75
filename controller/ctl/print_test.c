#include "ctl/print.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit.h"

CASE(what_a_terminal_would_obey_is_not_printed)
{
    assert_string_equal(print_clean(arena, "a\033[31mb\x07"), "a?[31mb?");
    assert_string_equal(print_clean(arena, "one\ntwo\r\n"), "one two");
    assert_string_equal(print_clean(arena, "\xc2\x9b"
                                           "1m"),
                        "?1m");
    assert_string_equal(print_clean(arena, "x\xe2\x80\xae"
                                           "y"),
                        "x?y");
    assert_string_equal(print_clean(arena, "\xff\xc3\xa9"), "?é");
    assert_string_equal(print_clean(arena, "…"), "…");
    assert_string_equal(print_clean(arena, NULL), "");
}

CASE(spans_have_two_units_at_most)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{-1, "0s"},         {0, "0s"},           {1000, "1s"},    {61000, "1m1s"},
                {600000, "10m"},    {660001, "11m"},     {3600000, "1h"}, {5400000, "1h30m"},
                {90000000, "1d1h"}, {8640000000, "100d"}};

    for (size_t i = 0; unit_row("rows", i, sizeof(rows) / sizeof(rows[0])); i++)
        assert_string_equal(print_span(arena, rows[i].ms), rows[i].text);
    assert_string_equal(print_age(arena, "1970-01-01T00:00:00Z", 61000), "1m1s");
    assert_string_equal(print_age(arena, "yesterday", 0), "?");
}

CASE(a_bar_is_full_only_when_it_is)
{
    assert_string_equal(print_bar(arena, 0, 5), "[-----]");
    assert_string_equal(print_bar(arena, 1, 5), "[#----]");
    assert_string_equal(print_bar(arena, 50, 5), "[###--]");
    assert_string_equal(print_bar(arena, 99, 5), "[####-]");
    assert_string_equal(print_bar(arena, 100, 5), "[#####]");
}

CASE(lines_are_wrapped_where_there_is_a_terminal)
{
    struct ctl ctl = {.arena = arena, .width = 20};
    char *text = NULL;
    size_t len = 0;

    ctl.out = open_memstream(&text, &len);
    print_wrapped(&ctl, "why: ", "it waits for a person to say yes");
    ctl.width = 0;
    print_wrapped(&ctl, "", "it waits for a person to say yes");
    fclose(ctl.out);
    assert_string_equal(text, "why: it waits for a\n"
                              "     person to say\n"
                              "     yes\n"
                              "it waits for a person to say yes\n");
    free(text);
}
