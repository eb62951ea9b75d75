/* Rollouts and the result of their conversion: rows of cases.yaml; everything that is written
 * passes lint and plan. */
#include "ctl/convert/rollout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "ctl/convert/parts.h"
#include "ctl/ctl.h"
#include "test/rows.h"
#include "test/unit.h"

static const char cases[] = "controller/ctl/convert/cases.yaml";
static const char page[] = "deploy/manual/argo.md";
enum { LEAST_ROWS = 40, MOST_WORDS = 16, PAGE_MAX = 1024 * 1024 };

static const struct convert_options plain = {.gate = "http://flagger-gate.flagger/gate/check",
                                             .command = "kubectl canary convert a.yaml"};

struct answer {
    int code;
    const char *out, *err;
};

/* Runs one command of kubectl canary; words are separated by blanks. */
static struct answer run(struct arena *arena, const char *line)
{
    char *argv[MOST_WORDS] = {arena_strdup(arena, "kubectl canary")}, *out = NULL, *err = NULL;
    size_t out_len = 0, err_len = 0;
    int argc = 1;
    struct ctl ctl = {.arena = arena,
                      .program = argv[0],
                      .out = open_memstream(&out, &out_len),
                      .err = open_memstream(&err, &err_len)};

    for (; *line && argc < MOST_WORDS - 1; line += strspn(line, " ")) {
        argv[argc++] = arena_strndup(arena, line, strcspn(line, " "));
        line += strcspn(line, " ");
    }
    struct answer answer = {.code = ctl_run(&ctl, argc, argv)};
    fclose(ctl.out);
    fclose(ctl.err);
    answer.out = arena_strdup(arena, out);
    answer.err = arena_strdup(arena, err);
    free(out);
    free(err);
    return answer;
}

/* Number of the two commands that refuse it. */
static int lint_and_plan(struct arena *arena, const char *name, const char *text)
{
    const char *path = unit_put("converted.yaml", text);
    struct answer lint = run(arena, arena_printf(arena, "lint %s", path));
    struct answer plan = run(arena, arena_printf(arena, "plan %s", path));

    if (lint.code != CTL_DONE)
        print_error("%s: lint: %s%s\n", name, lint.out, lint.err);
    if (plan.code != CTL_DONE)
        print_error("%s: plan: %s\n", name, plan.err);
    return (lint.code != CTL_DONE) + (plan.code != CTL_DONE);
}

/* The comments change nothing: the YAML contains the same objects. */
static void read_back(struct arena *arena, const char *name, const struct conversion *conversion,
                      const char *text)
{
    struct json_object *docs;
    struct errinfo ei;
    size_t len = strlen(text), i = 0;

    if (yaml_parse(arena, name, text, len, len + 1, &docs, &ei) != ERR_OK)
        fail_msg("%s\n%s", ei.text, text);
    for (const struct commented *at = conversion->first; at; at = at->next, i++)
        if (!json_same(at->object, json_elem(docs, i)))
            fail_msg("%s: document %zu is another one than was written", name, i);
    assert_int_equal(json_len(docs), i);
}

/* The text with each sequence of blanks, line ends and comment marks replaced by one blank. */
static const char *flat(struct arena *arena, const char *text)
{
    char *out = arena_alloc(arena, strlen(text) + 2), *to = out;

    for (; *text; text++) {
        bool blank = strchr(" \n#", *text) != NULL;
        if (!blank || (to > out && to[-1] != ' '))
            *to++ = blank ? ' ' : *text;
    }
    return out;
}

