/*
 * Cases as data: a YAML file of groups, each a list of rows, and for each group a function that is
 * given a row and returns what came of it.
 *
 * What came must be the row's `want`. A row with an `error` must be refused instead: the function
 * returns cases_error(), and the sentence must hold the text of the row (and have its `status`).
 * The group "parts" is no group: anchors stand there.
 */
#ifndef OBJECT_CASES_H
#define OBJECT_CASES_H

#include "base/yaml.h"
#include "object/try.h"

struct cases_group {
    const char *name;
    struct json_object *(*run)(struct arena *arena, struct json_object *row);
};

static inline struct json_object *cases_error(struct arena *arena, const struct errinfo *ei)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    json_set_str(out, "error", ei->text);
    json_set_int(out, "status", ei->status);
    return out;
}

static inline struct json_object *cases_text(struct arena *arena, const char *text)
{
    return text ? json_own(arena, json_object_new_string(text)) : NULL;
}

static inline struct json_object *cases_bool(struct arena *arena, bool value)
{
    return json_own(arena, json_object_new_boolean(value));
}

static inline bool cases_fit(struct arena *arena, struct json_object *row, struct json_object *got)
{
    const char *error = json_str_at(row, "error", NULL), *said = json_str_at(got, "error", NULL);
    int64_t status = json_int_at(row, 0, "status", NULL);
    if (!error)
        return strcmp(json_text_sorted(arena, got),
                      json_text_sorted(arena, json_at(row, "want", NULL))) == 0;
    return said && *said && strstr(said, error) &&
           (status == 0 || status == json_int_at(got, 0, "status", NULL));
}

/* The rows of a group; the state of a test of cmocka. */
struct cases_rows {
    const struct cases_group *group;
    struct json_object *rows;
};

static inline void cases_run_group(void **state)
{
    const struct cases_rows *it = *state;
    assert_true(json_len(it->rows) > 0);
    for (size_t i = 0; i < json_len(it->rows); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct json_object *row = json_elem(it->rows, i);
        struct json_object *got = it->group->run(arena, json_copy(arena, row));
        if (!cases_fit(arena, row, got))
            fail_msg("%s, row %zu: %s\ncame to %s", it->group->name, i + 1, json_text(arena, row),
                     json_text_sorted(arena, got));
    }
}

enum { CASES_MAX = 64 };

/* `more` are tests that are no data. */
static inline int cases_run(const char *path, const struct cases_group *groups, size_t count,
                            const struct CMUnitTest *more, size_t more_count)
{
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *docs, *file;
    struct errinfo ei;
    struct cases_rows rows[CASES_MAX];
    struct CMUnitTest tests[CASES_MAX] = {0};

    if (yaml_parse_file(arena, path, JSON_MAX_BYTES, &docs, &ei) != ERR_OK ||
        count + more_count > CASES_MAX) {
        print_error("%s\n", ei.text);
        return 1;
    }
    file = json_elem(docs, 0);
    size_t found = json_at(file, "parts", NULL) ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct cases_rows){&groups[i], json_at(file, groups[i].name, NULL)};
        tests[i] = (struct CMUnitTest)cmocka_unit_test_prestate(cases_run_group, &rows[i]);
        tests[i].name = groups[i].name;
        found += rows[i].rows != NULL;
    }
    for (size_t i = 0; i < more_count; i++)
        tests[count + i] = more[i];
    if ((int)found != json_object_object_length(file)) {
        print_error("%s has a group that nobody runs\n", path);
        return 1;
    }
    return _cmocka_run_group_tests(path, tests, count + more_count, NULL, NULL);
}

/* The program: CASES_MAIN("a/cases.yaml", groups, cmocka_unit_test(one), ...) */
#define CASES_MAIN(path, groups, ...)                                                              \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest more[] = {__VA_ARGS__ __VA_OPT__(, ){0}};                          \
        return cases_run((path), (groups), TRY_COUNT(groups), more, TRY_COUNT(more) - 1);          \
    }

#endif
