/* The table of edits: the rows of test/random_edits/edits.yaml, which the build puts into the program. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_edits/edit.h"
#include "test/rows.h"

enum { EDITS_MAX = 200 };

/* Made by the build. */
extern const char edits_yaml[];
extern const size_t edits_yaml_len;

struct edit edits[EDITS_MAX + 1];

static const struct row_column columns[] = {
    ROW_TEXT(struct edit, name),     ROW_TEXT(struct edit, text), ROW_TEXT(struct edit, harm),
    ROW_NUMBER(struct edit, weight), ROW_FLAG(struct edit, mid),  ROW_FLAG(struct edit, unjudged),
};

static const char *const kinds[] = {
    [EDIT_PUSH] = "push",       [EDIT_PATCH] = "patch",   [EDIT_JSON_PATCH] = "json-patch",
    [EDIT_DELETE] = "delete",   [EDIT_CREATE] = "create", [EDIT_RECREATE] = "recreate",
    [EDIT_RESTORE] = "restore", [EDIT_HOOKS] = "hooks",   [EDIT_KILL] = "kill",
    [EDIT_UNREADY] = "unready", [EDIT_POLICY] = "policy",
};
static const char *const needs[] = {[EDIT_ANY] = "any",
                                    [EDIT_GATEWAY] = "gateway",
                                    [EDIT_CONFIGS] = "configs",
                                    [EDIT_SCALER] = "scaler",
                                    [EDIT_UNSCALED] = "unscaled",
                                    [EDIT_HOOKED] = "hooks",
                                    [EDIT_CONTROLLER] = "controller"};
static const struct kube_resource *const resources[] = {
    &user_canaries, &user_requests, &user_routes, &kube_deployments, &kube_configmaps,
    &kube_secrets,  &kube_services, &kube_hpas,   &user_budgets,
};
#define COUNT(list) ((int)(sizeof(list) / sizeof((list)[0])))

static _Noreturn void refuse(const struct edit *edit, const char *what)
{
    fprintf(stderr, "flagger-random-edits: edits.yaml: %s: \"%s\" is not known\n", edit->name,
            what);
    exit(2);
}

static int find(const struct edit *edit, const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    refuse(edit, name);
}

/* "services/NAME-primary" */
static void read_object(struct edit *edit, const char *of)
{
    size_t len = strcspn(of, "/");
    int i = 0;

    while (i < COUNT(resources) &&
           (strlen(resources[i]->plural) != len || strncmp(resources[i]->plural, of, len) != 0))
        i++;
    if (i == COUNT(resources) || of[len] != '/')
        refuse(edit, of);
    edit->resource = resources[i];
    edit->object = of + len + 1;
}

static void read_field(struct arena *arena, struct edit *edit, const char *key,
                       struct json_object *value)
{
    const char *text = json_object_get_string(value);

    if (strcmp(key, "spec") == 0) {
        edit->kind = EDIT_PATCH;
        read_object(edit, "canaries/NAME");
        edit->text = arena_printf(arena, "{\"spec\":%s}", json_text(arena, value));
    } else if (strcmp(key, "kind") == 0) {
        edit->kind = (enum edit_kind)find(edit, kinds, COUNT(kinds), text);
    } else if (strcmp(key, "needs") == 0) {
        edit->needs = (enum edit_needs)find(edit, needs, COUNT(needs), text);
    } else if (strcmp(key, "of") == 0) {
        read_object(edit, text);
    } else if (!row_set(arena, columns, (size_t)COUNT(columns), edit, key, value)) {
        refuse(edit, key);
    }
}

void edits_read(struct arena *arena)
{
    struct json_object *rows =
        json_elem(rows_parse(arena, "edits.yaml", edits_yaml, edits_yaml_len), 0);

    assert(json_len(rows) > 0 && json_len(rows) <= EDITS_MAX);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i);
        edits[i] = (struct edit){.name = json_str_at(row, "name", NULL)};
        json_object_object_foreach(row, key, value)
        {
            read_field(arena, &edits[i], key, value);
        }
    }
    edits[json_len(rows)] = (struct edit){0};
}
