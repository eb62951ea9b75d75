#include "decide/waiting.h"

#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

#define TRUE  "True"
#define FALSE "False"
static const struct row {
    const char *type, *bad, *words;
    bool holds;
    enum waiting_kind kind;
} rows[] = {
#define CONDITION(name, type, holds, of_spec, bad, kind, words)                                    \
    {type, bad, words, holds, WAITING_##kind},
#include "decide/conditions.def"
#undef CONDITION
};

static struct json_object *canary_with(struct arena *arena, const char *type, const char *status)
{
    return rows_json(
        arena, arena_printf(arena,
                            "{'status': {'phase': 'Progressing', 'conditions': [{'type': '%s', "
                            "'status': '%s', 'reason': 'Reason', 'message': 'it says so'}]}}",
                            type, status));
}

/* A wait of the rules without words for users would be silent. */
CASE(each_condition_has_words_and_is_named_when_it_is_bad)
{
    EACH_ROW (row, rows) {
        struct waiting waiting;
        bool has_words = *row->words != '\0';
        assert_true(has_words == (row->kind != WAITING_QUIET));
        assert_true(!row->holds || row->kind >= WAITING_WAITS);
        waiting_of(arena, canary_with(arena, row->type, row->bad), &waiting);
        assert_int_equal(waiting.kind, row->kind);
        assert_string_equal(waiting.text,
                            has_words ? arena_printf(arena, "%s: it says so", row->words) : "");
        waiting_of(arena, canary_with(arena, row->type, strcmp(row->bad, TRUE) == 0 ? FALSE : TRUE),
                   &waiting);
        assert_int_equal(waiting.kind, WAITING_QUIET);
    }
}

/* Two conditions with the same words would be indistinguishable. */
CASE(no_two_conditions_have_the_same_words)
{
    EACH_ROW (row, rows)
        EACH_ROW (other, rows)
            assert_true(row == other || !*row->words || strcmp(row->words, other->words) != 0);
}

CASE(what_counts_most_of_a_status)
{
    struct json_object *list = json_elem(rows_read(arena, "controller/decide/waiting.yaml"), 0);

    assert_true(json_len(list) > 0);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *row = json_elem(list, i);
        struct waiting waiting;
        waiting_of(arena, json_at(row, "canary", NULL), &waiting);
        assert_string_equal(waiting.text, json_str_at(row, "text", NULL));
        assert_string_equal(waiting_kind_name(waiting.kind), json_str_at(row, "kind", NULL));
        assert_string_equal(waiting.reason, json_str_at(row, "reason", NULL));
    }
}
