/*
 * Text with actions between "{{" and "}}", rendered like Go's text/template without data: the
 * language of queries in MetricTemplates.
 *
 * Supported: text, trim marks `{{-` and `-}}`, comments, pipelines, variables, if, with, range,
 * else, break and continue; the functions and or not eq ne lt le gt ge len index slice print printf
 * println, and those of the caller. Not supported: define, block, template, call, html, js,
 * urlquery, complex numbers, digits with '_', and verbs of printf that show a type. Unsupported
 * syntax, and errors that Go prints into the text ("%!d(string=x)"), are errors with their
 * position.
 */
#ifndef METRIC_TEMPLATE_H
#define METRIC_TEMPLATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "proto/canary.h"

/* A function without arguments that returns a string or a map of strings. */
struct template_function {
    const char *name;        /* NULL ends the list */
    const char *text;        /* NULL: a map */
    struct json_object *map; /* object of strings; NULL: an empty one */
};

/* The rest of a tick's budget for all its templates: steps, and bytes of their texts and
 * output. */
struct template_budget {
    int64_t steps, bytes;
};
enum { TEMPLATE_TICK_STEPS = 200 * 1000, TEMPLATE_TICK_BYTES = 4 * 1024 * 1024 };

/* Cache of parsed templates, keyed by their text. Its size is limited; the least recently used
 * template of the owner that has the most is dropped first. */
struct template_kept;
struct template_kept *template_kept_new(size_t max_bytes);
void template_kept_free(struct template_kept *kept); /* NULL is allowed */
/* Number of cached trees, for tests and /debug. */
size_t template_kept_count(const struct template_kept *kept);

/* Context of a template; all may be NULL. */
struct template_means {
    struct template_budget *budget;
    struct template_kept *kept;
    const char *owner; /* owner of cached trees, a namespace */
};

/*
 * means may be NULL. *out is owned by the arena and has at most `max` bytes. ERR_INVALID:
 * "template:LINE:COLUMN: mistake"; LINE and COLUMN start at 1. The time is limited for every
 * template.
 */
enum err template_render(struct arena *arena, const char *text,
                         const struct template_function *functions, size_t max,
                         const struct template_means *means, const char **out,
                         struct errinfo *ei) MUST_USE;

/*
 * --- Query templates (metric/METRICS.md): Go templates with the functions name, namespace, target,
 * service, ingress, route and interval, and the map `variables`. A missing variable is an error in
 * `variables.KEY`, but empty with `index`, as in Flagger.
 */

struct render_model {
    const char *name, *namespace_, *target, *service, *ingress, *route, *interval;
    const char *
        /* Regular expression for the canary's pods, for the families' `{{ pods }}`; NULL in users'
         * queries, which do not have that function. */
        pods;
    const char *workload;               /* of the side that is asked about; NULL: not known */
    struct json_object *variables;      /* object of strings or NULL */
    const struct template_means *means; /* NULL if none */
    bool plain_words; /* every non-word character of the names becomes '_' (Skipper) */
};

struct render_model render_model_of(const struct canary *canary, const char *interval,
                                    struct json_object *variables);
/* The query, owned by the arena, at most 64 KiB. ERR_INVALID names the part of the template that
 * cannot be rendered. */
enum err render_query(struct arena *arena, const char *query, const struct render_model *model,
                      const char **out, struct errinfo *ei) MUST_USE;

#endif
