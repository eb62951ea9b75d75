/* template: what Go's text/template renders and refuses, by the rows of template_cases.yaml, and one
 * sentence with its place for what is not served. */
#include "metric/template.h"

#include "test/rows.h"
#include "tick/fixture_test.h"

static struct template_function functions[] = {
    {"name", "podinfo", NULL}, {"empty", "", NULL}, {"variables", NULL, NULL},
    {"none", NULL, NULL},      {NULL, NULL, NULL},
};

static enum err render(struct arena *arena, const char *text, const char **out, struct errinfo *ei)
{
    functions[2].map = fixture_json(arena, "{'b':'2','a':'1','c d':'x'}");
    return template_render(arena, text, functions, 1000, out, ei);
}

/* Where Go has an output and we have none, the row says why: it is of what is not served. */
static void try_row(struct arena *arena, struct json_object *row)
{
    const char *text = json_str_at(row, "text", NULL), *wanted = json_str_at(row, "out", NULL);
    const char *error = json_str_at(row, "error", NULL), *out = NULL;
    struct errinfo ei = {0};

    if (render(arena, text, &out, &ei) != ERR_OK) {
        if ((wanted && !error) || (error && !strstr(ei.text, error)))
            fail_msg("%s: %s, expected %s", text, ei.text, error ? error : wanted);
    } else if (!wanted || error || strcmp(out, wanted) != 0) {
        fail_msg("%s: %s, expected %s", text, out, error ? error : wanted ? wanted : "a mistake");
    }
}

CASE(go_renders_and_refuses_the_same)
{
    struct json_object *rows =
        json_elem(rows_read(arena, "controller/metric/template_cases.yaml"), 0);

    for (size_t i = 0; unit_row("template_cases.yaml", i, json_len(rows)); i++)
        try_row(arena, json_elem(rows, i));
}

/* Neither would Go end, or end soon. */
CASE(what_a_template_may_cost_has_an_end)
{
    static const char *const cases[][2] = {
        {"{{ range 1000000000 }}{{ end }}", "more than 20000 steps"},
        {"{{ $x := name }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}", "too long"},
        {"{{ range 1000 }}xx{{ end }}", "longer than 1000 bytes"},
    };

    EACH_ROW (row, cases) {
        const char *out = NULL;
        struct errinfo ei = {0};
        assert_int_equal(render(arena, (*row)[0], &out, &ei), ERR_INVALID);
        assert_non_null(strstr(ei.text, (*row)[1]));
    }
}

CASE(test_depth_has_an_end)
{
    const char *deep = "1", *out;
    struct errinfo ei;

    for (int i = 0; i < 64; i++)
        deep = arena_printf(arena, "(%s)", deep);
    assert_int_equal(render(arena, arena_printf(arena, "{{ %s }}", deep), &out, &ei), ERR_OK);
    assert_string_equal(out, "1");
    deep = arena_printf(arena, "{{ (%s) }}", deep);
    assert_int_equal(render(arena, deep, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "more than 64 levels"));
}
