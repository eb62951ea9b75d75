#include "scaler/scaler.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

const struct scaler *scaler_find(const char *kind)
{
    for (size_t i = 0; kind && scaler_table[i]; i++) {
        if (strcmp(scaler_table[i]->kind, kind) == 0)
            return scaler_table[i];
    }
    return NULL;
}

const char *scaler_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; scaler_table[i]; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", scaler_table[i]->kind);
    return all;
}

bool scaler_is_of(const struct scaler *scaler, const char *api_version)
{
    size_t len = strlen(scaler->group);

    return api_version && strncmp(api_version, scaler->group, len) == 0 && api_version[len] == '/';
}

/* --- the primary's copy */

enum rule_result scaler_source(struct tick *tick, const struct kube_resource *resource,
                               struct json_object **out)
{
    return need_object(tick, resource, tick->canary->namespace_, tick->canary->autoscaler.name, out)
               ? RULE_CONTINUE
               : RULE_NEEDS_FACTS;
}

enum rule_result scaler_copy_read(struct tick *tick, const struct kube_resource *resource,
                                  struct scaler_copy *out)
{
    const char *name = arena_printf(tick->arena, "%s-primary", tick->canary->autoscaler.name);
    *out = (struct scaler_copy){.resource = resource, .name = name};
    enum rule_result verdict = scaler_source(tick, resource, &out->source);
    bool known = need_object(tick, resource, tick->canary->namespace_, name, &out->live);

    return known ? verdict : RULE_NEEDS_FACTS;
}

/* The source's own minimum, not one that a release has set. */
static struct json_object *least_of(struct tick *tick, struct json_object *source, const char *key)
{
    struct json_object *live = json_at(source, "spec", key, NULL);
    const char *held = json_str_at(source, "metadata", "annotations", SCALER_HELD, NULL);
    const char *slash = held ? strchr(held, '/') : NULL;

    if (!slash || !live || json_object_get_int64(live) != strtoll(slash + 1, NULL, 10))
        return live;
    return slash == held ? NULL
                         : json_own(tick->arena, json_object_new_int64(strtoll(held, NULL, 10)));
}

/* A bound of the copy: from spec.autoscalerRef.primaryScalerReplicas, or from the source. NULL if
 * neither has it. */
static struct json_object *bound(struct tick *tick, const char *field, struct json_object *source,
                                 const char *key)
{
    struct json_object *given =
        json_at(tick->canary->autoscaler_json, "primaryScalerReplicas", field, NULL);

    return given ? given : least_of(tick, source, key);
}

static int number(struct json_object *value, int missing)
{
    int64_t given = value ? json_object_get_int64(value) : missing;

    return given < 0 ? 0 : given > INT_MAX ? INT_MAX : (int)given;
}

int scaler_copy_max(struct tick *tick, const struct scaler_bounds *bounds,
                    struct json_object *source)
{
    return number(bound(tick, "maxReplicas", source, bounds->max), bounds->default_max);
}

int scaler_most(const struct scaler_bounds *bounds, struct json_object *source)
{
    return number(json_at(source, "spec", bounds->max, NULL), bounds->default_max);
}

void scaler_hold(struct tick *tick, const struct kube_resource *resource,
                 const struct scaler_bounds *bounds, struct json_object *object, int floor,
                 bool lowers)
{
    struct json_object *own = least_of(tick, object, bounds->min);
    const char *held = json_str_at(object, "metadata", "annotations", SCALER_HELD, NULL);
    int most = scaler_most(bounds, object), least = number(own, bounds->default_min);
    int wanted = floor < most ? floor : most;
    bool holds = wanted > least || (lowers && wanted > 0 && wanted < least);

    if (!held && !holds)
        return;
    struct json_object *to = json_copy(tick->arena, object);
    struct json_object *notes = json_sub(json_sub(to, "metadata"), "annotations");
    if (holds) {
        json_set_int(json_sub(to, "spec"), bounds->min, wanted);
        json_set_str(
            notes, SCALER_HELD,
            arena_printf(tick->arena, "%s/%d", own ? json_object_to_json_string(own) : "", wanted));
    } else {
        edit_put(tick->arena, json_sub(to, "spec"), bounds->min, own);
        json_object_object_del(notes, SCALER_HELD);
    }
    if (plan_update(tick, resource, object, to))
        plan_why(tick, holds ? "least %d" : "least put back", wanted);
}

int scaler_start(const struct scaler_bounds *bounds, struct json_object *source)
{
    int least = number(json_at(source, "spec", bounds->min, NULL), 1);

    return least > 1 ? least : 1;
}

void scaler_copy_bounds(struct tick *tick, const struct scaler_bounds *bounds,
                        struct json_object *source, struct json_object *spec, int floor)
{
    struct json_object *least = bound(tick, "minReplicas", source, bounds->min);
    int largest = scaler_copy_max(tick, bounds, source);

    edit_put(tick->arena, spec, bounds->min, least);
    edit_put(tick->arena, spec, bounds->max, bound(tick, "maxReplicas", source, bounds->max));
    if (floor > largest)
        floor = largest;
    if (floor > number(least, bounds->default_min))
        json_set_int(spec, bounds->min, floor);
}

static void drop_keys(struct json_object *map, const char *const *keys)
{
    for (; map && keys && *keys; keys++)
        json_del(map, *keys);
}

