#include "ctl/why/why.h"

#include "ctl/why/parts.h"

static const struct why_situation *const tables[] = {
    why_control, why_spec, why_objects, why_gates, why_pods, why_checks, why_phases};
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
