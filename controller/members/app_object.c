/* The object of an Application, and what it is called. */
#include <string.h>

#include "members/app_parts.h"

const char *app_namespace(const struct app *app)
{
    return app->namespace_;
}

const char *app_name(const struct app *app)
{
    return app->name;
}

const char *app_label(const struct app *app)
{
    return app->label;
}

struct json_object *app_tree(const struct app *app, struct arena *arena)
{
    struct json_object *tree;

    (void)desk_app(app->hub->desk, arena, app->namespace_, app->name, &tree);
    return tree;
}

bool app_has_finalizer(struct json_object *tree, const char *name)
{
    struct json_object *list = json_at(tree, "metadata", "finalizers", NULL);

    for (size_t i = 0; i < json_len(list); i++)
        if (strcmp(json_object_get_string(json_elem(list, i)), name) == 0)
            return true;
    return false;
}

void app_event(const struct app *app, const char *type, const char *reason, const char *text)
{
    struct arena *arena = arena_new();
    const struct event_object object = {.api_version = kube_api_version(arena, &fleet_applications),
                                        .kind = fleet_applications.kind,
                                        .namespace_ = app->namespace_,
                                        .name = app->name,
                                        .uid = app->uid,
                                        .resource_version = ""};

    if (app->hub->context.events)
        event_record(app->hub->context.events, &object, type, reason, text);
    arena_free(arena);
}
