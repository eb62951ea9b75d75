#include "random_edits/judge_parts.h"

#include <stdarg.h>
#include <string.h>

struct judge *judge_new(struct arena *arena, const struct view *view, const struct app *control)
{
    struct judge *judge = ARENA_NEW(arena, struct judge);
    *judge = (struct judge){.arena = arena, .view = view, .control = control};
    return judge;
}

void judge_add(struct judge *judge, const struct app *app)
{
    if (judge->n_wards < APPS_MAX)
        judge->wards[judge->n_wards++] = (struct ward){.app = app};
}

struct ward *judge_ward(const struct judge *judge, const struct app *app)
{
    for (size_t i = 0; i < judge->n_wards; i++)
        if (judge->wards[i].app == app)
            return (struct ward *)&judge->wards[i];
    return NULL;
}

/* For whoever looks into it. */
static struct json_object *state_of(const struct judge *judge, const struct app *app)
{
    struct json_object *out = json_own(judge->arena, json_object_new_object());
    const char *primary = user_name(judge->arena, "NAME-primary", app->name);
    json_set(out, "canary",
             json_copy(judge->arena, view_get(judge->view, &user_canaries, app->name)));
    json_set(out, "route", json_copy(judge->arena, view_get(judge->view, &user_routes, app->name)));
    json_set(out, "apex",
             json_copy(judge->arena, view_get(judge->view, &kube_services, app->name)));
    json_set(out, "target",
             json_copy(judge->arena, view_get(judge->view, &kube_deployments, app->name)));
    json_set(out, "primary",
             json_copy(judge->arena, view_get(judge->view, &kube_deployments, primary)));
    return out;
}

void judge_break(struct judge *judge, const struct app *app, const char *kind, const char *fmt, ...)
{
    struct ward *ward = judge_ward(judge, app);
    va_list args;
    if ((ward && ward->broken) || judge->n_violations == JUDGE_MAX)
        return;
    va_start(args, fmt);
    judge->violations[judge->n_violations++] =
        (struct violation){.app = app,
                           .kind = kind,
                           .text = arena_vprintf(judge->arena, fmt, args),
                           .edits = judge->edits_made,
                           .moment = judge->moment};
    va_end(args);
    if (!ward)
        return;
    ward->broken = true;
    judge->violations[judge->n_violations - 1].state = state_of(judge, app);
}

struct json_object *judge_object(const struct judge *judge, const struct kube_resource *kind,
                                 const char *pattern, const struct app *app)
{
    return view_get(judge->view, kind, user_name(judge->arena, pattern, app->name));
}

struct json_object *judge_rules(const struct judge *judge, const struct app *app)
{
    return json_at(view_get(judge->view, &user_routes, app->name), "spec", "rules", NULL);
}

/* The one that has no lease waits for a while before it takes a Canary over from one that had. */
bool judge_is_driven(const struct judge *judge, struct json_object *canary)
{
    const char *driver = json_str_at(canary, "status", "controller", NULL);
    return canary && judge->controller && (judge->leads || !driver || !*driver);
}
