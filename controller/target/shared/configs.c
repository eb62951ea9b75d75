#include "target/shared/configs.h"

#include <string.h>

#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

#define PRIMARY "-primary"

static struct config_ref *add_ref(struct tick *tick, struct config_ref **list,
                                  const struct kube_resource *resource, const char *name)
{
    const char *type = resource == &kube_secrets ? "secret" : "configmap";
    const char *key = arena_printf(tick->arena, "%s/%s", type, name);

    while (*list && strcmp((*list)->key, key) < 0)
        list = &(*list)->next;
    if (*list && strcmp((*list)->key, key) == 0)
        return *list;
    struct config_ref *ref = ARENA_NEW(tick->arena, struct config_ref);
    *ref = (struct config_ref){
        .next = *list, .resource = resource, .key = key, .name = arena_strdup(tick->arena, name)};
    *list = ref;
    return ref;
}

/* Called for each reference to a config in a pod spec: `object` has the name under `key`. */
typedef void (*visit_fn)(struct tick *tick, void *arg, const struct kube_resource *resource,
                         struct json_object *object, const char *key);

static void visit_one(struct tick *tick, visit_fn visit, void *arg,
                      const struct kube_resource *resource, struct json_object *object,
                      const char *key)
{
    if (json_str_at(object, key, NULL))
        visit(tick, arg, resource, object, key);
}

static void visit_volumes(struct tick *tick, struct json_object *spec, visit_fn visit, void *arg)
{
    struct json_object *volumes = json_at(spec, "volumes", NULL);

    for (size_t i = 0; i < json_len(volumes); i++) {
        struct json_object *volume = json_elem(volumes, i);
        visit_one(tick, visit, arg, &kube_configmaps, json_at(volume, "configMap", NULL), "name");
        visit_one(tick, visit, arg, &kube_secrets, json_at(volume, "secret", NULL), "secretName");
        struct json_object *sources = json_at(volume, "projected", "sources", NULL);
        for (size_t j = 0; j < json_len(sources); j++) {
            struct json_object *source = json_elem(sources, j);
            visit_one(tick, visit, arg, &kube_configmaps, json_at(source, "configMap", NULL),
                      "name");
            visit_one(tick, visit, arg, &kube_secrets, json_at(source, "secret", NULL), "name");
        }
    }
}

static void visit_container(struct tick *tick, struct json_object *container, visit_fn visit,
                            void *arg)
{
    struct json_object *env = json_at(container, "env", NULL);
    struct json_object *from = json_at(container, "envFrom", NULL);

    for (size_t i = 0; i < json_len(env); i++) {
        struct json_object *value = json_at(json_elem(env, i), "valueFrom", NULL);
        visit_one(tick, visit, arg, &kube_configmaps, json_at(value, "configMapKeyRef", NULL),
                  "name");
        visit_one(tick, visit, arg, &kube_secrets, json_at(value, "secretKeyRef", NULL), "name");
    }
    for (size_t i = 0; i < json_len(from); i++) {
        struct json_object *source = json_elem(from, i);
        visit_one(tick, visit, arg, &kube_configmaps, json_at(source, "configMapRef", NULL),
                  "name");
        visit_one(tick, visit, arg, &kube_secrets, json_at(source, "secretRef", NULL), "name");
    }
}

static void visit_spec(struct tick *tick, struct json_object *spec, visit_fn visit, void *arg)
{
    static const char *const lists[] = {"containers", "initContainers"};

    visit_volumes(tick, spec, visit, arg);
    for (size_t l = 0; l < 2; l++) {
        struct json_object *containers = json_at(spec, lists[l], NULL);
        for (size_t i = 0; i < json_len(containers); i++)
            visit_container(tick, json_elem(containers, i), visit, arg);
    }
}

static void collect(struct tick *tick, void *arg, const struct kube_resource *resource,
                    struct json_object *object, const char *key)
{
    struct config_ref **list = arg;
    struct config_ref *ref = add_ref(tick, list, resource, json_str_at(object, key, NULL));

    /* Flagger uses the last reference that it scans; here a reference that is not optional takes
     * precedence. */
    if (!json_bool_at(object, false, "optional", NULL))
        ref->mandatory = true;
}

static bool is_tracked(const struct config_ref *ref)
{
    static const char *const types[] = {"Opaque", "kubernetes.io/basic-auth",
                                        "kubernetes.io/ssh-auth", "kubernetes.io/tls"};
    const char *tracking =
        json_str_at(ref->object, "metadata", "annotations", "flagger.app/config-tracking", NULL);
    const char *type = json_str_at(ref->object, "type", NULL);

    if (!ref->object || (tracking && strncmp(tracking, "disable", strlen("disable")) == 0))
        return false;
    if (ref->resource != &kube_secrets)
        return true;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(type ? type : "Opaque", types[i]) == 0)
            return true;
    }
    return false;
}

