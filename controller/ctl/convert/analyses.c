#include "ctl/convert/parts.h"

#include <ctype.h>
#include <string.h>

/* --- the templates of an analysis */

struct visit {
    struct rollout *r;
    struct json_object *analysis;
    const char *path;
    void (*each)(void *arg, const struct run *run);
    void *arg;
};

static void visit_list(const struct visit *visit, struct json_object *templates, int depth);

static void visit_template(const struct visit *visit, struct json_object *ref, int depth)
{
    struct rollout *r = visit->r;
    bool cluster = json_bool_at(ref, false, "clusterScope", NULL);
    const char *kind = cluster ? "ClusterAnalysisTemplate" : "AnalysisTemplate";
    const char *name = json_str_at(ref, "templateName", NULL);
    struct json_object *found;

    if (!name)
        return;
    found = conversion_find(r->conversion, "argoproj.io", kind, cluster ? "" : r->namespace_, name);
    if (!found) {
        conversion_lose(r->conversion, r->label, visit->path,
                        "%s %s %s: what it checks is not checked here; give its file as well", kind,
                        name,
                        conversion_absent(r->conversion, "argoproj.io", kind, r->namespace_, name));
        return;
    }
    struct json_object *spec = json_at(found, "spec", NULL);
    const char *namespace_ = json_str_at(found, "metadata", "namespace", NULL);
    const struct run run = {.r = r,
                            .analysis = visit->analysis,
                            .path = visit->path,
                            .spec = spec,
                            .name = name,
                            .label = arena_printf(r->arena, "%s %s%s%s", kind,
                                                  namespace_ ? namespace_ : "",
                                                  namespace_ ? "/" : "", name)};
    visit->each(visit->arg, &run);
    if (depth < ANALYSES_DEPTH)
        visit_list(visit, json_at(spec, "templates", NULL), depth + 1);
}

static void visit_list(const struct visit *visit, struct json_object *templates, int depth)
{
    for (size_t i = 0; i < json_len(templates); i++)
        visit_template(visit, json_elem(templates, i), depth);
}

void analyses_each(struct rollout *r, struct json_object *analysis, const char *path,
                   void (*each)(void *arg, const struct run *run), void *arg)
{
    const struct visit visit = {
        .r = r, .analysis = analysis, .path = path, .each = each, .arg = arg};

    /* The older form names one template in the analysis itself. */
    visit_template(&visit, analysis, 0);
    visit_list(&visit, json_at(analysis, "templates", NULL), 0);
}

void analyses_all(struct rollout *r, void (*each)(void *arg, const struct run *run), void *arg)
{
    struct json_object *steps = json_at(r->canary, "steps", NULL);
    struct json_object *background = json_at(r->canary, "analysis", NULL);
    struct json_object *before = json_at(r->green, "prePromotionAnalysis", NULL);

    if (background)
        analyses_each(r, background, "spec.strategy.canary.analysis", each, arg);
    if (before)
        analyses_each(r, before, "spec.strategy.blueGreen.prePromotionAnalysis", each, arg);
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *analysis = json_at(json_elem(steps, i), "analysis", NULL);
        if (analysis)
            analyses_each(r, analysis,
                          arena_printf(r->arena, "spec.strategy.canary.steps[%zu].analysis", i),
                          each, arg);
    }
}

/* --- arguments */

/* metadata.name, metadata.namespace, metadata.labels['KEY'] or .annotations['KEY']. */
static const char *field_of_rollout(const struct run *run, const char *path)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct arena *arena = run->r->arena;

    if (strcmp(path, "metadata.name") == 0)
        return run->r->target;
    if (strcmp(path, "metadata.namespace") == 0)
        return *run->r->namespace_ ? run->r->namespace_ : NULL;
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        const char *head = arena_printf(arena, "metadata.%s[", maps[i]);
        size_t len = strlen(head), end = strlen(path);
        if (strncmp(path, head, len) != 0 || end < len + 3 || path[end - 1] != ']')
            continue;
        return json_str_at(run->r->object, "metadata", maps[i],
                           arena_strndup(arena, path + len + 1, end - len - 3), NULL);
    }
    return NULL;
}

