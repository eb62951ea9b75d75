/*
 * Cases of the variants (routers, targets, scalers) as data: a YAML file with one document per
 * case, which lists the existing objects, the called functions of the variant, and their plans.
 *
 *     case: its purpose
 *     canary: {...}                  # a merge patch of the Canary of tick/fixture_test.h
 *     settings: {config_tracking: false, include_label_prefixes: '*'}
 *     objects: {services/podinfo: {...}}
 *     each: [{x: 1}, {x: 2}]         # runs the case with each row, in which $x is its value
 *     steps:
 *     - put: {KEY: OBJECT}           # null: deleted; patch: a merge patch of it
 *     - apply: true                  # the plan of the last call is carried out
 *     - forget: true                 # the facts read by previous calls
 *     - objects: {KEY: {...}}        # the objects that exist now
 *     - WORD: {plan: '', ...}        # a function and its results, in the form of test/expect.h
 *       with: {...}                  # its arguments
 *       when: $x                     # or unless: skips the step if $x is null, false, 0 or empty
 *
 * Results of a call: its verdict (GO unless the case gives another), the plan in its printed form,
 * with single quotes, its count of effects, their verbs, the bodies without the record of applied
 * fields, the first of them as body, and the results of the word itself. `values:` of a document
 * without a case are names for all cases of the file.
 */
#ifndef TICK_CASES_TEST_H
#define TICK_CASES_TEST_H

#include <stdlib.h>

#include "test/expect.h"
#include "test/rows.h"
#include "tick/fixture_test.h"
#include "tick/plan.h"

/* A call of a function: `got` holds its results beside the plan. */
struct called {
    struct fixture *f;
    struct json_object *with, *got;
    void *own; /* lives as long as the case's row, all zeros at first; see CASES_OF() */
};

struct called_word {
    const char *name;
    enum rule_result (*call)(struct called *called);
    bool goes_on; /* continues the plan of the previous call */
};

struct cases {
    const char *path;
    const struct called_word *words;
    size_t n_words, own_size;
};

struct played {
    const struct cases *cases;
    struct json_object *doc, *values, *each, *row;
    struct fixture f;
    void *own;
    size_t step;
};

static struct json_object *played_find(void *arg, const char *name)
{
    struct played *p = arg;
    struct json_object *value = NULL;

    if (json_object_object_get_ex(p->row, name, &value) ||
        json_object_object_get_ex(p->values, name, &value))
        return value;
    for (size_t i = 0; i < json_len(p->each); i++) /* set by another row: null in this one */
        if (json_object_object_get_ex(json_elem(p->each, i), name, NULL))
            return NULL;
    fail_msg("%s: %s: nothing is called $%s here", p->cases->path,
             json_str_at(p->doc, "case", NULL), name);
    return NULL;
}

static void played_refuse(void *arg, const char *why)
{
    fail_msg("%s: %s", ((struct played *)arg)->cases->path, why);
}

static struct json_object *played_value(struct played *p, struct json_object *given)
{
    const struct expect_names names = {
        .arena = p->f.arena, .find = played_find, .refuse = played_refuse, .arg = p};

    return expect_named(&names, given);
}

/* --- objects */

static void played_put(struct played *p, struct json_object *objects, bool patches)
{
    if (!objects)
        return;
    json_object_object_foreach(objects, key, object)
    {
        struct json_object *before = patches ? json_at(p->f.objects, key, NULL) : NULL;
        if (!object)
            json_object_object_del(p->f.objects, key);
        else
            fixture_put_tree(&p->f, key, json_merge(p->f.arena, before, object));
    }
}

static void played_apply(struct played *p)
{
    for (const struct effect *effect = p->f.tick->plan->first; effect; effect = effect->next) {
        if (!effect_writes(effect))
            continue;
        const char *key = arena_printf(p->f.arena, "%s/%s", effect->resource->plural, effect->name);
        struct json_object *live = json_at(p->f.objects, key, NULL);
        if (effect->kind == EFFECT_DELETE)
            json_object_object_del(p->f.objects, key);
        else
            json_set(p->f.objects, key, pretend_merged(p->f.arena, live, effect->body));
    }
}

/* --- calls */

static char verb_of(const struct effect *effect)
{
    return effect->kind == EFFECT_DELETE ? 'D' : effect->kind == EFFECT_CREATE ? 'C' : 'P';
}

/* In the form in which plans print it. */
static struct json_object *body_of(struct fixture *f, const struct effect *effect)
{
    struct json_object *body = fixture_said(f->arena, effect->body);
    struct json_object *metadata = json_at(body, "metadata", NULL);

    if (metadata && json_object_object_length(metadata) == 0)
        json_object_object_del(body, "metadata");
    return body;
}

static void tell_plan(struct fixture *f, struct json_object *got)
{
    struct json_object *bodies = json_own(f->arena, json_object_new_array());
    const char *verbs = "", *text = fixture_quoted(f, plan_print(f->tick));
    char *end = strstr(text, "again never\n");

    if (end && end[strlen("again never\n")] == '\0')
        *end = '\0';
    json_set_str(got, "plan", text);
    json_set_int(got, "count", f->tick->plan->count);
    for (const struct effect *effect = f->tick->plan->first; effect; effect = effect->next) {
        if (!effect_writes(effect))
            continue;
        json_object_array_add(bodies, json_object_get(body_of(f, effect)));
        verbs = arena_printf(f->arena, "%s%c", verbs, verb_of(effect));
    }
    json_set_str(got, "verbs", verbs);
    json_set(got, "bodies", bodies);
    json_set(got, "body", json_elem(bodies, 0));
}

