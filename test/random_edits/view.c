#include "random_edits/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proto/spechash.h"

#define REFUSED "The API server refuses a write"

enum { KINDS = 8 };

struct shelf {
    struct view *view;
    const struct kube_resource *resource;
    struct watch *watch;
    struct json_object **items;
    size_t count, capacity;
};

struct view {
    struct shelf shelves[KINDS];
    struct watch *events;
    struct warning *warnings;
    size_t n_warnings;
    void (*changed)(void *arg, const struct kube_resource *resource, struct json_object *before,
                    struct json_object *now);
    void *changed_arg;
};

static const char *name_of(struct json_object *object)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);
    return name ? name : "";
}

static size_t find(const struct shelf *shelf, const char *name)
{
    size_t i = 0;
    while (i < shelf->count && strcmp(name_of(shelf->items[i]), name) != 0)
        i++;
    return i;
}

static void report(const struct shelf *shelf, size_t at, struct json_object *now)
{
    const struct view *view = shelf->view;
    if (view->changed)
        view->changed(view->changed_arg, shelf->resource,
                      at < shelf->count ? shelf->items[at] : NULL, now);
}

static void put(struct shelf *shelf, struct json_object *object)
{
    size_t at = find(shelf, name_of(object));
    report(shelf, at, object);
    if (at < shelf->count) {
        json_object_put(shelf->items[at]);
    } else if (shelf->count++ == shelf->capacity) {
        shelf->capacity = shelf->capacity ? shelf->capacity * 2 : 16;
        shelf->items = heap_grow(shelf->items, shelf->capacity * sizeof(struct json_object *));
    }
    shelf->items[at] = json_object_get(object);
}

static void drop(struct shelf *shelf, struct json_object *object)
{
    size_t at = find(shelf, name_of(object));
    if (at == shelf->count)
        return;
    report(shelf, at, NULL);
    json_object_put(shelf->items[at]);
    shelf->items[at] = shelf->items[--shelf->count];
}

static void on_object(void *arg, enum watch_event event, struct json_object *object)
{
    struct shelf *shelf = arg;
    if (event == WATCH_PUT)
        put(shelf, object);
    else if (event == WATCH_GONE)
        drop(shelf, object);
}

static struct warning *warning_of(struct view *view, const char *canary)
{
    for (size_t i = 0; i < view->n_warnings; i++)
        if (strcmp(view->warnings[i].canary, canary) == 0)
            return &view->warnings[i];
    view->warnings = heap_grow(view->warnings, (view->n_warnings + 1) * sizeof(*view->warnings));
    struct warning *warning = &view->warnings[view->n_warnings++];
    *warning = (struct warning){.canary = heap_strdup(canary)};
    return warning;
}

/* The one with this message, or in place of the one that was told longest ago. */
static struct told *told_of(struct warning *warning, const char *message)
{
    struct told *oldest = &warning->told[0];
    for (size_t i = 0; i < WARNING_KEPT; i++) {
        struct told *told = &warning->told[i];
        if (strncmp(told->message, message, MESSAGE_KEPT - 1) == 0)
            return told;
        if (told->at_ms[(told->count + TOLD_MAX - 1) % TOLD_MAX] <
            oldest->at_ms[(oldest->count + TOLD_MAX - 1) % TOLD_MAX])
            oldest = told;
    }
    *oldest = (struct told){0};
    snprintf(oldest->message, MESSAGE_KEPT, "%s", message);
    return oldest;
}

/* A repetition is another event of the same text, or the same one with a greater count. */
static void count_told(struct warning *warning, const char *message, int64_t count)
{
    if (strncmp(message, REFUSED, strlen(REFUSED)) != 0)
        return; /* a failed check is told each time, as Flagger does */
    struct told *told = told_of(warning, message);
    int64_t more = count > told->seen ? count - told->seen : 1;
    told->seen = count;
    for (int64_t i = 0; i < more && i < TOLD_MAX; i++)
        told->at_ms[told->count++ % TOLD_MAX] = warning->at_ms;
}

