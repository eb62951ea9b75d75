#include "edits/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { KINDS = 5 };

struct shelf {
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

static void put(struct shelf *shelf, struct json_object *object)
{
    size_t at = find(shelf, name_of(object));
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

static void on_event(void *arg, enum watch_event event, struct json_object *object)
{
    struct view *view = arg;
    const char *type = json_str_at(object, "type", NULL);
    const char *about = json_str_at(object, "involvedObject", "name", NULL);
    const char *message = json_str_at(object, "message", NULL);
    if (event != WATCH_PUT || !type || !about || !message)
        return;
    struct warning *warning = warning_of(view, about);
    warning->last = strcmp(type, "Warning") == 0;
    if (!warning->last)
        return;
    warning->at_ms = clock_monotonic_ms();
    snprintf(warning->message, sizeof(warning->message), "%s", message);
}

struct view *view_new(struct loop *loop, struct kube_client *kube)
{
    const struct kube_resource *const kinds[KINDS] = {
        &user_canaries, &kube_deployments, &kube_services, &user_endpoints, &user_routes};
    struct view *view = heap_alloc(sizeof(*view));
    *view = (struct view){0};
    for (int i = 0; i < KINDS; i++) {
        view->shelves[i].resource = kinds[i];
        view->shelves[i].watch = watch_new(
            loop, kube, &(struct watch_spec){.resource = kinds[i], .namespace_ = USER_NAMESPACE},
            on_object, &view->shelves[i]);
    }
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

struct json_object *view_get(const struct view *view, const struct kube_resource *resource,
                             const char *name)
{
    for (int i = 0; i < KINDS; i++) {
        const struct shelf *shelf = &view->shelves[i];
        if (!kube_resource_same(shelf->resource, resource))
            continue;
        size_t at = find(shelf, name);
        return at < shelf->count ? shelf->items[at] : NULL;
    }
    return NULL;
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

const struct warning *view_warning(const struct view *view, const char *canary)
{
    for (size_t i = 0; i < view->n_warnings; i++)
        if (strcmp(view->warnings[i].canary, canary) == 0)
            return &view->warnings[i];
    return NULL;
}
