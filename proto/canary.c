#include "proto/canary.h"

#include <limits.h>
#include <string.h>

#include "proto/canary_parts.h"
#include "proto/spechash.h"
#include "proto/weight.h"

/* --- spec.service */

/* The keys in an array of strings as a NULL-terminated list, never NULL. */
static const char **key_list(struct json_reader *r, struct json_object *obj, const char *key)
{
    struct json_object *array = obj != NULL ? canary_read_strings(r, obj, key) : NULL;
    const char **list = arena_array(r->arena, json_len(array) + 1, sizeof *list);
    for (size_t i = 0; i < json_len(array); i++)
        list[i] = json_object_get_string(json_elem(array, i));
    return list;
}

/* {labels, annotations}: checked only here. */
static struct json_object *read_service_metadata(struct json_reader *r, struct json_object *json,
                                                 const char *key)
{
    struct json_object *metadata = json_read_obj(r, json, key, JSON_OPTIONAL);
    if (metadata != NULL) {
        canary_read_map(r, metadata, "labels");
        canary_read_map(r, metadata, "annotations");
    }
    return metadata;
}

/* Flagger's own objects contain 0 or "" for a missing value. */
static struct json_object *read_target_port(struct json_reader *r, struct json_object *json)
{
    struct json_object *port = json_at(json, "targetPort", NULL);
    int64_t number;
    if (port == NULL)
        return NULL;
    if (json_object_is_type(port, json_type_string))
        return json_object_get_string_len(port) > 0 ? port : NULL;
    if (!json_to_int(port, &number)) {
        json_reader_fail(r, json, "targetPort", "expected a port number or a port name, found %s",
                         json_text(r->arena, port));
        return NULL;
    }
    return canary_read_int(r, json, "targetPort", 0, 65535, 0) > 0 ? port : NULL;
}

/* Names and indices of rules; NULL if there are none. */
static struct json_object *read_route_rules(struct json_reader *r, struct json_object *ref)
{
    struct json_object *rules = json_read_array(r, ref, "rules", JSON_OPTIONAL);
    size_t n = json_len(rules);
    int64_t index;

    if (n > CANARY_MAX_ROUTE_RULES)
        json_reader_fail(r, ref, "rules", "expected at most %d rules, found %zu",
                         CANARY_MAX_ROUTE_RULES, n);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *rule = json_elem(rules, i);
        bool named = json_object_is_type(rule, json_type_string);
        if (named ? json_object_get_string_len(rule) == 0
                  : !json_to_int(rule, &index) || index < 0 || index > CANARY_MAX_ROUTE_RULE)
            canary_fail_element(r, rules, i,
                                arena_printf(r->arena,
                                             "the name of a rule or its index from 0 to %d",
                                             CANARY_MAX_ROUTE_RULE));
    }
    return n > 0 ? rules : NULL;
}

static void read_route_refs(struct json_reader *r, struct json_object *json,
                            struct canary_service *out)
{
    struct json_object *array = json_read_array(r, json, "routeRefs", JSON_OPTIONAL);
    size_t n = json_len(array);

    if (n > CANARY_MAX_ROUTE_REFS)
        json_reader_fail(r, json, "routeRefs", "expected at most %d routes, found %zu",
                         CANARY_MAX_ROUTE_REFS, n);
    out->route_refs = arena_array(r->arena, n, sizeof *out->route_refs);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *ref = canary_read_element(r, array, i);
        if (ref == NULL)
            break;
        out->route_refs[i] = (struct canary_route_ref){
            .kind = canary_read_name(r, ref, "kind", JSON_REQUIRED),
            .name = canary_read_name(r, ref, "name", JSON_REQUIRED),
            .rules = read_route_rules(r, ref),
        };
    }
    out->n_route_refs = r->err == ERR_OK ? (int)n : 0;
}

static void read_given(struct json_reader *r, struct json_object *json, struct canary_service *out)
{
    canary_read_fields(r, json, FIELDS_SERVICE, out);
    out->target_port = read_target_port(r, json);
    out->apex = read_service_metadata(r, json, "apex");
    out->primary = read_service_metadata(r, json, "primary");
    out->canary = read_service_metadata(r, json, "canary");
    out->gateway_refs = json_read_array(r, json, "gatewayRefs", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(out->gateway_refs); i++)
        canary_read_element(r, out->gateway_refs, i);
    out->hosts = canary_read_strings(r, json, "hosts");
    read_route_refs(r, json, out);
}

