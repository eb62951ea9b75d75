/*
 * The merge rules of the built-in kinds. A row says how a list (or map) is merged, found by its
 * field and, where the name alone is ambiguous, by the field around it and the kind. The first row
 * that fits wins; what has no row is an atomic list, or a granular map.
 */
#include "object/typing.h"

#include <string.h>

#include "base/json.h"

struct rule {
    const char *kind;   /* NULL: any */
    const char *parent; /* NULL: any */
    const char *field;
    enum schema_list list;
    bool map_atomic;
    const char *merge_key; /* of strategic merge */
    bool merge_set;
    const char *keys[3]; /* of server-side apply */
};

#define MAP_LIST(key) .list = SCHEMA_LIST_MAP, .merge_key = (key), .keys = {(key)}

static const struct rule rules[] = {
    {.parent = "metadata", .field = "ownerReferences", MAP_LIST("uid")},
    {.parent = "metadata", .field = "finalizers", .list = SCHEMA_LIST_SET, .merge_set = true},
    {.field = "containers", MAP_LIST("name")},
    {.field = "initContainers", MAP_LIST("name")},
    {.field = "ephemeralContainers", MAP_LIST("name")},
    {.parent = "containers",
     .field = "ports",
     .list = SCHEMA_LIST_MAP,
     .merge_key = "containerPort",
     .keys = {"containerPort", "protocol"}},
    {.parent = "initContainers",
     .field = "ports",
     .list = SCHEMA_LIST_MAP,
     .merge_key = "containerPort",
     .keys = {"containerPort", "protocol"}},
    {.kind = "Service",
     .parent = "spec",
     .field = "ports",
     .list = SCHEMA_LIST_MAP,
     .merge_key = "port",
     .keys = {"port", "protocol"}},
    {.field = "env", MAP_LIST("name")},
    {.field = "volumeMounts", MAP_LIST("mountPath")},
    {.field = "volumeDevices", MAP_LIST("devicePath")},
    {.parent = "resources", .field = "claims", MAP_LIST("name")},
    {.parent = "spec", .field = "volumes", MAP_LIST("name")},
    {.field = "imagePullSecrets", MAP_LIST("name")},
    {.kind = "ServiceAccount", .field = "secrets", MAP_LIST("name")},
    {.field = "hostAliases", MAP_LIST("ip")},
    {.field = "schedulingGates", MAP_LIST("name")},
    {.field = "resourceClaims", MAP_LIST("name")},
    {.field = "topologySpreadConstraints",
     .list = SCHEMA_LIST_MAP,
     .merge_key = "topologyKey",
     .keys = {"topologyKey", "whenUnsatisfiable"}},
    {.parent = "status", .field = "conditions", MAP_LIST("type")},
    {.kind = "Pod", .parent = "status", .field = "podIPs", MAP_LIST("ip")},
    {.kind = "Node", .parent = "status", .field = "addresses", MAP_LIST("type")},
    {.kind = "Node", .parent = "spec", .field = "taints", .merge_key = "key"},
    {.kind = "Node",
     .parent = "spec",
     .field = "podCIDRs",
     .list = SCHEMA_LIST_SET,
     .merge_set = true},
    {.kind = "EndpointSlice", .field = "addresses", .list = SCHEMA_LIST_SET},

    {.field = "selector", .map_atomic = true},
    {.field = "labelSelector", .map_atomic = true},
    {.field = "nodeSelector", .map_atomic = true},
    {.field = "namespaceSelector", .map_atomic = true},
    {.field = "configMapKeyRef", .map_atomic = true},
    {.field = "secretKeyRef", .map_atomic = true},
    {.field = "fieldRef", .map_atomic = true},
    {.field = "resourceFieldRef", .map_atomic = true},
    {.field = "secretRef", .map_atomic = true},
    {.field = "involvedObject", .map_atomic = true},
    {.field = "targetRef", .map_atomic = true},
    {.parent = "backend", .field = "resource", .map_atomic = true},
};

static bool fits(const char *wanted, const char *found)
{
    return !wanted || (found && strcmp(wanted, found) == 0);
}

static const struct rule *find_rule(struct typing at)
{
    static const struct rule none = {0};
    bool metadata = at.parent && strcmp(at.parent, "metadata") == 0;
    if (!at.field || (!at.kind && !metadata))
        return &none;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strcmp(rules[i].field, at.field) == 0 && fits(rules[i].kind, at.kind) &&
            fits(rules[i].parent, at.parent))
            return &rules[i];
    return &none;
}

struct typing typing_builtin(const char *kind)
{
    return (struct typing){.kind = kind};
}

struct typing typing_custom(const struct schema *schema)
{
    return (struct typing){.schema = schema};
}

struct typing typing_field(struct typing at, const char *key)
{
    return (struct typing){
        .schema = at.schema ? schema_field(at.schema, key) : NULL,
        .kind = at.kind,
        .parent = at.field,
        .field = key,
    };
}

struct typing typing_item(struct typing at)
{
    /* Fields of the item have the list as their parent. */
    at.schema = at.schema ? schema_items(at.schema) : NULL;
    return at;
}

enum schema_list typing_list(struct typing at)
{
    const struct rule *rule = find_rule(at);
    if (rule->list != SCHEMA_LIST_ATOMIC || !at.schema)
        return rule->list;
    return schema_list_type(at.schema);
}

size_t typing_list_keys(struct typing at, const char *keys[TYPING_MAX_KEYS])
{
    const struct rule *rule = find_rule(at);
    size_t count = 0;
    for (; count < sizeof(rule->keys) / sizeof(rule->keys[0]) && rule->keys[count]; count++)
        keys[count] = rule->keys[count];
    for (; at.schema && count < TYPING_MAX_KEYS && schema_list_key(at.schema, count); count++)
        keys[count] = schema_list_key(at.schema, count);
    return count;
}

struct json_object *typing_key_default(struct typing at, struct arena *arena, const char *key)
{
    if (at.schema)
        return schema_list_key_default(at.schema, key);
    if (at.kind && strcmp(key, "protocol") == 0)
        return json_own(arena, json_object_new_string("TCP"));
    return NULL;
}

bool typing_map_atomic(struct typing at)
{
    if (at.schema)
        return schema_map_atomic(at.schema);
    return find_rule(at)->map_atomic;
}

const char *typing_merge_key(struct typing at)
{
    return find_rule(at)->merge_key;
}

bool typing_merge_set(struct typing at)
{
    return find_rule(at)->merge_set;
}