/* Number of texts that are missing, or present although they should not be; each is printed. */
static int wrong_texts(struct arena *arena, struct json_object *row, const char *text)
{
    struct json_object *has = json_at(row, "has", NULL), *lacks = json_at(row, "lacks", NULL);
    const char *name = json_str_at(row, "case", NULL);
    int wrong = 0;

    for (size_t i = 0; i < json_len(has); i++) {
        const char *one = json_object_get_string(json_elem(has, i));
        if (strstr(flat(arena, text), flat(arena, one)))
            continue;
        print_error("%s: expected \"%s\"\n", name, one);
        wrong++;
    }
    for (size_t i = 0; i < json_len(lacks); i++) {
        const char *one = json_object_get_string(json_elem(lacks, i));
        if (!strstr(flat(arena, text), flat(arena, one)))
            continue;
        print_error("%s: unexpected \"%s\"\n", name, one);
        wrong++;
    }
    if (wrong > 0)
        fputs(text, stderr);
    return wrong;
}

/* The Rollout of the row: a plain one with the row's spec, strategy and metadata, and the
 * additional objects. */
static struct json_object *objects_of(struct arena *arena, struct json_object *base,
                                      struct json_object *row)
{
    struct json_object *objects = json_own(arena, json_object_new_array());
    struct json_object *others = json_at(row, "with", NULL);
    struct json_object *rollout =
        json_merge(arena, json_at(base, "rollout", NULL), json_at(row, "rollout", NULL));

    json_object_array_add(objects, json_object_get(rollout));
    for (size_t i = 0; i < json_len(others); i++)
        json_object_array_add(objects, json_object_get(json_elem(others, i)));
    return objects;
}

static int check_row(struct arena *arena, struct json_object *base, struct json_object *row)
{
    const char *name = json_str_at(row, "case", NULL), *mistake = json_str_at(row, "mistake", NULL);
    struct convert_options options = plain;

    options.live = json_bool_at(row, false, "live", NULL);
    const struct conversion *conversion =
        convert_objects(arena, &options, objects_of(arena, base, row));
    const char *text = convert_text(conversion);
    const char *found = json_len(conversion->mistakes) > 0
                            ? json_object_get_string(json_elem(conversion->mistakes, 0))
                            : NULL;
    if (mistake ? !found || strcmp(found, mistake) != 0 : found != NULL)
        fail_msg("%s: expected the mistake \"%s\", found \"%s\"", name, mistake ? mistake : "none",
                 found ? found : "none");
    read_back(arena, name, conversion, text);
    return wrong_texts(arena, row, text) + (mistake || json_bool_at(row, false, "refused", NULL)
                                                ? 0
                                                : lint_and_plan(arena, name, text));
}

CASE(each_rollout_becomes_a_canary_that_lint_and_plan_take)
{
    struct json_object *docs = rows_read(arena, cases);
    struct json_object *rows = json_at(json_elem(docs, 1), "rows", NULL);
    int wrong = 0;

    for (size_t i = 0; i < json_len(rows); i++)
        wrong += check_row(arena, json_elem(docs, 0), json_elem(rows, i));
    assert_true(json_len(rows) >= LEAST_ROWS);
    assert_int_equal(wrong, 0);
}

/* --- the table of fields */

/* An object with this value at the path "a.b[].c". A key with dots or slashes is the last one. */
static struct json_object *at_path(struct arena *arena, const char *path, struct json_object *value)
{
    size_t len = strcspn(path, ".[");
    struct json_object *object = json_own(arena, json_object_new_object()), *below = value;
    const char *rest = path + len;

    if (strncmp(rest, "[].", 3) == 0) {
        below = json_own(arena, json_object_new_array());
        json_object_array_add(below, json_object_get(at_path(arena, rest + 3, value)));
    } else if (*rest == '.') {
        below = at_path(arena, rest + 1, value);
    }
    json_set(object, strcmp(path, "*") == 0 ? "other" : arena_strndup(arena, path, len), below);
    return object;
}