void view_event(struct view *view, struct json_object *object, int64_t now_ms)
{
    const char *type = json_str_at(object, "type", NULL);
    const char *about = json_str_at(object, "involvedObject", "name", NULL);
    const char *message = json_str_at(object, "message", NULL);
    if (!type || !about || !message)
        return;
    struct warning *warning = warning_of(view, about);
    warning->last = strcmp(type, "Warning") == 0;
    if (!warning->last)
        return;
    warning->at_ms = now_ms;
    count_told(warning, message, json_int_at(object, 1, "count", NULL));
    snprintf(warning->message, sizeof(warning->message), "%s", message);
}

static void on_event(void *arg, enum watch_event event, struct json_object *object)
{
    if (event == WATCH_PUT)
        view_event(arg, object, clock_monotonic_ms());
}

struct view *view_new(struct loop *loop, struct kube_client *kube)
{
    const struct kube_resource *const kinds[KINDS] = {
        &user_canaries, &kube_deployments, &kube_services, &user_endpoints,
        &user_routes,   &user_pods,        &kube_hpas,     &kube_configmaps};
    struct view *view = heap_alloc(sizeof(*view));
    *view = (struct view){0};
    for (int i = 0; i < KINDS; i++) {
        view->shelves[i].view = view;
        view->shelves[i].resource = kinds[i];
        if (!kube)
            continue;
        view->shelves[i].watch = watch_new(
            loop, kube, &(struct watch_spec){.resource = kinds[i], .namespace_ = USER_NAMESPACE},
            on_object, &view->shelves[i]);
    }
    if (!kube)
        return view;
    view->events = watch_new(
        loop, kube, &(struct watch_spec){.resource = &kube_events, .namespace_ = USER_NAMESPACE},
        on_event, view);
    return view;
}

void view_free(struct view *view)
{
    if (!view)
        return;
    for (int i = 0; i < KINDS; i++) {
        struct shelf *shelf = &view->shelves[i];
        watch_free(shelf->watch);
        for (size_t k = 0; k < shelf->count; k++)
            json_object_put(shelf->items[k]);
        free(shelf->items);
    }
    watch_free(view->events);
    for (size_t i = 0; i < view->n_warnings; i++)
        free(view->warnings[i].canary);
    free(view->warnings);
    free(view);
}

bool view_synced(const struct view *view)
{
    for (int i = 0; i < KINDS; i++)
        if (!watch_synced(view->shelves[i].watch))
            return false;
    return true;
}

static struct shelf *shelf_of(const struct view *view, const struct kube_resource *resource)
{
    for (int i = 0; i < KINDS; i++)
        if (kube_resource_same(view->shelves[i].resource, resource))
            return (struct shelf *)&view->shelves[i];
    return NULL;
}

void view_put(struct view *view, const struct kube_resource *resource, struct json_object *object,
              bool gone)
{
    struct shelf *shelf = shelf_of(view, resource);
    if (gone)
        drop(shelf, object);
    else
        put(shelf, object);
}

void view_on_change(struct view *view,
                    void (*changed)(void *arg, const struct kube_resource *resource,
                                    struct json_object *before, struct json_object *now),
                    void *arg)
{
    view->changed = changed;
    view->changed_arg = arg;
}

struct json_object *view_get(const struct view *view, const struct kube_resource *resource,
                             const char *name)
{
    const struct shelf *shelf = shelf_of(view, resource);
    size_t at = shelf ? find(shelf, name) : 0;
    return shelf && at < shelf->count ? shelf->items[at] : NULL;
}

struct json_object *const *view_list(const struct view *view, const struct kube_resource *resource,
                                     size_t *count)
{
    const struct shelf *shelf = shelf_of(view, resource);
    *count = shelf->count;
    return shelf->items;
}

