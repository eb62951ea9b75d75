/*
 * Text with actions between "{{" and "}}", as Go's text/template renders it over no data: what the
 * queries of MetricTemplates are written in.
 *
 * There are: text, trim marks `{{-` and `-}}`, comments, pipelines, variables, if, with, range,
 * else, break and continue; the functions and or not eq ne lt le gt ge len index slice print
 * printf println, and those of the caller. There are not: define, block, template, call, html, js,
 * urlquery, complex numbers, digits with '_', and verbs of printf that would show a type. What is
 * not there, and what Go would print as an error in the text ("%!d(string=x)"), is an error with
 * its place.
 */
#ifndef METRIC_TEMPLATE_H
#define METRIC_TEMPLATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"

/* A function without arguments that gives a text, or a map of texts. */
struct template_function {
    const char *name;        /* NULL ends the list */
    const char *text;        /* NULL: a map */
    struct json_object *map; /* object of strings; NULL: an empty one */
};

/* The rest of a tick's budget for all its templates: steps, and bytes of their texts and of what they
 * render to. */
struct template_budget {
    int64_t steps, bytes;
};
enum { TEMPLATE_TICK_STEPS = 200 * 1000, TEMPLATE_TICK_BYTES = 4 * 1024 * 1024 };

/* Trees of templates by their text, so that each version of one is parsed once. They are bounded;
 * of the owner that has most the one that was used last the longest ago goes first. */
struct template_kept;
struct template_kept *template_kept_new(size_t max_bytes);
void template_kept_free(struct template_kept *kept); /* NULL is allowed */
/* How many there are, for tests and for people. */
size_t template_kept_count(const struct template_kept *kept);

/* With what a template is rendered; all NULL: by itself. */
struct template_means {
    struct template_budget *budget;
    struct template_kept *kept;
    const char *owner; /* of what is kept, a namespace */
};

/*
 * means NULL: none. *out is owned by the arena and has at most `max` bytes. ERR_INVALID: "template:LINE:COLUMN: what
 * is wrong"; LINE and COLUMN begin with 1. Ends soon, whatever the template says.
 */
enum err template_render(struct arena *arena, const char *text,
                         const struct template_function *functions, size_t max,
                         const struct template_means *means, const char **out,
                         struct errinfo *ei) MUST_USE;

#endif