struct json_object *scaler_copy_base(struct tick *tick, const struct scaler_copy *copy)
{
    struct json_object *labels = json_at(copy->source, "metadata", "labels", NULL);
    struct json_object *annotations = json_at(copy->source, "metadata", "annotations", NULL);
    struct json_object *wanted = edit_object(tick->arena);
    struct json_object *metadata = json_sub(wanted, "metadata");

    json_set(metadata, "labels",
             applied_follow(tick->arena, copy->live, "labels", edit_of_source(tick->arena, labels),
                            edit_included(tick, labels)));
    json_set(metadata, "annotations",
             applied_follow(tick->arena, copy->live, "annotations",
                            copy->all_annotations ? edit_of_source(tick->arena, annotations)
                                                  : edit_included(tick, annotations),
                            edit_included(tick, annotations)));
    drop_keys(json_at(metadata, "labels", NULL), copy->never_labels);
    drop_keys(json_at(metadata, "annotations", NULL), copy->never_annotations);
    drop_keys(json_at(metadata, "annotations", NULL), (const char *const[]){SCALER_HELD, NULL});
    return applied_lay(tick->arena, copy->live,
                       copy->live ? copy->live : edit_new(tick, copy->resource, copy->name),
                       wanted);
}

void scaler_copy_write(struct tick *tick, const struct scaler_copy *copy, struct json_object *to)
{
    if (copy->live)
        plan_update(tick, copy->resource, copy->live, to);
    else
        plan_create(tick, copy->resource, tick->canary->namespace_, to);
}

enum rule_result scaler_copy_leave(struct tick *tick, const struct kube_resource *resource,
                                   const char *name)
{
    const char *copy = arena_printf(tick->arena, "%s-primary", name);
    struct json_object *live;

    if (!need_object(tick, resource, tick->canary->namespace_, copy, &live))
        return RULE_NEEDS_FACTS;
    if (live && edit_is_owned(tick, live)) {
        plan_delete(tick, resource, live);
        plan_why(tick, "no longer referred to");
    }
    return RULE_CONTINUE;
}

enum { QUERY_MAX = 1024 * 1024 };

static bool is_alnum(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool goes_on(const char *at)
{
    return is_alnum(*at) || (*at == '-' && is_alnum(at[1]));
}

/* The length of `suffix` if it is at `at` and the name ends after it, else 0. */
static size_t ends_with(const char *at, const char *suffix)
{
    size_t len = strlen(suffix);

    return strncmp(at, suffix, len) == 0 && !goes_on(at + len) ? len : 0;
}

/* Characters around a name that is part of an identifier of a query language: a metric, a table, a
 * recording rule. */
static bool in_identifier(char before, char after)
{
    return before == '_' || (after != '\0' && strchr("_:{[(", after) != NULL);
}

/* The length of the name at `at`, including its "-canary"; 0 if there is something else. */
static size_t name_at(const char *query, const char *at, const char *name, bool quoted)
{
    size_t len = strlen(name);
    char before = at > query ? at[-1] : ' ';

    if (strncmp(at, name, len) != 0 || is_alnum(before) || before == '-')
        return 0;
    if (ends_with(at + len, "-canary"))
        len += ends_with(at + len, "-canary");
    else if (goes_on(at + len))
        return 0;
    return !quoted && in_identifier(before, at[len]) ? 0 : len;
}

const char *query_for_primary(struct arena *arena, const char *query, const char *name)
{
    struct buf buf;
    char quote = '\0';

    buf_init(&buf, QUERY_MAX);
    for (const char *at = query; *at != '\0';) {
        size_t len = *name != '\0' ? name_at(query, at, name, quote != '\0') : 0;
        if (len > 0) {
            buf_printf(&buf, "%s-primary", name);
            at += len;
            continue;
        }
        if (quote != '\0' && *at == '\\' && at[1] != '\0')
            buf_add(&buf, at++, 1);
        else if (quote == '\0' && (*at == '"' || *at == '\'' || *at == '`'))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        buf_add(&buf, at++, 1);
    }
    const char *text = arena_strdup(arena, buf.data);
    buf_fini(&buf);
    return text;
}

/* Characters of a label's key or value. */
static size_t word_length(const char *at)
{
    size_t len = 0;

    while (is_alnum(at[len]) || (at[len] != '\0' && strchr("-_./", at[len]) != NULL))
        len++;
    return len;
}

static bool word_is(const char *at, size_t len, const char *word)
{
    return len > 0 && strlen(word) == len && strncmp(at, word, len) == 0;
}

const char *selector_for_primary(struct arena *arena, const char *selector, const char *key,
                                 const char *from, const char *to)
{
    bool is_key = true, is_of_key = false;
    int depth = 0;
    struct buf buf;

    buf_init(&buf, QUERY_MAX);
    for (const char *at = selector; *at != '\0';) {
        size_t len = word_length(at);
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (*at == ',' && depth == 0)
            is_key = true;
        if (len > 0 && is_key)
            is_of_key = word_is(at, len, key);
        if (len > 0 && !is_key && is_of_key && word_is(at, len, from))
            buf_printf(&buf, "%s", to);
        else
            buf_add(&buf, at, len > 0 ? len : 1);
        is_key = is_key && len == 0;
        at += len > 0 ? len : 1;
    }
    const char *text = arena_strdup(arena, buf.data);
    buf_fini(&buf);
    return text;
}