static void read_service(struct json_reader *r, struct json_object *spec, struct canary *out)
{
    struct canary_service service = {.name = out->target.name, .port_name = "http"};
    service.json = json_read_obj(r, spec, "service", JSON_OPTIONAL);
    struct json_object *unmanaged = NULL;
    if (service.json != NULL) {
        read_given(r, service.json, &service);
        unmanaged = json_read_obj(r, service.json, "unmanagedMetadata", JSON_OPTIONAL);
    }
    service.unmanaged_labels = key_list(r, unmanaged, "labels");
    service.unmanaged_annotations = key_list(r, unmanaged, "annotations");
    if (r->err == ERR_OK) {
        service.primary_name = arena_printf(r->arena, "%s-primary", service.name);
        service.canary_name = arena_printf(r->arena, "%s-canary", service.name);
    }
    out->service = service;
}

/* --- the Canary */

bool canary_is_worker(const struct canary *canary)
{
    return !canary->service.json && canary->analysis.n_steps > 0;
}

const char *strategy_name(enum strategy strategy)
{
    static const char *const names[] = {
        [STRATEGY_CANARY] = "canary",
        [STRATEGY_BLUE_GREEN] = "blue-green",
        [STRATEGY_AB_TESTING] = "ab-testing",
    };
    return names[strategy];
}

static const char *or_else(const char *text, const char *missing)
{
    return text != NULL ? text : missing;
}

static void read_metadata(struct json_reader *r, struct json_object *object, struct canary *out)
{
    out->api_version =
        or_else(json_read_str(r, object, "apiVersion", JSON_OPTIONAL), "flagger.app/v1beta1");
    const char *kind = json_read_str(r, object, "kind", JSON_OPTIONAL);
    if (kind != NULL && strcmp(kind, "Canary") != 0)
        json_reader_fail(r, object, "kind", "expected Canary, found \"%s\"", kind);
    struct json_object *metadata = json_read_obj(r, object, "metadata", JSON_REQUIRED);
    out->name = canary_read_name(r, metadata, "name", JSON_REQUIRED);
    out->namespace_ = or_else(canary_read_name(r, metadata, "namespace", JSON_OPTIONAL), "default");
    out->uid = or_else(json_read_str(r, metadata, "uid", JSON_OPTIONAL), "");
    out->resource_version =
        or_else(json_read_str(r, metadata, "resourceVersion", JSON_OPTIONAL), "");
    out->generation = json_read_int(r, metadata, "generation", 0, INT64_MAX, 0);
    out->deleting = json_read_str(r, metadata, "deletionTimestamp", JSON_OPTIONAL) != NULL;
}

static void read_target(struct json_reader *r, struct json_object *spec, struct canary *out)
{
    out->target = canary_read_ref(r, spec, "targetRef", JSON_REQUIRED);
    struct json_object *target = json_at(spec, "targetRef", NULL);
    if (r->err == ERR_OK && out->target.kind[0] == '\0')
        json_reader_fail(r, target, "kind", "expected a kind such as Deployment, found none");
    out->autoscaler = canary_read_ref(r, spec, "autoscalerRef", JSON_OPTIONAL);
    out->autoscaler_json = json_at(spec, "autoscalerRef", NULL);
    out->ingress = canary_read_ref(r, spec, "ingressRef", JSON_OPTIONAL);
    out->route = canary_read_ref(r, spec, "routeRef", JSON_OPTIONAL);
}

static void read_companions(struct json_reader *r, struct json_object *spec, struct canary *out)
{
    struct json_object *array = json_read_array(r, spec, "companions", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->companions = arena_array(r->arena, n, sizeof *out->companions);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json == NULL)
            break;
        out->companions[i] = (struct canary_ref){
            .api_version = "",
            .kind = canary_read_name(r, json, "kind", JSON_REQUIRED),
            .name = canary_read_name(r, json, "name", JSON_REQUIRED),
        };
    }
    out->n_companions = (int)n;
}