size_t view_ready(const struct view *view, const char *service)
{
    struct json_object *subsets =
        json_at(view_get(view, &user_endpoints, service), "subsets", NULL);
    size_t count = 0;
    for (size_t i = 0; i < json_len(subsets); i++)
        count += json_len(json_at(json_elem(subsets, i), "addresses", NULL));
    return count;
}

bool view_pod_is_ready(struct json_object *pod)
{
    struct json_object *conditions = json_at(pod, "status", "conditions", NULL);
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        if (type && strcmp(type, "Ready") == 0)
            return status && strcmp(status, "True") == 0;
    }
    return false;
}

/* A ReplicaSet has the Deployment's name and the hash of its template. */
const char *view_pod_owner(struct arena *arena, struct json_object *pod)
{
    struct json_object *owners = json_at(pod, "metadata", "ownerReferences", NULL);
    const char *set = json_str_at(json_elem(owners, 0), "name", NULL);
    const char *kind = json_str_at(json_elem(owners, 0), "kind", NULL);
    const char *hash = json_str_at(pod, "metadata", "labels", "pod-template-hash", NULL);
    if (set && kind && strcmp(kind, "ReplicaSet") != 0)
        return set;
    if (!set || !hash || strlen(set) < strlen(hash) + 1)
        return "";
    return arena_strndup(arena, set, strlen(set) - strlen(hash) - 1);
}

static bool has_labels(struct json_object *pod, struct json_object *labels)
{
    struct json_object *has = json_at(pod, "metadata", "labels", NULL);
    json_object_object_foreach(labels, key, value)
    {
        if (!json_same(json_at(has, key, NULL), value))
            return false;
    }
    return true;
}

bool view_selects(struct json_object *selector, struct json_object *pod)
{
    return !json_at(pod, "metadata", "deletionTimestamp", NULL) && has_labels(pod, selector);
}

size_t view_pods(const struct view *view, struct json_object *labels, bool ready)
{
    size_t all, count = 0;
    struct json_object *const *pods = view_list(view, &user_pods, &all);
    for (size_t i = 0; labels && i < all; i++)
        count += view_selects(labels, pods[i]) && (!ready || view_pod_is_ready(pods[i]));
    return count;
}

/* The row of managedFields that differs is that of the writer. */
const char *view_writer(struct json_object *before, struct json_object *now)
{
    struct json_object *old = json_at(before, "metadata", "managedFields", NULL);
    struct json_object *rows = json_at(now, "metadata", "managedFields", NULL);
    const char *writer = NULL;
    for (size_t i = 0; i < json_len(rows); i++) {
        bool same = false;
        for (size_t k = 0; k < json_len(old) && !same; k++)
            same = json_same(json_elem(rows, i), json_elem(old, k));
        if (!same && writer)
            return NULL;
        if (!same)
            writer = json_str_at(json_elem(rows, i), "manager", NULL);
    }
    return writer;
}

const char *view_revision(struct arena *arena, const struct view *view, const char *name)
{
    static const char *const running[] = {"Progressing", "WaitingPromotion", "Promoting",
                                          "Finalising"};
    struct json_object *canary = view_get(view, &user_canaries, name);
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    const char *applied = json_str_at(canary, "status", "lastAppliedSpec", NULL);
    const char *target = json_str_at(canary, "spec", "targetRef", "name", NULL);
    struct errinfo ei;
    for (size_t i = 0; phase && applied && *applied && i < sizeof(running) / sizeof(running[0]);
         i++)
        if (strcmp(phase, running[i]) == 0)
            return applied;
    char *hash = arena_alloc(arena, SPECHASH_TEXT);
    struct json_object *template =
        target ? json_at(view_get(view, &kube_deployments, target), "spec", "template", NULL)
               : NULL;
    if (!template || spechash_pod_template(arena, template, hash, &ei) != ERR_OK)
        return NULL;
    return hash;
}

const struct warning *view_warning(const struct view *view, const char *canary)
{
    for (size_t i = 0; i < view->n_warnings; i++)
        if (strcmp(view->warnings[i].canary, canary) == 0)
            return &view->warnings[i];
    return NULL;
}
