#include "proto/releaseplan.h"

#include <string.h>

#include "proto/application_parts.h"
#include "proto/canary_parts.h"

enum { DEFAULT_GATE_TIMEOUT_MS = 10000, MAX_COUNT = 100000, PERCENT = 100 };

static const char *or_else(const char *text, const char *missing)
{
    return text != NULL ? text : missing;
}

static void read_metadata(struct json_reader *r, struct json_object *object,
                          struct releaseplan *out)
{
    const char *kind = json_read_str(r, object, "kind", JSON_OPTIONAL);
    if (kind != NULL && strcmp(kind, "ReleasePlan") != 0)
        json_reader_fail(r, object, "kind", "expected ReleasePlan, found \"%s\"", kind);
    const char *version = json_read_str(r, object, "apiVersion", JSON_OPTIONAL);
    if (version != NULL && strcmp(version, "flagger.app/v1alpha1") != 0)
        json_reader_fail(r, object, "apiVersion", "expected flagger.app/v1alpha1, found \"%s\"",
                         version);
    struct json_object *metadata = json_read_obj(r, object, "metadata", JSON_REQUIRED);
    out->name = application_read_name(r, metadata, "name", JSON_REQUIRED, APPLICATION_MAX_NAME);
    out->namespace_ = or_else(
        application_read_name(r, metadata, "namespace", JSON_OPTIONAL, APPLICATION_MAX_LABEL),
        "default");
    out->uid = or_else(json_read_str(r, metadata, "uid", JSON_OPTIONAL), "");
    out->resource_version =
        or_else(json_read_str(r, metadata, "resourceVersion", JSON_OPTIONAL), "");
    out->generation = json_read_int(r, metadata, "generation", 0, INT64_MAX, 0);
    out->deleting = json_read_str(r, metadata, "deletionTimestamp", JSON_OPTIONAL) != NULL;
    struct json_object *notes = canary_read_map(r, metadata, "annotations");
    out->accept = canary_read_name(r, notes, RELEASEPLAN_ACCEPT, JSON_OPTIONAL);
}

/* Two Applications at least, each once. */
static void read_train(struct json_reader *r, struct json_object *spec, struct releaseplan *out)
{
    struct json_object *array = canary_read_strings(r, spec, "train");
    size_t n = json_len(array);
    if (array == NULL)
        return;
    if (n < 2 || n > RELEASEPLAN_MAX_TRAIN)
        json_reader_fail(r, spec, "train", "expected 2 to %d Applications, found %zu",
                         (int)RELEASEPLAN_MAX_TRAIN, n);
    out->train = arena_array(r->arena, n, sizeof *out->train);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        out->train[i] = json_object_get_string(json_elem(array, i));
        for (size_t j = 0; j < i && r->err == ERR_OK; j++)
            if (strcmp(out->train[i], out->train[j]) == 0)
                canary_fail_element(r, array, i, "another Application than those before");
        out->n_train = (int)i + 1;
    }
}

/* One of three says which Canaries are meant. */
static void check_canaries(struct json_reader *r, struct json_object *spec,
                           const struct releaseplan *out, struct json_object *canaries)
{
    const char *first = out->application != NULL ? "application" : "train";
    if (out->application != NULL && out->train != NULL)
        json_reader_fail(r, spec, "train", "expected none beside application, found both");
    else if (canaries != NULL && (out->application != NULL || out->train != NULL))
        json_reader_fail(r, spec, "canaries", "expected none beside %s, found both", first);
    else if (canaries == NULL && out->application == NULL && out->train == NULL)
        json_reader_fail(r, spec, NULL,
                         "expected application, train or canaries, found none of them");
}

/* Which Canaries: of Applications, or of a namespace on the clusters of a destination. */
static void read_canaries(struct json_reader *r, struct json_object *spec, struct releaseplan *out)
{
    out->application =
        application_read_name(r, spec, "application", JSON_OPTIONAL, APPLICATION_MAX_NAME);
    struct json_object *canaries = json_read_obj(r, spec, "canaries", JSON_OPTIONAL);
    bool has_destination = application_read_destination(r, spec, &out->destination);
    read_train(r, spec, out);
    if (r->err == ERR_OK)
        check_canaries(r, spec, out, canaries);
    if (r->err == ERR_OK && canaries == NULL && has_destination)
        json_reader_fail(r, spec, "destination",
                         "expected none beside %s, whose own clusters count",
                         out->application != NULL ? "application" : "train");
    if (r->err != ERR_OK || canaries == NULL)
        return;
    out->canaries_namespace =
        application_read_name(r, canaries, "namespace", JSON_REQUIRED, APPLICATION_MAX_LABEL);
    struct json_object *selector = json_read_obj(r, canaries, "selector", JSON_OPTIONAL);
    out->canaries_labels = selector != NULL ? canary_read_map(r, selector, "matchLabels") : NULL;
    if (!has_destination)
        json_reader_fail(r, spec, "destination",
                         "required: expected the fleet whose clusters have these Canaries");
}

