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

struct cases_file {
    const char *path;
    const struct cases_group *groups;
    size_t count;
};

/* What the state of a test of cmocka is. */
struct cases_test {
    const struct cases_file *file;
    const struct cases_group *group;
};

static inline void cases_run(void **state)
{
    const struct cases_test *it = *state;
    struct arena *arena TRY_FREED = arena_new();
    struct json_object *docs = NULL;
    struct errinfo ei;
    if (yaml_parse_file(arena, it->file->path, JSON_MAX_BYTES, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    struct json_object *file = json_elem(docs, 0), *rows = json_at(file, it->group->name, NULL);
    size_t found = (size_t)json_object_object_length(file);
    if (found != it->file->count + (json_at(file, "parts", NULL) ? 1 : 0) || json_len(rows) == 0)
        fail_msg("%s has a group that nobody runs, or not this one", it->file->path);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct arena *own TRY_FREED = arena_new();
        struct json_object *row = json_elem(rows, i);
        struct json_object *got = it->group->run(own, json_copy(own, row));
        if (!cases_fit(own, row, got))
            fail_msg("%s, row %zu came to %.600s\nand was %s", it->group->name, i + 1,
                     json_text_sorted(own, got), json_text(own, row));
    }
}

/* A test for each group, beside those of CASE(): CASES("a/cases.yaml", groups) */
#define CASES(path, groups)                                                                        \
    __attribute__((constructor)) static void cases_add(void)                                       \
    {                                                                                              \
        static const struct cases_file file = {(path), (groups), TRY_COUNT(groups)};               \
        static struct cases_test tests[TRY_COUNT(groups)];                                         \
        for (size_t i = 0; i < TRY_COUNT(groups); i++) {                                           \
            tests[i] = (struct cases_test){&file, &(groups)[i]};                                   \
            unit_add(&unit_file, __BASE_FILE__,                                                    \
                     (struct CMUnitTest){(groups)[i].name, cases_run, NULL, NULL, &tests[i]});     \
        }                                                                                          \
    }

#endif