static const char *played_call(struct played *p, const struct called_word *word,
                               struct json_object *with, struct json_object *want)
{
    struct fixture *f = &p->f;
    struct called called = {
        .f = f, .with = with, .got = json_own(f->arena, json_object_new_object()), .own = p->own};
    enum rule_result verdict =
        word->goes_on ? word->call(&called) : fixture_run(f, word->call(&called));

    json_set_str(called.got, "verdict", verdict == RULE_CONTINUE ? "GO" : "STOP");
    tell_plan(f, called.got);
    if (!json_at(want, "verdict", NULL) && verdict != RULE_CONTINUE)
        return arena_printf(f->arena, "the verdict of %s is STOP: %s", word->name,
                            json_text(f->arena, called.got));
    return want ? expect_differs(f->arena, word->name, called.got, want) : NULL;
}

static const struct called_word *word_of(const struct played *p, struct json_object *step,
                                         struct json_object **want)
{
    for (size_t i = 0; i < p->cases->n_words; i++)
        if (json_object_object_get_ex(step, p->cases->words[i].name, want))
            return &p->cases->words[i];
    return NULL;
}

/* Everything but null, false, 0 and empty values. */
static bool is_true(struct json_object *value)
{
    if (json_object_is_type(value, json_type_object))
        return json_object_object_length(value) > 0;
    return json_object_is_type(value, json_type_array) ? json_len(value) > 0
                                                       : json_object_get_boolean(value);
}

static bool is_left_out(struct played *p, struct json_object *step)
{
    struct json_object *when = json_at(step, "when", NULL);

    return (when && !is_true(played_value(p, when))) ||
           is_true(played_value(p, json_at(step, "unless", NULL)));
}

static const char *played_step(struct played *p, struct json_object *step)
{
    struct json_object *want = NULL;
    const struct called_word *word = word_of(p, step, &want);

    if (word)
        return played_call(p, word, json_at(step, "with", NULL), want);
    played_put(p, json_at(step, "put", NULL), false);
    played_put(p, json_at(step, "patch", NULL), true);
    if (json_at(step, "apply", NULL))
        played_apply(p);
    if (json_at(step, "forget", NULL))
        memset(p->own, 0, p->cases->own_size);
    if (json_at(step, "objects", NULL))
        return expect_differs(p->f.arena, "objects", p->f.objects, json_at(step, "objects", NULL));
    bool known = json_at(step, "put", NULL) || json_at(step, "patch", NULL) ||
                 json_at(step, "apply", NULL) || json_at(step, "forget", NULL);
    return known ? NULL : arena_printf(p->f.arena, "no word: %s", json_text(p->f.arena, step));
}

static void played_begin(struct played *p)
{
    static const char *const all_labels[] = {"*", NULL};
    struct json_object *canary = played_value(p, json_at(p->doc, "canary", NULL));
    struct json_object *settings = json_at(p->doc, "settings", NULL);

    p->f = fixture_new(canary ? json_text(unit_arena, canary) : NULL);
    p->f.settings.config_tracking = json_bool_at(settings, true, "config_tracking", NULL);
    if (json_at(settings, "include_label_prefixes", NULL))
        p->f.settings.include_label_prefixes = all_labels;
    p->f.tick = tick_new(p->f.arena, &p->f.canary, &p->f.settings, 1700000000000, true);
    p->own = arena_alloc(unit_arena, p->cases->own_size + 1);
    memset(p->own, 0, p->cases->own_size + 1);
    played_put(p, played_value(p, json_at(p->doc, "objects", NULL)), false);
}

/* The test of a document; its state is the case without a row. */
static void cases_play(void **state)
{
    struct played all = *(const struct played *)*state;
    struct json_object *steps = json_at(all.doc, "steps", NULL);

    all.f.arena = unit_arena;
    all.each = played_value(&all, json_at(all.doc, "each", NULL));
    for (size_t i = 0; i < (all.each ? json_len(all.each) : 1); i++) {
        struct played p = all;
        p.row = json_elem(all.each, i);
        played_begin(&p);
        for (size_t k = 0; k < json_len(steps); k++) {
            struct json_object *step = json_elem(steps, k);
            const char *why =
                is_left_out(&p, step) ? NULL : played_step(&p, played_value(&p, step));
            if (why)
                fail_msg("%s: %s, row %zu, step %zu: %s", p.cases->path,
                         json_str_at(p.doc, "case", NULL), i + 1, k + 1, why);
        }
    }
}

static struct arena *cases_arena; /* for the life of the process */

static void cases_free(void)
{
    arena_free(cases_arena);
}

static void cases_add(const struct cases *cases)
{
    static struct played played[UNIT_MAX_CASES];
    struct json_object *docs, *values = NULL;

    cases_arena = arena_new();
    atexit(cases_free);
    docs = rows_read(cases_arena, cases->path);
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i);
        const char *name = json_str_at(doc, "case", NULL);
        if (!name) {
            values = json_at(doc, "values", NULL);
            continue;
        }
        played[i] = (struct played){.cases = cases, .doc = doc, .values = values};
        unit_add(&unit_file, __BASE_FILE__,
                 (struct CMUnitTest){name, cases_play, NULL, NULL, &played[i]});
    }
}

/* A test for each document of the file. own: the type in which words keep the results of previous
 * calls. */
#define CASES_OF(file, word_table, own)                                                            \
    static void cases_first(int argc, char **argv)                                                 \
    {                                                                                              \
        static const struct cases cases = {                                                        \
            (file), (word_table), sizeof(word_table) / sizeof((word_table)[0]), sizeof(own)};      \
        cases_add(&cases);                                                                         \
    }                                                                                              \
    UNIT_FIRST(cases_first)

#endif