static const char *value_from(const struct run *run, struct json_object *from, const char **why)
{
    const char *path = json_str_at(from, "fieldRef", "fieldPath", NULL);
    const char *text = path ? field_of_rollout(run, path) : NULL;

    if (json_at(from, "podTemplateHashValue", NULL))
        *why = "it was the hash of a pod template: use {{ target }} in the query for the canary's "
               "pods, and {{ target }}-primary for the others";
    else if (json_at(from, "secretKeyRef", NULL))
        *why = "it comes from a Secret: a MetricTemplate takes credentials by "
               "spec.provider.secretRef, from the keys of its provider";
    else if (!text)
        *why = !path ? "it has no value"
               : strcmp(path, "metadata.namespace") == 0
                   ? "the Rollout has no namespace: give it one with -n"
                   : arena_printf(run->r->arena, "%s of the Rollout is not known here", path);
    return text;
}

static struct json_object *argument_in(struct json_object *args, const char *name)
{
    return json_find(args, "name", name, NULL);
}

const char *argument_value(const struct run *run, const char *name, const char **why)
{
    struct json_object *const given[] = {argument_in(json_at(run->analysis, "args", NULL), name),
                                         argument_in(json_at(run->spec, "args", NULL), name)};

    *why = "it has no value";
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        const char *text = value_text(run->r->arena, json_at(given[i], "value", NULL));
        struct json_object *from = json_at(given[i], "valueFrom", NULL);
        if (text)
            return text;
        if (from)
            return value_from(run, from, why);
    }
    return NULL;
}

/* The name of the argument in an action "{{ args.NAME }}" at this place; *end is behind it. NULL if it
 * is another action. */
static const char *action_argument(struct arena *arena, const char *at, const char **end)
{
    const char *close = strstr(at, "}}"), *name = at + 2;

    *end = close ? close + 2 : at + strlen(at);
    name += strspn(name, " \t\n");
    if (!close || strncmp(name, "args.", 5) != 0)
        return NULL;
    name += 5;
    size_t len = (size_t)(close - name);
    while (len > 0 && isspace((unsigned char)name[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
            return NULL;
    return len > 0 ? arena_strndup(arena, name, len) : NULL;
}

const char *arguments_filled(const struct run *run, const char *text, const char **why)
{
    struct arena *arena = run->r->arena;
    const char *out = "", *at, *end;

    for (; text && (at = strstr(text, "{{")); text = end) {
        const char *name = action_argument(arena, at, &end);
        const char *value = name ? argument_value(run, name, why) : NULL;
        if (!name)
            *why = "it has an action that is no argument";
        if (!value)
            return NULL;
        out = arena_printf(arena, "%s%.*s%s", out, (int)(at - text), text, value);
    }
    return text ? arena_printf(arena, "%s%s", out, text) : NULL;
}

/* A name of letters, digits and _, as the language of queries has them. */
static const char *variable_name(struct arena *arena, const char *name)
{
    char *out = arena_strdup(arena, name);

    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return isdigit((unsigned char)*out) ? arena_printf(arena, "_%s", out) : out;
}

const char *arguments_as_variables(const struct run *run, const char *text, const char *path,
                                   struct json_object *variables, bool *unknown)
{
    struct arena *arena = run->r->arena;
    const char *out = "", *at, *end, *why;

    for (; (at = strstr(text, "{{")); text = end) {
        const char *name = action_argument(arena, at, &end);
        const char *value = name ? argument_value(run, name, &why) : NULL;
        if (!name)
            conversion_lose(run->r->conversion, run->label, path,
                            "%s is no argument of the template: it is left out of the query",
                            arena_strndup(arena, at, (size_t)(end - at)));
        else if (!value)
            conversion_lose(run->r->conversion, run->label, path,
                            "argument %s: %s. It is CHANGE-THIS in the Canary, and the check fails "
                            "until you do",
                            name, why);
        *unknown = *unknown || !value;
        if (name)
            json_set_str(variables, variable_name(arena, name), value ? value : "CHANGE-THIS");
        out = arena_printf(arena, "%s%.*s", out, (int)(at - text), text);
        if (name)
            out = arena_printf(arena, "%s{{ variables.%s }}", out, variable_name(arena, name));
    }
    return arena_printf(arena, "%s%s", out, text);
}