/* A Rollout, or an AnalysisTemplate that it names, with a field. */
static const char *with_field(struct arena *arena, struct json_object *base, const char *path,
                              bool of_template)
{
    struct json_object *value = rows_json(arena, "{'any': 1}");
    struct json_object *field = at_path(arena, path, value);
    struct json_object *row = json_own(arena, json_object_new_object());
    struct json_object *template = rows_json(
        arena, "{'apiVersion': 'argoproj.io/v1alpha1', 'kind': 'AnalysisTemplate', 'metadata': "
               "{'name': 't', 'namespace': 'shop'}}");
    struct json_object *analysis =
        rows_json(arena, "{'strategy': {'canary': {'analysis': {'templateName': 't'}}}}");

    json_set(json_sub(row, "rollout"), "spec", of_template ? analysis : field);
    json_set(template, "spec", field);
    if (of_template) {
        struct json_object *with = json_object_new_array();
        json_object_array_add(with, json_object_get(template));
        json_set(row, "with", with);
        json_object_put(with);
    } else {
        /* only one strategy: the field's, if it is in one */
        json_set(json_at(row, "rollout", NULL), "spec", field);
    }
    return flat(arena, convert_text(convert_objects(arena, &plain, objects_of(arena, base, row))));
}

static int check_fields(struct arena *arena, struct json_object *base, const char *table)
{
    bool of_template = false;
    int lost = 0;

    for (const char *line = table; *line;
         line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
        const char *text = arena_strndup(arena, line, strcspn(line, "\n"));
        if (strncmp(text, "### AnalysisTemplate", 20) == 0)
            of_template = true;
        if (strncmp(text, "| `", 3) != 0)
            continue;
        const char *path = arena_strndup(arena, text + 3, strcspn(text + 3, "`"));
        bool is_lost = strstr(text, "**no counterpart**") != NULL;
        const char *found = with_field(arena, base, path, of_template);
        const char *why = strrchr(arena_strndup(arena, text, strlen(text) - 2), '|') + 2;
        if (is_lost && !strstr(found, flat(arena, why)))
            fail_msg("%s is not reported with \"%s\" in\n%s", path, why, found);
        if (!is_lost && strstr(found, "that this program knows"))
            fail_msg("%s is said to be unknown", path);
        lost += is_lost;
    }
    return lost;
}

CASE(each_field_of_the_table_is_converted_or_reported)
{
    struct json_object *docs = rows_read(arena, cases);

    assert_true(check_fields(arena, json_elem(docs, 0), convert_fields(arena)) >= 40);
}

CASE(the_page_has_the_table)
{
    char *text;
    size_t len;
    struct errinfo ei;

    assert_int_equal(file_read(arena, page, PAGE_MAX, &text, &len, &ei), ERR_OK);
    if (!strstr(text, convert_fields(arena)))
        fail_msg("%s has another table than fields.def: deploy/manual/make writes it", page);
}

/* --- the command */

CASE(the_command_says_what_is_wrong)
{
    static const char one[] =
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\n"
        "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, "
        "spec: {containers: [{name: web, image: 'web:1'}]}}, strategy: {canary: {}}}\n";
    const char *none = unit_put("none.yaml", "kind: Secret\n");
    struct answer answer = run(arena, "convert");

    assert_int_equal(answer.code, CTL_USAGE);
    assert_non_null(strstr(answer.err, "convert: expected "));
    answer = run(arena, arena_printf(arena, "convert %s", none));
    assert_int_equal(answer.code, CTL_SERVER);
    assert_non_null(strstr(answer.err, "there is no Rollout of argoproj.io in these files"));
    answer = run(arena, arena_printf(arena, "convert --gate gate %s", none));
    assert_int_equal(answer.code, CTL_USAGE);
    assert_non_null(
        strstr(answer.err, "--gate: expected a URL with http:// or https://, found \"gate\""));
    answer = run(arena, arena_printf(arena, "convert --only canary %s", unit_put("one.yaml", one)));
    assert_int_equal(answer.code, CTL_SERVER);
    assert_non_null(strstr(answer.err, "--only: nothing is written of a kind in \"canary\""));
    answer = run(arena, "convert no-such-file.yaml");
    assert_int_equal(answer.code, CTL_USAGE);
    assert_non_null(strstr(answer.err, "cannot open no-such-file.yaml"));
    answer = run(arena, "convert --fields");
    assert_int_equal(answer.code, CTL_DONE);
    assert_string_equal(answer.out, convert_fields(arena));
}