static void hash_ref(struct tick *tick, const struct config_ref *ref, struct json_object *configs)
{
    struct json_object *binary = json_at(ref->object, "binaryData", NULL);
    char hash[CONFIG_HASH_TEXT];

    confighash(tick->arena, json_at(ref->object, "data", NULL), hash);
    json_set_str(configs, ref->key, hash);
    if (!binary)
        return;
    confighash(tick->arena, binary, hash);
    json_set_str(configs, arena_printf(tick->arena, "%s%s", ref->key, CONFIGS_BINARY), hash);
}

enum rule_result configs_read(struct tick *tick, struct json_object *pod_spec,
                              struct target_info *info)
{
    struct config_ref *refs = NULL;
    bool known = true;

    if (!tick->settings->config_tracking)
        return RULE_CONTINUE;
    visit_spec(tick, pod_spec, collect, &refs);
    for (struct config_ref *ref = refs; ref; ref = ref->next)
        known =
            need_object(tick, ref->resource, tick->canary->namespace_, ref->name, &ref->object) &&
            known;
    if (!known)
        return RULE_NEEDS_FACTS;

    info->configs = edit_object(tick->arena);
    info->config_refs = refs;
    for (struct config_ref *ref = refs; ref; ref = ref->next) {
        if (!ref->object && ref->mandatory && !info->missing)
            info->missing = arena_printf(tick->arena, "%s %s.%s get query error: not found",
                                         ref->resource == &kube_secrets ? "secret" : "configmap",
                                         ref->name, tick->canary->namespace_);
        ref->tracked = is_tracked(ref);
        if (ref->tracked)
            hash_ref(tick, ref, info->configs);
    }
    return RULE_CONTINUE;
}

void configs_own_copy(struct tick *tick, struct json_object *copy)
{
    struct json_object *metadata = json_sub(copy, "metadata");
    struct json_object *before = json_at(metadata, "ownerReferences", NULL);
    struct json_object *owners = edit_array(tick->arena), *own = edit_owner_reference(tick);
    bool listed = false;

    for (size_t i = 0; i < json_len(before); i++) {
        struct json_object *owner = json_elem(before, i);
        const char *uid = json_str_at(owner, "uid", NULL);
        bool is_own = uid && strcmp(uid, tick->canary->uid) == 0;
        if (!is_own && edit_refers(tick, owner))
            continue; /* its config has been deleted */
        listed |= is_own;
        if (json_bool_at(owner, false, "controller", NULL))
            json_set_bool(own, "controller", false);
        edit_add(owners, owner);
    }
    if (!listed)
        edit_add(owners, own);
    json_set(metadata, "ownerReferences", owners);
}

/* Fields of a config that its primary copy contains. */
static const char *const parts[] = {"data", "binaryData", "type"};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/*
 * True if a patch cannot change `live` into `to`: an immutable config keeps its data and stays
 * immutable, and a Secret keeps its type. The copy is replaced in that case. Running pods keep the
 * data that they have read; if a pod starts at that moment, its node retries it.
 */
static bool must_be_replaced(struct json_object *live, struct json_object *to)
{
    bool holds = json_same(json_at(live, "data", NULL), json_at(to, "data", NULL)) &&
                 json_same(json_at(live, "binaryData", NULL), json_at(to, "binaryData", NULL)) &&
                 json_bool_at(to, false, "immutable", NULL);

    if (json_at(live, "type", NULL) && json_at(to, "type", NULL) &&
        !json_same(json_at(live, "type", NULL), json_at(to, "type", NULL)))
        return true;
    return json_bool_at(live, false, "immutable", NULL) && !holds;
}

static void copy_ref(struct tick *tick, const struct config_ref *ref, const char *name,
                     struct json_object *live)
{
    struct json_object *to =
        live ? json_copy(tick->arena, live) : edit_new(tick, ref->resource, name);
    struct json_object *wanted = edit_object(tick->arena);

    json_set(json_sub(wanted, "metadata"), "labels",
             edit_included(tick, json_at(ref->object, "metadata", "labels", NULL)));
    to = applied_lay(tick->arena, live, to, wanted);
    configs_own_copy(tick, to);
    for (int i = 0; i < PARTS; i++)
        edit_put(tick->arena, to, parts[i], json_at(ref->object, parts[i], NULL));
    edit_put(tick->arena, to, "immutable", json_at(ref->object, "immutable", NULL));
    if (live && must_be_replaced(live, to))
        plan_replace(tick, ref->resource, live, to);
    else if (live)
        plan_update(tick, ref->resource, live, to);
    else
        plan_create(tick, ref->resource, tick->canary->namespace_, to);
}

enum rule_result configs_copy(struct tick *tick, const struct target_info *info)
{
    bool known = true;

