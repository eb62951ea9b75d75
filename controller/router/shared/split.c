#include "router/shared/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"

enum { MAX_WEIGHT = 1000000 };

static struct json_object *follow(struct json_object *from, const char *const keys[SPLIT_KEYS])
{
    for (int i = 0; i < SPLIT_KEYS && keys[i]; i++)
        from = strcmp(keys[i], "0") == 0 ? json_elem(from, 0) : json_at(from, keys[i], NULL);
    return from;
}

bool split_is_name(const char *name, const char *text)
{
    size_t len = strlen(name);

    if (len > 0 && name[len - 1] == '*')
        return strncmp(name, text, len - 1) == 0;
    return strcmp(name, text) == 0;
}

struct json_object *split_backend(const struct split_format *format, struct json_object *rule,
                                  const char *name)
{
    struct json_object *backends = follow(rule, format->backends);

    for (size_t i = 0; i < json_len(backends); i++) {
        struct json_object *found = follow(json_elem(backends, i), format->name);
        if (json_object_is_type(found, json_type_string) &&
            split_is_name(name, json_object_get_string(found)))
            return json_elem(backends, i);
    }
    return NULL;
}

/* In a list of rules, or of a single one. */
static struct json_object *rule_at(struct json_object *rules, size_t index)
{
    if (json_object_is_type(rules, json_type_object))
        return index == 0 ? rules : NULL;
    return json_elem(rules, index);
}

/* The split is the last rule with both sides, unless the format says otherwise: rules for clients
 * with a cookie have both as well, and come first. */
struct split split_find(const struct split_format *format, const struct split_sides *sides,
                        struct json_object *route)
{
    struct json_object *rules = follow(route, format->rules), *rule;
    struct split out = {.split = NULL};
    size_t at = 0;

    for (size_t i = 0; (rule = rule_at(rules, i)); i++) {
        struct json_object *primary = split_backend(format, rule, sides->primary);
        struct json_object *canary = split_backend(format, rule, sides->canary);
        bool later = format->first && out.split;
        bool alone = (primary && format->may_leave_out) || (canary && format->leaves_either);
        if (!later && ((primary && canary) || (alone && !out.split))) {
            at = i;
            out.split = rule;
            out.rest = NULL;
            out.primary = primary;
            out.canary = canary;
        } else if (primary && out.split && (later || !out.rest)) {
            out.rest = rule;
        }
    }
    for (size_t i = 0; out.split && i < 2 && i < at; i++)
        out.sticky[i] = rule_at(rules, i);
    return out;
}

/* A number, or a quantity as string; -1 if it is neither or invalid. */
static int64_t weight_of(const struct split_format *format, struct json_object *backend)
{
    struct json_object *weight = json_at(backend, "weight", NULL);
    int64_t number = -1;
    struct errinfo ei;

    if (!weight)
        return format->missing;
    if (json_object_is_type(weight, json_type_string)) {
        if (quantity_whole(json_object_get_string(weight), &number, &ei) != ERR_OK)
            return -1;
    } else if (!json_to_int(weight, &number)) {
        return -1;
    }
    return number <= MAX_WEIGHT ? number : -1;
}

void split_weights(const struct split_format *format, const struct split *split,
                   struct weights *out)
{
    int64_t primary = split->primary ? weight_of(format, split->primary) : 0;
    int64_t canary = split->canary ? weight_of(format, split->canary) : 0;

    out->primary = WEIGHT_ALL;
    out->canary = 0;
    if (!split->split || primary < 0 || canary < 0)
        return;
    out->canary = weight_of_total(canary, primary + canary);
    out->primary = WEIGHT_ALL - out->canary;
}

/* --- backends that are new to a route */

/* The backend with this index, counted over all rules; NULL if there are fewer. */
static struct json_object *backend_at(const struct split_format *format, struct json_object *route,
                                      size_t index)
{
    struct json_object *rules = follow(route, format->rules), *rule;

    for (size_t i = 0; (rule = rule_at(rules, i)); i++) {
        struct json_object *backends = follow(rule, format->backends);
        if (index < json_len(backends))
            return json_elem(backends, index);
        index -= json_len(backends);
    }
    return NULL;
}

static bool has_namesake(const struct split_format *format, struct json_object *route,
                         struct json_object *backend)
{
    struct json_object *name = follow(backend, format->name), *other;

    for (size_t i = 0; (other = backend_at(format, route, i)); i++) {
        if (json_same(follow(other, format->name), name))
            return true;
    }
    return false;
}

bool split_is_elsewhere(const struct split_format *format, struct json_object *from,
                        struct json_object *to)
{
    struct json_object *backend;
    bool somewhere = false;

    for (size_t i = 0; (backend = backend_at(format, from, i)); i++) {
        if (weight_of(format, backend) <= 0)
            continue;
        if (has_namesake(format, to, backend))
            return false;
        somewhere = true;
    }
    return somewhere;
}

/* Without weights all backends have the same share, which must not change when one is added. */
static void say_weights(const struct split_format *format, struct json_object *backends)
{
    enum { SAME = 100 };
    int64_t sum = 0;

    for (size_t i = 0; i < json_len(backends); i++)
        sum += weight_of(format, json_elem(backends, i));
    for (size_t i = 0; sum == 0 && i < json_len(backends); i++)
        json_set_int(json_elem(backends, i), "weight", SAME);
}

struct json_object *split_introduced(struct arena *arena, const struct split_format *format,
                                     struct json_object *from, struct json_object *to)
{
    struct json_object *out = json_copy(arena, from), *backend;
    struct json_object *backends = follow(rule_at(follow(out, format->rules), 0), format->backends);
    bool added = false;

    if (json_len(backends) == 0)
        return NULL;
    say_weights(format, backends);
    for (size_t i = 0; (backend = backend_at(format, to, i)); i++) {
        if (has_namesake(format, out, backend))
            continue;
        backend = json_copy(arena, backend);
        json_set_int(backend, "weight", 0);
        json_object_array_add(backends, json_object_get(backend));
        added = true;
    }
    return added ? out : NULL;
}
