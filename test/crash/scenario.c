#include "crash/scenario.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/rows.h"

static struct json_object *base; /* the objects of every scenario, by what a row calls them */

static const struct row_column columns[] = {
    ROW_TEXT(struct scenario, name),       ROW_TEXT(struct scenario, target),
    ROW_TEXT(struct scenario, phase),      ROW_TEXT(struct scenario, image),
    ROW_NUMBER(struct scenario, bad_from), ROW_NUMBER(struct scenario, back_from),
    ROW_NUMBER(struct scenario, slow_ms),  ROW_FLAG(struct scenario, twice),
    ROW_FLAG(struct scenario, elects),     ROW_FLAG(struct scenario, calls),
};

/* What a person may change. */
static const struct deed objects[] = {
    {.what = "deployment", .group = "apps", .plural = "deployments", .name = "podinfo"},
    {.what = "daemonset", .group = "apps", .plural = "daemonsets", .name = "podinfo"},
    {.what = "canary", .group = "flagger.app", .plural = "canaries", .name = "podinfo"},
    {.what = "config", .group = "", .plural = "configmaps", .name = "podinfo-config"},
};
enum { OBJECTS = sizeof(objects) / sizeof(objects[0]) };

static _Noreturn void refuse(struct json_object *row, const char *what)
{
    fprintf(stderr, "test/crash/scenarios.yaml: scenario \"%s\": \"%s\" is not known\n",
            json_str_at(row, "name", NULL), what);
    exit(2);
}

/* {patch: WHAT, by: PATCH}, {delete: WHAT} or {ask: ACTION} */
static void read_deeds(struct json_object *row, struct json_object *list, struct deed *deeds)
{
    assert(json_len(list) <= DEEDS_MAX);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *by = json_at(json_elem(list, i), "by", NULL);
        const char *what = json_str_at(json_elem(list, i), by ? "patch" : "delete", NULL);
        const char *ask = json_str_at(json_elem(list, i), "ask", NULL);
        int found = 0;
        if (ask) {
            deeds[i] = (struct deed){.what = "request", .name = "podinfo", .ask = ask};
            continue;
        }
        while (found < OBJECTS && (!what || strcmp(objects[found].what, what) != 0))
            found++;
        if (found == OBJECTS)
            refuse(row, what ? what : "a deed without an object");
        deeds[i] = objects[found];
        deeds[i].patch = by;
    }
}

static void read_row(struct arena *arena, struct scenario *scenario, struct json_object *row)
{
    *scenario = (struct scenario){.canary = json_at(row, "canary", NULL),
                                  .objects = json_at(row, "objects", NULL)};
    json_object_object_foreach(row, key, value)
    {
        if (strcmp(key, "change") == 0)
            read_deeds(row, value, scenario->change);
        else if (strcmp(key, "meanwhile") == 0)
            read_deeds(row, value, scenario->meanwhile);
        else if (strcmp(key, "canary") != 0 && strcmp(key, "objects") != 0 &&
                 !row_set(arena, columns, sizeof(columns) / sizeof(columns[0]), scenario, key,
                          value))
            refuse(row, key);
    }
    assert(scenario->name);
}

const struct scenario *scenarios_read(struct arena *arena, size_t *count)
{
    struct json_object *file = json_elem(rows_read(arena, "test/crash/scenarios.yaml"), 0);
    struct json_object *rows = json_at(file, "scenarios", NULL);
    struct scenario *scenarios = arena_array(arena, json_len(rows), sizeof(*scenarios));

    base = json_at(file, "base", NULL);
    *count = json_len(rows);
    assert(base && *count > 0);
    for (size_t i = 0; i < *count; i++)
        read_row(arena, &scenarios[i], json_elem(rows, i));
    return scenarios;
}

struct json_object *scenario_objects(struct arena *arena, const struct scenario *scenario)
{
    const char *target = scenario->target ? scenario->target : "deployment";
    struct json_object *list = json_own(arena, json_object_new_array());
    struct json_object *canary = json_at(base, "canary", NULL);

    if (scenario->canary)
        canary = json_merge(arena, canary, scenario->canary);
    json_object_array_add(list, json_object_get(json_at(base, "config", NULL)));
    json_object_array_add(list, json_object_get(json_at(base, target, NULL)));
    for (size_t i = 0; i < json_len(scenario->objects); i++)
        json_object_array_add(list, json_object_get(json_elem(scenario->objects, i)));
    json_object_array_add(list, json_object_get(canary));
    return json_copy(arena, list);
}
