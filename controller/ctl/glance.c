#include "ctl/glance.h"

#include <string.h>

#include "proto/canary.h"
#include "proto/phase.h"

static const char *text_or(const char *text, const char *missing)
{
    return text ? text : missing;
}

struct json_object *glance_condition(struct json_object *canary, const char *type)
{
    struct json_object *list = json_at(canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), "type", NULL);
        if (found && strcmp(found, type) == 0)
            return json_elem(list, i);
    }
    return NULL;
}

bool glance_is_trouble(struct json_object *condition)
{
    const char *type = text_or(json_str_at(condition, "type", NULL), "");
    const char *status = text_or(json_str_at(condition, "status", NULL), "");

    if (strcmp(type, "Promoted") == 0)
        return false;
    if (strcmp(type, "Suspended") == 0 || strcmp(type, "Ignored") == 0)
        return strcmp(status, "True") == 0;
    return strcmp(status, "False") == 0;
}

static bool is_approval(struct json_object *hook)
{
    const char *said = text_or(json_str_at(hook, "said", NULL), "");
    enum hook_type type;

    return hook_type_find(json_str_at(hook, "type", NULL), &type) && hook_type_is_gate(type) &&
           json_bool_at(hook, false, "passed", NULL) && *said && strcmp(said, "Approved") != 0 &&
           strcmp(said, "OK") != 0;
}

const char *glance_approvals(struct arena *arena, struct json_object *release)
{
    struct json_object *hooks = json_at(release, "hooks", NULL);
    const char *out = "";

    for (size_t i = 0; i < json_len(hooks); i++) {
        struct json_object *hook = json_elem(hooks, i);
        if (is_approval(hook))
            out = arena_printf(arena, "%s%s%s: %s", out, *out ? "; " : "",
                               print_clean(arena, json_str_at(hook, "name", NULL)),
                               print_clean(arena, json_str_at(hook, "said", NULL)));
    }
    return out;
}

/* The first one that is no harmless note of a step on its way. */
static const char *reason_of(struct json_object *canary)
{
    static const char *const harmless[] = {"Ignored", "MirrorWeight", "Drained"};
    struct json_object *list = json_at(canary, "status", "conditions", NULL);
    const char *note = "";

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *condition = json_elem(list, i);
        const char *type = text_or(json_str_at(condition, "type", NULL), "");
        const char *reason = text_or(json_str_at(condition, "reason", NULL), "");
        bool small = false;
        if (!glance_is_trouble(condition))
            continue;
        for (size_t k = 0; k < sizeof(harmless) / sizeof(harmless[0]); k++)
            small = small || strcmp(harmless[k], type) == 0;
        if (!small)
            return reason;
        note = reason;
    }
    return note;
}

/* A gate without a deadline has no condition. */
static bool is_at_gate(const char *phase)
{
    enum phase at = phase_parse(phase);

    return at == PHASE_Waiting || at == PHASE_WaitingPromotion;
}

void glance_at(struct arena *arena, struct json_object *canary, struct glance *out)
{
    struct json_object *analysis = json_at(canary, "spec", "analysis", NULL);

    if (!analysis)
        analysis = json_at(canary, "spec", "canaryAnalysis", NULL);
    *out = (struct glance){
        .namespace_ = text_or(json_str_at(canary, "metadata", "namespace", NULL), "default"),
        .name = text_or(json_str_at(canary, "metadata", "name", NULL), ""),
        .phase = text_or(json_str_at(canary, "status", "phase", NULL), ""),
        .revision = text_or(json_str_at(canary, "status", "lastAppliedSpec", NULL), ""),
        .weight = (int)json_int_at(canary, 0, "status", "canaryWeight", NULL),
        .failed_checks = (int)json_int_at(canary, 0, "status", "failedChecks", NULL),
        .threshold = (int)json_int_at(analysis, 1, "threshold", NULL),
        .since = json_str_at(canary, "status", "lastTransitionTime", NULL),
        .reason = print_clean(arena, reason_of(canary)),
    };
    if (json_at(canary, "status", "paused", NULL))
        out->reason = "Paused";
    else if (!*out->reason && is_at_gate(out->phase))
        out->reason = "GateClosed";
    out->weight = out->weight < 0 ? 0 : out->weight > 100 ? 100 : out->weight;
}

enum print_color glance_color(const char *phase)
{
    switch (phase_parse(phase)) {
    case PHASE_Succeeded:
    case PHASE_Initialized:
        return PRINT_GREEN;
    case PHASE_Failed:
        return PRINT_RED;
    case PHASE_NONE:
        return PRINT_DIM;
    default:
        return PRINT_YELLOW;
    }
}
