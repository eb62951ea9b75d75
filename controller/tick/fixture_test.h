/* For the tests of the variants: a tick over one Canary, and objects that answer its needs. JSON
 * with single quotes. */
#ifndef TICK_FIXTURE_TEST_H
#define TICK_FIXTURE_TEST_H

#include <string.h>

#include "base/file.h"
#include "test/pretend.h"
#include "test/unit.h"
#include "tick/fact.h"
#include "tick/plan.h"
#include "tick/tick.h"

struct fixture {
    struct arena *arena;
    struct canary canary;
    struct settings settings;
    struct tick *tick;
    struct json_object *objects; /* "services/podinfo" */
};

UNIT_HELPER struct json_object *fixture_json(struct arena *arena, const char *quoted)
{
    char *text = arena_strdup(arena, quoted);
    struct json_object *object = NULL;
    struct errinfo ei;

    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &object, &ei) != ERR_OK)
        fail_msg("%s in %s", ei.text, text);
    return object;
}

/* The Canary test/podinfo on a Deployment, changed by patch (may be NULL). */
UNIT_HELPER struct fixture fixture_new(const char *patch)
{
    static const char *const labels[] = {"app", "name", NULL};
    static const char *const prefixes[] = {"keep/", NULL};
    struct fixture f = {.arena = unit_arena};
    struct json_object *object = fixture_json(
        f.arena, "{'apiVersion':'flagger.app/v1beta1','kind':'Canary','metadata':{'name':'podinfo',"
                 "'namespace':'test','uid':'c-1'},'spec':{'provider':'kubernetes','targetRef':{"
                 "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'},'service':{"
                 "'port':80,'targetPort':9898},'analysis':{'interval':'1m','threshold':1,"
                 "'iterations':1}}}");
    struct errinfo ei;

    if (patch)
        object = json_merge(f.arena, object, fixture_json(f.arena, patch));
    if (canary_view(f.arena, object, &f.canary, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    f.settings = (struct settings){.mesh_provider = "kubernetes",
                                   .selector_labels = labels,
                                   .include_label_prefixes = prefixes,
                                   .config_tracking = true};
    f.objects = json_own(f.arena, json_object_new_object());
    return f;
}

UNIT_HELPER void fixture_put_tree(struct fixture *f, const char *key, struct json_object *object)
{
    json_set_str(json_sub(object, "metadata"), "name", strchr(key, '/') + 1);
    json_set_str(json_sub(object, "metadata"), "namespace", "test");
    json_set(f->objects, key, object);
}

UNIT_HELPER void fixture_put(struct fixture *f, const char *key, const char *quoted)
{
    fixture_put_tree(f, key, fixture_json(f->arena, quoted));
}

/* Calls `ask` until no fact is missing. The plan is that of the last call. */
#define fixture_run(f, ask)                                                                        \
    ({                                                                                             \
        enum rule_result fixture_verdict_;                                                         \
        (f)->tick = tick_new((f)->arena, &(f)->canary, &(f)->settings, 1700000000000, true);       \
        do {                                                                                       \
            fixture_answer((f));                                                                   \
            tick_reset((f)->tick);                                                                 \
            fixture_verdict_ = (ask);                                                              \
        } while (fixture_verdict_ == RULE_NEEDS_FACTS);                                            \
        fixture_verdict_;                                                                          \
    })

UNIT_HELPER void fixture_answer(struct fixture *f)
{
    for (const struct need *need = f->tick->needs; need; need = need->next) {
        assert_int_equal(need->kind, NEED_OBJECT);
        if (!need->name) {
            fact_object(
                f->tick, need,
                pretend_list(f->arena, f->objects, need->resource->plural, need->resource->group));
            continue;
        }
        const char *key = arena_printf(f->arena, "%s/%s", need->resource->plural, need->name);
        fact_object(f->tick, need, json_at(f->objects, key, NULL));
    }
}

/* Without the record of applied fields (tick/edit.h has its own tests). */
UNIT_HELPER struct json_object *fixture_said(struct arena *arena, struct json_object *body)
{
    struct json_object *copy = json_copy(arena, body);
    struct json_object *metadata = json_at(copy, "metadata", NULL);
    struct json_object *annotations = json_at(metadata, "annotations", NULL);

    if (!annotations)
        return copy;
    json_object_object_del(annotations, "flagger.app/applied");
    if (json_object_object_length(annotations) == 0)
        json_object_object_del(metadata, "annotations");
    return copy;
}

/* The body of the plan's effect number index as fixture_said(), sorted text. */
UNIT_HELPER const char *fixture_body(struct fixture *f, int index)
{
    const struct effect *effect = f->tick->plan->first;

    while (effect && index-- > 0)
        effect = effect->next;
    assert_non_null(effect);
    return effect ? json_text_sorted(f->arena, fixture_said(f->arena, effect->body)) : NULL;
}

/* The same with single quotes, as in the cases. */
UNIT_HELPER const char *fixture_quoted(struct fixture *f, const char *json)
{
    char *text = arena_strdup(f->arena, json);

    for (char *at = text; *at; at++)
        *at = *at == '"' ? '\'' : *at;
    return text;
}

/* The object of a golden vector of proto/testdata, and its hash as Flagger computes it. */
UNIT_HELPER struct json_object *fixture_vector(struct fixture *f, const char *name,
                                               const char **hash)
{
    static const char path[] = "proto/testdata/hash_vectors.json";
    struct json_object *vectors = NULL, *out = NULL;
    struct errinfo ei;
    char *text;
    size_t len;

    if (file_read(f->arena, path, 4 * 1024 * 1024, &text, &len, &ei) != ERR_OK ||
        json_parse(f->arena, text, len, 4 * 1024 * 1024, &vectors, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    for (size_t i = 0; i < json_len(vectors); i++) {
        struct json_object *vector = json_elem(vectors, i);
        const char *input = json_str_at(vector, "input", NULL);
        if (strcmp(json_str_at(vector, "name", NULL), name) != 0)
            continue;
        *hash = json_str_at(vector, "hash", NULL);
        if (json_parse(f->arena, input, strlen(input), JSON_MAX_BYTES, &out, &ei) != ERR_OK)
            fail_msg("%s", ei.text);
        return out;
    }
    fail_msg("%s has no vector %s", path, name);
    return NULL;
}

#endif
