#include "metric/render.h"

#include <ctype.h>
#include <string.h>

#include "metric/template.h"

enum { QUERY_MAX = 64 * 1024, FUNCTIONS = 8 /* of every query */ };

struct render_model render_model_of(const struct canary *canary, const char *interval,
                                    struct json_object *variables)
{
    return (struct render_model){
        .name = canary->name,
        .namespace_ = canary->namespace_,
        .target = canary->target.name,
        .service = canary->service.name,
        .ingress = canary->ingress.name ? canary->ingress.name : canary->target.name,
        .route = canary->route.name ? canary->route.name : canary->target.name,
        .interval = interval,
        .variables = variables,
    };
}

static const char *plain_word(struct arena *arena, const char *text)
{
    char *plain = arena_strdup(arena, text);

    for (char *at = plain; *at; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_')
            *at = '_';
    }
    return plain;
}

static const char *function_value(struct arena *arena, const struct render_model *model,
                                  const char *value, bool word)
{
    if (!value)
        return "";
    return model->plain_words && word ? plain_word(arena, value) : value;
}

enum err render_query(struct arena *arena, const char *query, const struct render_model *model,
                      const char **out, struct errinfo *ei)
{
    struct template_function functions[] = {
        {"name", function_value(arena, model, model->name, true), NULL},
        {"namespace", function_value(arena, model, model->namespace_, true), NULL},
        {"target", function_value(arena, model, model->target, true), NULL},
        {"service", function_value(arena, model, model->service, true), NULL},
        {"ingress", function_value(arena, model, model->ingress, true), NULL},
        {"route", function_value(arena, model, model->route, false), NULL},
        {"interval", function_value(arena, model, model->interval, false), NULL},
        {"variables", NULL, model->variables},
        {NULL, NULL, NULL}, /* optional: pods, workload */
        {NULL, NULL, NULL},
        {NULL, NULL, NULL},
    };
    struct template_function *more = functions + FUNCTIONS;

    if (model->pods)
        *more++ = (struct template_function){"pods", model->pods, NULL};
    if (model->workload)
        *more = (struct template_function){"workload", model->workload, NULL};

    return template_render(arena, query, functions, QUERY_MAX, model->means, out, ei);
}
