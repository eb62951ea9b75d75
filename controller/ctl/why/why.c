#include "ctl/why/why.h"

#include <string.h>

#include "ctl/why/parts.h"

static const struct why_situation *const tables[] = {
    why_control, why_spec, why_verdicts, why_objects, why_gates, why_pods, why_checks, why_phases};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

const char *const *why_situations(struct arena *arena)
{
    enum { MOST = 64 };
    const char **names = arena_array(arena, MOST, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; i < TABLES; i++)
        for (const struct why_situation *row = tables[i]; row->name && n < MOST - 1; row++)
            names[n++] = row->name;
    return names;
}

void why_of(struct arena *arena, const char *program, const struct facts *facts,
            struct why_answer *out)
{
    struct why w = {.arena = arena,
                    .program = program,
                    .facts = facts,
                    .spec = json_at(facts->canary, "spec", NULL),
                    .status = json_at(facts->canary, "status", NULL),
                    .name = why_text(json_str_at(facts->canary, "metadata", "name", NULL)),
                    .namespace_ = json_str_at(facts->canary, "metadata", "namespace", NULL),
                    .out = out};

    if (!w.namespace_)
        w.namespace_ = "default";
    w.phase = phase_parse(json_str_at(w.status, "phase", NULL));
    *out = (struct why_answer){.situation = "unknown", .text = ""};
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct why_situation *row = tables[i]; row->name; row++) {
            if (!row->holds(&w))
                continue;
            out->situation = row->name;
            return;
        }
    }
}

const char *why_text(const char *text)
{
    return text ? text : "";
}

bool why_is(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

bool why_say(struct why *w, const char *next, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    w->out->text = arena_vprintf(w->arena, fmt, args);
    va_end(args);
    w->out->next = next;
    return true;
}

const char *why_kubectl(struct why *w, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(w->arena, fmt, args);
    va_end(args);
    return arena_printf(w->arena, "kubectl -n %s %s", w->namespace_, text);
}

const char *why_ctl(struct why *w, const char *verb)
{
    return arena_printf(w->arena, "%s %s %s -n %s", w->program, verb, w->name, w->namespace_);
}

struct json_object *why_condition(const struct why *w, const char *type, const char *status)
{
    struct json_object *condition = glance_condition(w->facts->canary, type);

    return why_is(json_str_at(condition, "status", NULL), status) ? condition : NULL;
}

const char *why_message(struct why *w, struct json_object *condition)
{
    const char *text = print_clean(w->arena, json_str_at(condition, "message", NULL));
    size_t len = strlen(text);

    return len > 0 && text[len - 1] == '.' ? arena_strndup(w->arena, text, len - 1) : text;
}

const char *why_since(struct why *w, struct json_object *condition)
{
    return print_age(w->arena, json_str_at(condition, "lastTransitionTime", NULL),
                     w->facts->now_ms);
}

bool why_under_way(const struct why *w)
{
    return w->phase != PHASE_Initialized && w->phase != PHASE_Succeeded &&
           w->phase != PHASE_Failed && w->phase != PHASE_NONE;
}