static enum strategy strategy_of(const struct canary_analysis *analysis)
{
    if (analysis->iterations == 0)
        return STRATEGY_CANARY;
    return analysis->match != NULL ? STRATEGY_AB_TESTING : STRATEGY_BLUE_GREEN;
}

static void read_way_back(struct json_reader *r, struct json_object *spec,
                          struct canary_way_back *out)
{
    struct json_object *json = json_read_obj(r, spec, "rollback", JSON_OPTIONAL);

    if (json == NULL)
        return;
    canary_read_fields(r, json, FIELDS_ROLLBACK, out);
    if ((out->window_ms > 0) == (out->revisions > 0))
        json_reader_fail(r, json, NULL, "expected one of window and revisions, found %s",
                         out->revisions > 0 ? "both" : "neither");
}

static void read_spec(struct json_reader *r, struct json_object *spec, struct canary *out)
{
    canary_read_fields(r, spec, FIELDS_SPEC, out);
    read_target(r, spec, out);
    read_service(r, spec, out);
    read_companions(r, spec, out);
    read_way_back(r, spec, &out->way_back);
    canary_read_pushes(r, spec, &out->pushes);

    struct json_object *analysis = json_read_obj(r, spec, "analysis", JSON_OPTIONAL);
    struct json_object *legacy = json_read_obj(r, spec, "canaryAnalysis", JSON_OPTIONAL);
    bool is_legacy = analysis == NULL;
    canary_read_analysis(r, is_legacy ? legacy : analysis, is_legacy, &out->analysis);
    if (out->analysis.json == NULL)
        out->skip_analysis = true;
    out->strategy = strategy_of(&out->analysis);
}

static int between(int64_t value, int min, int max)
{
    return value < min ? min : value > max ? max : (int)value;
}

/* Without primaryCookieName Flagger writes "=VALUE", which is not a cookie. */
static const char *read_cookie(struct json_object *status, const char *key)
{
    const char *text = json_str_at(status, key, NULL);
    return text != NULL && text[0] != '=' && strchr(text, '=') != NULL ? text : NULL;
}

/* Controllers write the status: odd values are corrected, and are never an error. */
static void read_status(struct json_object *object, struct canary_status *out)
{
    struct json_object *status = json_at(object, "status", NULL);
    struct json_object *tracked = json_at(status, "trackedConfigs", NULL);
    struct json_object *accepted = json_at(status, "acceptedSpec", NULL);
    *out = (struct canary_status){
        .json = status,
        .phase = phase_parse(json_str_at(status, "phase", NULL)),
        .canary_weight = weight_of_status(status),
        .failed_checks = between(json_int_at(status, 0, "failedChecks", NULL), 0, INT_MAX),
        /* Flagger counts down to -1 in WaitingPromotion. */
        .iterations = between(json_int_at(status, 0, "iterations", NULL), -1, INT_MAX),
        .last_applied_spec = or_else(json_str_at(status, "lastAppliedSpec", NULL), ""),
        .last_promoted_spec = or_else(json_str_at(status, "lastPromotedSpec", NULL), ""),
        .tracked_configs = json_object_is_type(tracked, json_type_object) ? tracked : NULL,
        .last_transition_time = or_else(json_str_at(status, "lastTransitionTime", NULL), ""),
        .affinity_cookie = read_cookie(status, "sessionAffinityCookie"),
        .primary_affinity_cookie = read_cookie(status, "primarySessionAffinityCookie"),
        .previous_affinity_cookie = read_cookie(status, "previousSessionAffinityCookie"),
        .provider = json_str_at(status, "provider", NULL),
        .service_name = json_str_at(status, "serviceName", NULL),
        .capacity_replicas =
            between(json_int_at(status, 0, "capacity", "replicas", NULL), 0, INT_MAX),
        .capacity_revision = json_str_at(status, "capacity", "revision", NULL),
        .share_replicas =
            between(json_int_at(status, 0, "canaryCapacity", "replicas", NULL), 0, INT_MAX),
        .share_own = between(json_int_at(status, 0, "canaryCapacity", "own", NULL), 0, INT_MAX),
        .share_total = between(json_int_at(status, 0, "canaryCapacity", "total", NULL), 0, INT_MAX),
        .gate_revision = json_str_at(status, "gate", "revision", NULL),
        .serves_everything = json_at(status, "canaryServes", NULL) != NULL,
        .controller = json_str_at(status, "controller", NULL),
        .accepted_spec = json_object_is_type(accepted, json_type_object) ? accepted : NULL,
    };
}

