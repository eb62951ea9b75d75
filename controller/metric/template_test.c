/* Templates, as rows of template_cases.yaml: what Go's text/template renders and rejects, and one
 * sentence with a position for what is not supported. */
#include "metric/template.h"

#include "base/buf.h"
#include "test/rows.h"
#include "tick/fixture_test.h"

static struct template_function functions[] = {
    {"name", "podinfo", NULL}, {"empty", "", NULL}, {"variables", NULL, NULL},
    {"none", NULL, NULL},      {NULL, NULL, NULL},
};

static enum err render(struct arena *arena, const char *text, const char **out, struct errinfo *ei)
{
    functions[2].map = fixture_json(arena, "{'b':'2','a':'1','c d':'x'}");
    return template_render(arena, text, functions, 1000, NULL, out, ei);
}

/* If Go has an output and we have none, the row names the unsupported feature. */
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

/* Templates that would not end in Go either, or not soon. */
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

/* --- cost of many templates */

CASE(templates_share_a_budget)
{
    struct template_budget budget = {.steps = 150, .bytes = 1000};
    const struct template_means means = {.budget = &budget};
    const char *text = "{{ range 99 }}{{ end }}", *out;
    struct errinfo ei;

    assert_int_equal(template_render(arena, text, functions, 1000, &means, &out, &ei), ERR_OK);
    assert_int_equal(template_render(arena, text, functions, 1000, &means, &out, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "with the other templates of its Canary more than 200000"));
    budget = (struct template_budget){.steps = 150, .bytes = 10};
    assert_int_equal(template_render(arena, "abcde", functions, 1000, &means, &out, &ei), ERR_OK);
    assert_int_equal(template_render(arena, "a", functions, 1000, &means, &out, &ei), ERR_INVALID);
    assert_non_null(
        strstr(ei.text, "the templates of its Canary and what they render to are long"));
}

/* Long strings, each read in one step. */
CASE(long_texts_cost_more)
{
    struct template_budget budget = {.steps = 1000, .bytes = 100000};
    const struct template_means means = {.budget = &budget};
    const char *text = "{{ $x := printf \"%900d\" 1 }}{{ range 100 }}{{ $y := eq $x $x }}{{ end }}";
    const char *out;
    struct errinfo ei;

    assert_int_equal(template_render(arena, text, functions, 1000, &means, &out, &ei), ERR_OK);
    assert_true(budget.steps < 400);
}

CASE(a_tree_is_parsed_once)
{
    struct template_kept *kept = template_kept_new(1024 * 1024);
    const struct template_function others[] = {{"more", "x", NULL}, {"name", "other", NULL}, {0}};
    const struct template_means a = {.kept = kept, .owner = "a"}, b = {.kept = kept, .owner = "b"};
    const char *text = "{{ $x := name }}{{ $x }}{{ $x }}", *out;
    struct errinfo ei;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(template_render(arena, text, functions, 1000, &a, &out, &ei), ERR_OK);
        assert_string_equal(out, "podinfopodinfo");
        assert_int_equal(template_kept_count(kept), 1);
    }
    /* another owner has its own tree; with other functions it is another template */
    assert_int_equal(template_render(arena, text, functions, 1000, &b, &out, &ei), ERR_OK);
    assert_int_equal(template_kept_count(kept), 1);
    assert_int_equal(template_render(arena, text, others, 1000, &b, &out, &ei), ERR_OK);
    assert_string_equal(out, "otherother");
    assert_int_equal(template_kept_count(kept), 2);
    /* an invalid template fails each time, with the position */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(template_render(arena, "a\n{{ x }}", functions, 9, &a, &out, &ei),
                         ERR_INVALID);
        assert_non_null(strstr(ei.text, "template:2:4: "));
    }
    assert_int_equal(template_kept_count(kept), 2);
    template_kept_free(kept);
}

/* A large template uses a part of the room, and templates that are in use are not parsed again. */
CASE(trees_are_kept_by_owner)
{
    struct template_kept *kept = template_kept_new(100 * 4096);
    const struct template_means greedy = {.kept = kept, .owner = "greedy"};
    const struct template_means modest = {.kept = kept, .owner = "modest"};
    size_t most = 0;
    const char *out;
    struct errinfo ei;

    assert_int_equal(template_render(arena, "{{ name }}", functions, 1000, &modest, &out, &ei),
                     ERR_OK);
    for (int i = 0; i < 1000; i++) {
        const char *text = arena_printf(arena, "{{ name }} %d", i);
        assert_int_equal(template_render(arena, text, functions, 1000, &greedy, &out, &ei), ERR_OK);
        size_t count = template_kept_count(kept);
        most = count > most ? count : most;
    }
    assert_in_range(most, 50, 100);
    size_t count = template_kept_count(kept);
    assert_int_equal(template_render(arena, "{{ name }}", functions, 1000, &modest, &out, &ei),
                     ERR_OK);
    assert_int_equal(template_kept_count(kept), count);
    /* a template larger than its part is rendered, but not cached */
    const char *large = arena_printf(arena, "%*s{{ name }}", 200 * 1024, "");
    assert_int_equal(template_render(arena, large, functions, 1024 * 1024, &modest, &out, &ei),
                     ERR_OK);
    assert_int_equal(template_kept_count(kept), count);
    template_kept_free(kept);
}

/* As many variables as fit into a text, each used while all are visible: they are looked up, not
 * searched for. */
CASE(many_variables_are_cheap)
{
    struct buf text;
    const char *out;
    struct errinfo ei;

    buf_init(&text, 60000);
    for (int i = 0; i < 3000; i++)
        buf_printf(&text, "{{$v%d:=%d}}", i, i);
    buf_printf(&text,
               "{{range 3}}{{$v0:=7}}{{range 1}}{{$v0}}{{$v1}}{{end}}{{end}}{{$v0}}{{$v2999}}");
    assert_int_equal(template_render(arena, text.data, functions, 60000, NULL, &out, &ei), ERR_OK);
    assert_string_equal(out, "71717102999");
    buf_fini(&text);
}
