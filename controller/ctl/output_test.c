#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "ctl/output.h"
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

static const char *print_table(struct ctl *ctl, const char *indent)
{
    static const struct columns_head heads[] = {{"NAME", 0}, {"WHY", 1}, {"AGE", 2}, {0}};
    char *text = NULL;
    size_t len = 0;

    ctl->out = open_memstream(&text, &len);
    struct columns *columns = columns_new(ctl, heads);
    columns_put(columns, PRINT_BOLD, "podinfo");
    columns_put(columns, PRINT_RED, "WaitingForPromotion");
    columns_put(columns, PRINT_DIM, "5m");
    columns_put(columns, PRINT_BOLD, "a");
    columns_put(columns, PRINT_RED, NULL);
    columns_put(columns, PRINT_DIM, "é\033[1m\n");
    columns_print(columns, indent);
    fclose(ctl->out);
    const char *copy = arena_strdup(ctl->arena, text);
    free(text);
    return copy;
}

CASE(columns_are_as_wide_as_they_need)
{
    struct ctl ctl = {.arena = arena};

    assert_string_equal(print_table(&ctl, NULL), "NAME     WHY                  AGE\n"
                                                 "podinfo  WaitingForPromotion  5m\n"
                                                 "a                             é?[1m\n");
    assert_string_equal(print_table(&ctl, "> "), "> podinfo  WaitingForPromotion  5m\n"
                                                 "> a                             é?[1m\n");
}

CASE(a_narrow_terminal_gets_fewer_and_then_shorter_ones)
{
    struct ctl ctl = {.arena = arena, .width = 30};

    assert_string_equal(print_table(&ctl, NULL), "NAME     WHY\n"
                                                 "podinfo  WaitingForPromotion\n"
                                                 "a\n");
    ctl.width = 20;
    assert_string_equal(print_table(&ctl, NULL), "NAME\npodinfo\na\n");
}

CASE(colours_do_not_count)
{
    struct ctl ctl = {.arena = arena, .width = 40, .color = true};

    assert_non_null(strstr(print_table(&ctl, NULL),
                           "\033[1mpodinfo\033[0m  \033[31mWaitingForPromotion\033[0m  "));
}

static const char *print_sample_tree(struct ctl *ctl)
{
    char *text = NULL;
    size_t len = 0;

    ctl->out = open_memstream(&text, &len);
    struct tree *tree = tree_new(ctl, "podinfo");
    tree_add(tree, "phase", PRINT_YELLOW, "Waiting");
    struct tree *below = tree_add(tree, "conditions", PRINT_PLAIN, "");
    tree_add(below, "Approved", PRINT_RED, "Halt advancement waiting for\napproval");
    tree_add(tree, NULL, PRINT_PLAIN, "end\033[1m");
    tree_print(tree);
    fclose(ctl->out);
    const char *copy = arena_strdup(ctl->arena, text);
    free(text);
    return copy;
}

CASE(it_has_guides_and_columns)
{
    struct ctl ctl = {.arena = arena};

    assert_string_equal(print_sample_tree(&ctl),
                        "podinfo\n"
                        "├─ phase       Waiting\n"
                        "├─ conditions\n"
                        "│  └─ Approved  Halt advancement waiting for approval\n"
                        "└─             end?[1m\n");
}

CASE(lines_are_wrapped_behind_their_guides)
{
    struct ctl ctl = {.arena = arena, .width = 36};

    assert_string_equal(print_sample_tree(&ctl), "podinfo\n"
                                                 "├─ phase       Waiting\n"
                                                 "├─ conditions\n"
                                                 "│  └─ Approved  Halt advancement\n"
                                                 "│               waiting for approval\n"
                                                 "└─             end?[1m\n");
}

CASE(colours_begin_and_end_on_each_line)
{
    struct ctl ctl = {.arena = arena, .width = 36, .color = true};

    assert_non_null(strstr(print_sample_tree(&ctl),
                           "Approved  \033[31mHalt advancement\033[0m\n"
                           "│               \033[31mwaiting for approval\033[0m\n"));
}

static struct json_object *parse(const char *text)
{
    struct json_object *out = NULL;
    struct errinfo ei = {0};

    if (json_parse(unit_arena, text, strlen(text), JSON_MAX_BYTES, &out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return out;
}

CASE(it_looks_as_kubectl_prints_it)
{
    assert_string_equal(
        yaml_print(arena, parse("{\"kind\": \"List\", \"count\": 3, \"on\": true, \"empty\": {}, "
                                "\"none\": [], \"items\": [{\"a\": 1, \"b\": {\"c\": \"x y\"}}, "
                                "\"z\"], \"script\": \"set -e\\ntrue\\n\"}")),
        "kind: List\n"
        "count: 3\n"
        "\"on\": true\n"
        "empty: {}\n"
        "none: []\n"
        "items:\n"
        "- a: 1\n"
        "  b:\n"
        "    c: x y\n"
        "- z\n"
        "script: |\n"
        "  set -e\n"
        "  true\n");
}

/* The printed text is read back as the same tree. */
CASE(it_comes_back_as_it_was)
{
    static const char *const cases[] = {
        "{\"a\": \"true\", \"b\": \"1\", \"c\": \"\", \"d\": \" x\", \"e\": \"x \", \"f\": \"~\"}",
        "{\"a\": \"1.0\", \"b\": 1.5, \"c\": \"0x1f\", \"d\": \"2026-01-01\", \"e\": null}",
        "{\"a\": \"x: y\", \"b\": \"x #y\", \"c\": \"- x\", \"d\": \"*x\", \"e\": \"'\\\"\"}",
        "{\"a: b\": 1, \"yes\": 2, \"\": 3, \"x y\": [[1, [2]], [], {}]}",
        "{\"a\": \"\\u001b[31m\", \"b\": \"\\u00e9\\n\", \"c\": \"\\n\\n\", \"d\": \"x\\n y\\n\"}",
        "{\"a\": \"x\\n\\n\", \"b\": \"x\\ty\\n\", \"c\": \"x \\ny\\n\", \"d\": \"x\\ny\"}",
        "{\"a\": [{\"b\": [{\"c\": \"l1\\n  l2\\n\"}]}], \"d\": \"---\\n\", \"e\": \"...\\n\"}",
        "[{\"a\": 1}, 2, \"null\", \"=\", \"<<\"]",
        "\"text\"",
    };

    for (size_t i = 0; unit_row("rows", i, sizeof(cases) / sizeof(cases[0])); i++) {
        struct json_object *tree = parse(cases[i]), *docs = NULL;
        struct errinfo ei = {0};
        const char *text = yaml_print(arena, tree);
        if (yaml_parse(arena, "it", text, strlen(text), JSON_MAX_BYTES, &docs, &ei) != ERR_OK)
            fail_msg("%s:\n%s", ei.text, text);
        assert_int_equal(json_len(docs), 1);
        if (!json_same(json_elem(docs, 0), tree))
            fail_msg("%s\nis not\n%s", json_text(arena, json_elem(docs, 0)), cases[i]);
    }
}