    for (int pass = 0; pass < 2 && known; pass++) {
        for (const struct config_ref *ref = info->config_refs; ref; ref = ref->next) {
            const char *name = arena_printf(tick->arena, "%s-primary", ref->name);
            struct json_object *live;
            if (!ref->tracked)
                continue;
            if (!need_object(tick, ref->resource, tick->canary->namespace_, name, &live))
                known = false;
            else if (pass == 1)
                copy_ref(tick, ref, name, live);
        }
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* Flagger does not copy binaryData; while the status is Flagger's, this is not a difference. */
static bool holds_part(struct tick *tick, struct json_object *copy, struct json_object *source,
                       const char *part)
{
    struct json_object *held = json_at(copy, part, NULL);

    if (!held && strcmp(part, "binaryData") == 0 && !tick->canary->status.service_name)
        return true;
    return json_same(held, json_at(source, part, NULL));
}

enum rule_result configs_compare(struct tick *tick, const struct target_info *info, bool *same)
{
    bool known = true;

    *same = true;
    for (const struct config_ref *ref = info->config_refs; ref; ref = ref->next) {
        const char *name = arena_printf(tick->arena, "%s-primary", ref->name);
        struct json_object *copy;
        if (!ref->tracked)
            continue;
        if (!need_object(tick, ref->resource, tick->canary->namespace_, name, &copy)) {
            known = false;
            continue;
        }
        for (int i = 0; i < PARTS; i++)
            *same = *same && copy && holds_part(tick, copy, ref->object, parts[i]);
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

static void rename_one(struct tick *tick, void *arg, const struct kube_resource *resource,
                       struct json_object *object, const char *key)
{
    const struct target_info *info = arg;
    const char *name = json_str_at(object, key, NULL);

    for (const struct config_ref *ref = info->config_refs; ref; ref = ref->next) {
        if (ref->tracked && ref->resource == resource && strcmp(ref->name, name) == 0) {
            json_set_str(object, key, arena_printf(tick->arena, "%s-primary", name));
            return;
        }
    }
}

void configs_rename(struct tick *tick, const struct target_info *info, struct json_object *pod_spec)
{
    visit_spec(tick, pod_spec, rename_one, (void *)info);
}

/* "settings" for "settings-primary"; NULL if it is not a copy. */
static const char *source_name(struct tick *tick, const char *name)
{
    size_t len = strlen(name), tail = strlen(PRIMARY);

    if (len <= tail || strcmp(name + len - tail, PRIMARY) != 0)
        return NULL;
    return arena_printf(tick->arena, "%.*s", (int)(len - tail), name);
}

static void unname_one(struct tick *tick, void *arg, const struct kube_resource *resource,
                       struct json_object *object, const char *key)
{
    const char *source = source_name(tick, json_str_at(object, key, NULL));

    (void)arg;
    (void)resource;
    if (source)
        json_set_str(object, key, source);
}

void configs_unname(struct tick *tick, struct json_object *pod_spec)
{
    visit_spec(tick, pod_spec, unname_one, NULL);
}

enum rule_result configs_edit_copies(struct tick *tick, struct json_object *pod_spec,
                                     void (*edit)(struct tick *tick,
                                                  const struct kube_resource *resource,
                                                  struct json_object *live))
{
    struct config_ref *refs = NULL;
    bool known = true;

    visit_spec(tick, pod_spec, collect, &refs);
    for (const struct config_ref *ref = refs; ref; ref = ref->next) {
        struct json_object *live;
        if (!source_name(tick, ref->name))
            continue;
        if (!need_object(tick, ref->resource, tick->canary->namespace_, ref->name, &live))
            known = false;
        else if (live)
            edit(tick, ref->resource, live);
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

enum rule_result configs_of_primary(struct tick *tick, struct json_object *pod_spec,
                                    struct json_object **out)
{
    struct config_ref *refs = NULL;
    bool known = true;

    *out = NULL;
    if (!tick->settings->config_tracking)
        return RULE_CONTINUE;
    *out = edit_object(tick->arena);
    visit_spec(tick, pod_spec, collect, &refs);
    for (struct config_ref *ref = refs; ref; ref = ref->next) {
        const char *source = source_name(tick, ref->name);
        if (!source)
            continue;
        if (!need_object(tick, ref->resource, tick->canary->namespace_, ref->name, &ref->object)) {
            known = false;
            continue;
        }
        ref->key = arena_printf(tick->arena, "%s/%s",
                                ref->resource == &kube_secrets ? "secret" : "configmap", source);
        if (ref->object)
            hash_ref(tick, ref, *out);
    }
    return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
}

/* If the copy is missing, ref->object is its source; `tracked` then means that there is a copy. */
static bool find_copy(struct tick *tick, struct config_ref *ref, const char *source)
{
    const char *namespace_ = tick->canary->namespace_;

    if (!need_object(tick, ref->resource, namespace_, ref->name, &ref->object))
        return false;
    ref->tracked = ref->object;
    ref->key = arena_printf(tick->arena, "%s/%s",
                            ref->resource == &kube_secrets ? "secret" : "configmap", source);
    return ref->object || need_object(tick, ref->resource, namespace_, source, &ref->object);
}

enum rule_result configs_restore(struct tick *tick, struct json_object *pod_spec,
                                 bool (*is_promoted)(void *arg, struct json_object *configs),
                                 void *arg, const char **lost)
{
    struct json_object *configs = edit_object(tick->arena);
    struct config_ref *refs = NULL;
    bool known = true, gone = false;

    *lost = NULL;
    if (!tick->settings->config_tracking)
        return RULE_CONTINUE;
    visit_spec(tick, pod_spec, collect, &refs);
    for (struct config_ref *ref = refs; ref; ref = ref->next) {
        const char *source = source_name(tick, ref->name);
        ref->tracked = true;
        if (!source)
            continue;
        known = find_copy(tick, ref, source) && known;
        gone |= !ref->tracked;
        if (ref->object)
            hash_ref(tick, ref, configs);
    }
    if (!known || !gone)
        return known ? RULE_CONTINUE : RULE_NEEDS_FACTS;
    bool same = is_promoted(arg, configs);
    for (struct config_ref *ref = refs; ref; ref = ref->next) {
        if (ref->tracked)
            continue;
        if (same && ref->object)
            copy_ref(tick, ref, ref->name, NULL);
        else if (ref->mandatory && !*lost)
            *lost = arena_printf(tick->arena, "%s %s.%s",
                                 ref->resource == &kube_secrets ? "secret" : "configmap", ref->name,
                                 tick->canary->namespace_);
    }
    return RULE_CONTINUE;
}

/* True if the primary, the target, or the copy of a config of the target has this name. */
static bool is_named(const struct config_ref *refs, const struct target_info *info,
                     const struct kube_resource *resource, const char *name)
{
    size_t len = strlen(name) - strlen(PRIMARY);

    for (; refs; refs = refs->next)
        if (refs->resource == resource && strcmp(refs->name, name) == 0)
            return true;
    for (const struct config_ref *ref = info->config_refs; ref; ref = ref->next)
        if (ref->resource == resource &&
            (strcmp(ref->name, name) == 0 ||
             (strlen(ref->name) == len && strncmp(ref->name, name, len) == 0)))
            return true;
    return false;
}

/* True if the copy has no other owner, such as another Canary that reads the same config. */
static bool is_alone(struct tick *tick, struct json_object *copy)
{
    struct json_object *owners = json_at(copy, "metadata", "ownerReferences", NULL);
    const char *uid = json_str_at(json_elem(owners, 0), "uid", NULL);

    return json_len(owners) == 1 && uid && strcmp(uid, tick->canary->uid) == 0 &&
           edit_is_owned(tick, copy);
}

static enum rule_result sweep_kind(struct tick *tick, const struct config_ref *refs,
                                   const struct target_info *info,
                                   const struct kube_resource *resource)
{
    enum rule_result verdict = RULE_CONTINUE;
    struct json_object *list, *copy;

    if (!need_copies(tick, resource, &list))
        return RULE_NEEDS_FACTS;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (!name || !source_name(tick, name) || is_named(refs, info, resource, name))
            continue;
        if (!need_object(tick, resource, tick->canary->namespace_, name, &copy)) {
            verdict = RULE_NEEDS_FACTS;
        } else if (copy && is_alone(tick, copy)) {
            plan_delete(tick, resource, copy);
            plan_why(tick, "no longer referred to");
        }
    }
    return verdict;
}

bool configs_has_copies(struct tick *tick, struct json_object *pod_spec)
{
    struct config_ref *refs = NULL;

    if (!tick->settings->config_tracking || !pod_spec)
        return false;
    visit_spec(tick, pod_spec, collect, &refs);
    for (; refs; refs = refs->next)
        if (source_name(tick, refs->name))
            return true;
    return false;
}

enum rule_result configs_sweep(struct tick *tick, const struct target_info *info, bool has_copies)
{
    struct json_object *spec = json_at(info->primary, "spec", "template", "spec", NULL);
    struct config_ref *refs = NULL;

    if (!tick->settings->config_tracking || !spec || (!info->config_refs && !has_copies))
        return RULE_CONTINUE;
    visit_spec(tick, spec, collect, &refs);
    enum rule_result verdict = sweep_kind(tick, refs, info, &kube_configmaps);
    return sweep_kind(tick, refs, info, &kube_secrets) == RULE_CONTINUE ? verdict
                                                                        : RULE_NEEDS_FACTS;
}
