#include "random_edits/edit.h"

#include <stdlib.h>
#include <string.h>

static const char *const whens[] = {
    [WHEN_NOW] = "now", [WHEN_MID] = "mid", [WHEN_LATE] = "late", [WHEN_IDLE] = "idle"};

static const struct edit *edit_named(const char *name)
{
    for (const struct edit *edit = edits; edit->name; edit++)
        if (strcmp(edit->name, name) == 0)
            return edit;
    return NULL;
}

/* The next word; NULL at the end. */
static const char *word(struct arena *arena, const char **text)
{
    *text += strspn(*text, " \t");
    size_t len = strcspn(*text, " \t\n");
    const char *out = len ? arena_strndup(arena, *text, len) : NULL;
    *text += len;
    return out;
}

static bool read_when(const char *text, struct line *out)
{
    const char *plus = text ? strchr(text, '+') : NULL;
    char *end;
    if (!plus)
        return false;
    long ms = strtol(plus + 1, &end, 10);
    if (!plus[1] || *end || ms < 0 || ms > 600000)
        return false;
    out->ms = (int)ms;
    for (size_t i = 0; i < sizeof(whens) / sizeof(whens[0]); i++) {
        out->when = (enum edit_when)i;
        if (strlen(whens[i]) == (size_t)(plus - text) &&
            strncmp(whens[i], text, strlen(whens[i])) == 0)
            return true;
    }
    return false;
}

enum err line_parse(struct arena *arena, const char *text, struct line *out, struct errinfo *ei)
{
    const char *rest = text;
    const char *app = word(arena, &rest), *when = word(arena, &rest), *edit = word(arena, &rest);
    *out = (struct line){.version = word(arena, &rest)};
    if (!app || !(out->app = app_named(app), out->app || strcmp(app, "controller") == 0))
        return err_set(ei, ERR_INVALID, "%s: there is no such app", app ? app : text);
    if (!read_when(when, out))
        return err_set(ei, ERR_INVALID, "%s: expected now+MS, mid+MS, late+MS or idle+MS", text);
    out->edit = edit ? edit_named(edit) : NULL;
    if (!out->edit)
        return err_set(ei, ERR_INVALID, "%s: there is no such edit", text);
    if ((out->edit->kind == EDIT_PUSH) != (out->version != NULL))
        return err_set(ei, ERR_INVALID, "%s: a push, and nothing else, has a version", text);
    return ERR_OK;
}

const char *line_text(struct arena *arena, const struct line *line)
{
    return arena_printf(arena, "%s %s+%d %s%s%s", line->app ? line->app->name : "controller",
                        whens[line->when], line->ms, line->edit->name, line->version ? " " : "",
                        line->version ? line->version : "");
}

/* --- requests */

/* The app's own object of this kind and name. */
static struct json_object *base(struct arena *arena, const struct app *app, const struct edit *edit,
                                const char *hooks)
{
    if (edit->text)
        return user_json(arena, edit->text, app->name, hooks);
    if (kube_resource_same(edit->resource, &user_canaries))
        return app_canary(arena, app, hooks);
    if (kube_resource_same(edit->resource, &kube_configmaps))
        return app_config_map(arena, app);
    if (kube_resource_same(edit->resource, &kube_secrets))
        return app_secret(arena, app);
    if (kube_resource_same(edit->resource, &kube_hpas))
        return app_scaler(arena, app);
    return app_deployment(arena, app, user_name(arena, edit->object, app->name), "v1");
}

static struct json_object *push(struct arena *arena, const struct app *app, const char *version)
{
    struct json_object *body = json_own(arena, json_object_new_object());
    struct json_object *list = json_own(arena, json_object_new_array());
    json_object_array_add(list, json_object_get(app_container(arena, app, version)));
    json_set(json_sub(json_sub(json_sub(body, "spec"), "template"), "spec"), "containers", list);
    return body;
}

/* As a policy would have it: this object may not be changed by the controller. Reads go on. */
static void refuse_writes(struct arena *arena, const struct line *line, struct act *act)
{
    const struct edit *edit = line->edit;
    act->raw = "/sandbox/faults";
    if (strcmp(edit->text, "none") == 0) {
        act->verb = KUBE_DELETE;
        act->query = arena_printf(arena, "path=/%s", line->app->name);
        return;
    }
    act->verb = KUBE_CREATE;
    act->body = user_json(arena,
                          arena_printf(arena,
                                       "{'faults':[{'verb':'patch','path':'/%s/%s$',"
                                       "'agent':'flagger-controller','count':1000000000,"
                                       "'status':%s}]}",
                                       edit->resource->plural, act->name, edit->text),
                          NULL, NULL);
    struct json_object *rules = json_at(act->body, "faults", NULL);
    struct json_object *other = json_copy(arena, json_elem(rules, 0));
    json_set_str(other, "verb", "update");
    json_object_array_add(rules, json_object_get(other));
}

/* What is made by hand is the whole of it: keys that are not in the base go. */
static struct json_object *whole_spec(struct arena *arena, struct json_object *canary)
{
    struct json_object *patch = user_json(arena, "[{'op':'replace','path':'/spec'}]", NULL, NULL);
    json_set(json_elem(patch, 0), "value", json_at(canary, "spec", NULL));
    return patch;
}

size_t edit_acts(struct arena *arena, const struct line *line, const char *hooks,
                 struct act acts[ACTS_MAX])
{
    const struct edit *edit = line->edit;
    if (!line->app || edit->kind == EDIT_HOOKS || edit->kind == EDIT_KILL ||
        edit->kind == EDIT_UNREADY)
        return 0;
    const char *name = user_name(arena, edit->object, line->app->name);
    struct act act = {.resource = edit->resource, .name = name};
    switch (edit->kind) {
    case EDIT_PUSH:
        act.verb = KUBE_MERGE_PATCH;
        act.body = push(arena, line->app, line->version);
        break;
    case EDIT_PATCH:
    case EDIT_JSON_PATCH:
        act.verb = edit->kind == EDIT_PATCH ? KUBE_MERGE_PATCH : KUBE_JSON_PATCH;
        act.body = user_json(arena, edit->text, line->app->name, hooks);
        break;
    case EDIT_DELETE:
        act.verb = KUBE_DELETE;
        break;
    case EDIT_POLICY:
        refuse_writes(arena, line, &act);
        break;
    default:
        act.verb = KUBE_CREATE;
        act.body = base(arena, line->app, edit, hooks);
        break;
    }
    size_t count = 0;
    if (edit->kind == EDIT_RECREATE)
        acts[count++] = (struct act){.verb = KUBE_DELETE, .resource = edit->resource, .name = name};
    if (edit->kind == EDIT_PUSH && line->app->hashed)
        acts[count++] = (struct act){.verb = KUBE_CREATE,
                                     .resource = &kube_configmaps,
                                     .body = app_hashed_map(arena, line->app, line->version)};
    acts[count++] = act;
    if (edit->kind == EDIT_RESTORE)
        acts[count++] = (struct act){.verb = KUBE_JSON_PATCH,
                                     .resource = edit->resource,
                                     .name = name,
                                     .body = whole_spec(arena, act.body)};
    return count;
}
