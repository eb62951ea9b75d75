/* The scenarios are rows of test/model/scenarios.yaml. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"
#include "test/rows.h"

enum { MAX_SCENARIOS = 100 };

struct scenario scenarios[MAX_SCENARIOS];
int n_scenarios;
static struct json_object *base; /* what every Canary begins with */

static const struct row_column columns[] = {
    ROW_TEXT(struct scenario, canary),      ROW_TEXT(struct scenario, kind),
    ROW_NUMBER(struct scenario, revisions), ROW_NUMBER(struct scenario, limit),
    ROW_NUMBER(struct scenario, passes),
};

/* In the order of the bits of scenario.h. */
static const char *const world_words[] = {"the canary fails", "the primary fails",
                                          "the gateway lags", "time passes",
                                          "from scratch",     "races"};
enum { WORLD_WORDS = sizeof(world_words) / sizeof(world_words[0]) };

static _Noreturn void refuse(const struct scenario *scenario, const char *what)
{
    fprintf(stderr, "test/model/scenarios.yaml: scenario \"%s\": \"%s\" is not known\n",
            scenario->name, what);
    exit(2);
}

static void read_world(struct scenario *scenario, struct json_object *words)
{
    for (size_t i = 0; i < json_len(words); i++) {
        const char *word = json_object_get_string(json_elem(words, i));
        unsigned bit = 0;
        while (bit < WORLD_WORDS && strcmp(world_words[bit], word) != 0)
            bit++;
        if (bit == WORLD_WORDS)
            refuse(scenario, word);
        scenario->world |= 1u << bit;
    }
}

/* {what: TEXT, patch: KEY, by: PATCH}, {what: TEXT, make: KEY, by: OBJECT} or {what: TEXT, delete: KEY} */
static void read_deeds(struct arena *arena, struct scenario *scenario, struct json_object *deeds)
{
    assert(json_len(deeds) <= MAX_DEEDS);
    for (size_t i = 0; i < json_len(deeds); i++) {
        struct json_object *deed = json_elem(deeds, i), *by = json_at(deed, "by", NULL);
        const char *made = json_str_at(deed, "make", NULL);
        const char *key = made ? made : json_str_at(deed, by ? "patch" : "delete", NULL);
        scenario->deeds[i] = (struct deed){.what = json_str_at(deed, "what", NULL),
                                           .key = key,
                                           .patch = by ? json_text(arena, by) : NULL,
                                           .makes = made != NULL};
        if (!scenario->deeds[i].what || !key)
            refuse(scenario, json_text(arena, deed));
    }
}

static void read_objects(struct arena *arena, struct scenario *scenario,
                         struct json_object *objects)
{
    int count = 0;

    json_object_object_foreach(objects, key, object)
    {
        assert(count < MAX_OBJECTS);
        scenario->objects[count++] = (struct given){key, json_text(arena, object)};
    }
}

static void read_row(struct arena *arena, struct scenario *scenario, struct json_object *row)
{
    *scenario = (struct scenario){.name = json_str_at(row, "name", NULL)};
    assert(scenario->name);
    json_object_object_foreach(row, key, value)
    {
        if (strcmp(key, "world") == 0)
            read_world(scenario, value);
        else if (strcmp(key, "deeds") == 0)
            read_deeds(arena, scenario, value);
        else if (strcmp(key, "objects") == 0)
            read_objects(arena, scenario, value);
        else if (strcmp(key, "name") != 0 &&
                 !row_set(arena, columns, sizeof(columns) / sizeof(columns[0]), scenario, key,
                          value))
            refuse(scenario, key);
    }
    scenario->sized = strstr(scenario->name, "sizes") != NULL;
    scenario->judged = scenario->canary && strstr(scenario->canary, "\"judge\":");
}

void scenarios_read(struct arena *arena)
{
    struct json_object *file = json_elem(rows_read(arena, "test/model/scenarios.yaml"), 0);
    struct json_object *rows = json_at(file, "scenarios", NULL);

    base = json_at(file, "base", NULL);
    assert(base && json_len(rows) > 0 && json_len(rows) <= MAX_SCENARIOS);
    for (size_t i = 0; i < json_len(rows); i++)
        read_row(arena, &scenarios[n_scenarios++], json_elem(rows, i));
}

const struct scenario *scenario_find(const char *name)
{
    for (int i = 0; i < n_scenarios; i++) {
        if (strcmp(scenarios[i].name, name) == 0)
            return &scenarios[i];
    }
    return NULL;
}

bool scenario_has(const struct scenario *scenario, const char *hook)
{
    char quoted[40];

    snprintf(quoted, sizeof(quoted), "\"type\":\"%s\"", hook);
    return scenario->canary && strstr(scenario->canary, quoted);
}

struct json_object *scenario_canary(struct arena *arena, const struct scenario *scenario)
{
    struct json_object *canary = json_copy(arena, base);

    return scenario->canary ? json_merge(arena, canary, rows_json(arena, scenario->canary))
                            : canary;
}