enum err canary_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei)
{
    *out = (struct canary){.json = object};
    if (!json_object_is_type(object, json_type_object))
        return err_set(ei, ERR_INVALID, "expected a Canary object, found %.40s",
                       json_text(arena, object));
    struct json_reader r = {.arena = arena};
    read_metadata(&r, object, out);
    struct json_object *spec = json_read_obj(&r, object, "spec", JSON_REQUIRED);
    if (spec != NULL)
        read_spec(&r, spec, out);
    read_status(object, &out->status);
    if (r.err != ERR_OK)
        return err_set(ei, r.err, "%s", r.info.text);
    return ERR_OK;
}

const char *canary_checksum(struct arena *arena, const struct canary *canary)
{
    char *checksum = arena_alloc(arena, SPECHASH_TEXT);

    spechash_checksum(arena, canary->status.tracked_configs, canary->status.last_applied_spec,
                      checksum);
    return checksum;
}

const char *canary_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                             enum json_need need)
{
    const char *text = json_read_str(r, obj, key, need);
    if (text != NULL && text[0] == '\0') {
        if (need == JSON_REQUIRED)
            json_reader_fail(r, obj, key, "expected a name, found an empty string");
        return NULL;
    }
    return text;
}

struct canary_ref canary_read_ref(struct json_reader *r, struct json_object *parent,
                                  const char *key, enum json_need need)
{
    struct canary_ref ref = {.api_version = "", .kind = ""};
    struct json_object *obj = json_read_obj(r, parent, key, need);
    if (obj == NULL)
        return ref;
    const char *api_version = json_read_str(r, obj, "apiVersion", JSON_OPTIONAL);
    const char *kind = json_read_str(r, obj, "kind", JSON_OPTIONAL);
    ref.name = canary_read_name(r, obj, "name", JSON_REQUIRED);
    ref.namespace_ = canary_read_name(r, obj, "namespace", JSON_OPTIONAL);
    if (api_version != NULL)
        ref.api_version = api_version;
    if (kind != NULL)
        ref.kind = kind;
    return ref;
}

struct json_object *canary_read_map(struct json_reader *r, struct json_object *obj, const char *key)
{
    struct json_object *map = json_read_obj(r, obj, key, JSON_OPTIONAL);
    if (map == NULL)
        return NULL;
    json_object_object_foreach(map, name, value)
    {
        if (!json_object_is_type(value, json_type_string)) {
            json_reader_fail(r, map, name, "expected a string, found %s",
                             json_text(r->arena, value));
            return NULL;
        }
    }
    return map;
}

struct json_object *canary_read_strings(struct json_reader *r, struct json_object *obj,
                                        const char *key)
{
    struct json_object *array = json_read_array(r, obj, key, JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(array); i++) {
        if (!json_object_is_type(json_elem(array, i), json_type_string)) {
            canary_fail_element(r, array, i, "a string");
            return NULL;
        }
    }
    return array;
}

void canary_fail_element(struct json_reader *r, struct json_object *array, size_t index,
                         const char *expected)
{
    /* json_reader_fail() cannot find the path of an element that is null, so the array's is
     * used. */
    json_reader_fail(r, NULL, NULL, "%s[%zu]: expected %s, found %s",
                     json_reader_path(r, array, NULL), index, expected,
                     json_text(r->arena, json_elem(array, index)));
}

struct json_object *canary_read_element(struct json_reader *r, struct json_object *array,
                                        size_t index)
{
    if (!json_object_is_type(json_elem(array, index), json_type_object)) {
        canary_fail_element(r, array, index, "an object");
        return NULL;
    }
    return json_read_elem(r, array, index);
}

int canary_read_int(struct json_reader *r, struct json_object *obj, const char *key, int min,
                    int max, int missing)
{
    return (int)json_read_int(r, obj, key, min, max, missing);
}