static struct releaseplan_gate *read_gate(struct json_reader *r, struct json_object *wave)
{
    struct json_object *json = json_read_obj(r, wave, "gate", JSON_OPTIONAL);
    if (json == NULL)
        return NULL;
    struct releaseplan_gate *gate = ARENA_NEW(r->arena, struct releaseplan_gate);
    gate->url = canary_read_name(r, json, "url", JSON_REQUIRED);
    if (gate->url != NULL && strncmp(gate->url, "http://", 7) != 0 &&
        strncmp(gate->url, "https://", 8) != 0)
        json_reader_fail(r, json, "url", "expected http:// or https://, found \"%.80s\"",
                         gate->url);
    gate->timeout_ms = json_read_duration(r, json, "timeout", DEFAULT_GATE_TIMEOUT_MS);
    if (r->err == ERR_OK && gate->timeout_ms == 0)
        json_reader_fail(r, json, "timeout", "expected a duration above 0s, found \"%s\"",
                         json_str_at(json, "timeout", NULL));
    if (gate->timeout_ms > HOOK_MAX_MS)
        gate->timeout_ms = HOOK_MAX_MS;
    gate->metadata = canary_read_map(r, json, "metadata");
    return gate;
}

/* Nothing comes after the last wave, and the first one is never held: what says otherwise would do
 * nothing. */
static void check_place(struct json_reader *r, struct json_object *json,
                        const struct releaseplan_wave *wave, int index, int count)
{
    if (index == 0 && wave->max_concurrent > 0)
        json_reader_fail(r, json, "maxConcurrent",
                         "expected none, for the Canaries of the first wave are never held");
    if (index < count - 1)
        return;
    if (wave->soak_ms > 0)
        json_reader_fail(r, json, "soak", "expected none, for nothing comes after the last wave");
    if (wave->gate != NULL)
        json_reader_fail(r, json, "gate", "expected none, for nothing comes after the last wave");
}

static void check_name(struct json_reader *r, struct json_object *json,
                       const struct releaseplan *out, int index)
{
    for (int i = 0; r->err == ERR_OK && i < index; i++) {
        if (strcmp(out->waves[i].name, out->waves[index].name) == 0)
            json_reader_fail(r, json, "name",
                             "expected another name than that of waves[%d], found \"%s\"", i,
                             out->waves[index].name);
    }
}

static void read_wave(struct json_reader *r, struct json_object *json, struct releaseplan *out,
                      int index)
{
    struct releaseplan_wave *wave = &out->waves[index];
    wave->name = application_read_name(r, json, "name", JSON_REQUIRED, APPLICATION_MAX_LABEL);
    check_name(r, json, out, index);
    struct json_object *selector = json_read_obj(r, json, "clusterSelector", JSON_OPTIONAL);
    wave->labels = selector != NULL ? canary_read_map(r, selector, "matchLabels") : NULL;
    wave->max_concurrent = canary_read_int(r, json, "maxConcurrent", 0, MAX_COUNT, 0);
    wave->max_failed = canary_read_int(r, json, "maxFailed", 0, MAX_COUNT, 0);
    wave->soak_ms = json_read_duration(r, json, "soak", 0);
    wave->deadline_ms = json_read_duration(r, json, "deadline", 0);
    wave->gate = read_gate(r, json);
    check_place(r, json, wave, index, out->n_waves);
    if (out->n_train > 0 && wave->max_failed > 0)
        json_reader_fail(r, json, "maxFailed",
                         "expected none with a train, for one that fails holds all");
}

static void read_waves(struct json_reader *r, struct json_object *spec, struct releaseplan *out)
{
    struct json_object *array = json_read_array(r, spec, "waves", JSON_REQUIRED);
    size_t n = json_len(array);
    if (r->err == ERR_OK && (n < 1 || n > RELEASEPLAN_MAX_WAVES))
        json_reader_fail(r, spec, "waves", "expected 1 to %d of them, found %zu",
                         (int)RELEASEPLAN_MAX_WAVES, n);
    if (r->err != ERR_OK)
        return;
    out->waves = arena_array(r->arena, n, sizeof *out->waves);
    out->n_waves = (int)n;
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_wave(r, json, out, (int)i);
    }
}

enum err releaseplan_view(struct arena *arena, struct json_object *object, struct releaseplan *out,
                          struct errinfo *ei)
{
    *out = (struct releaseplan){.json = object};
    if (!json_object_is_type(object, json_type_object))
        return err_set(ei, ERR_INVALID, "expected a ReleasePlan object, found %.40s",
                       json_text(arena, object));
    struct json_reader r = {.arena = arena};
    read_metadata(&r, object, out);
    struct json_object *spec = json_read_obj(&r, object, "spec", JSON_REQUIRED);
    if (spec != NULL) {
        read_canaries(&r, spec, out);
        read_waves(&r, spec, out);
        releaseplan_read_times(&r, spec, out);
        struct json_object *budget = json_read_obj(&r, spec, "budget", JSON_OPTIONAL);
        if (budget != NULL) {
            out->max_concurrent = canary_read_int(&r, budget, "maxConcurrent", 1, MAX_COUNT, 0);
            out->max_replicas_percent =
                canary_read_int(&r, budget, "maxReplicasPercent", 1, PERCENT, 0);
        }
    }
    if (r.err != ERR_OK)
        return err_set(ei, r.err, "%s", r.info.text);
    return ERR_OK;
}
