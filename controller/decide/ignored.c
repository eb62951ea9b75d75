/*
 * Fields of the spec that have no effect. A Canary that works under Flagger, which ignores them
 * silently, is not refused for them: the condition Ignored and one Warning event name them, anew
 * only when they are others.
 */
#include "base/duration.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/rules.h"
#include "router/common_services.h"

static const int64_t MS_NS = 1000000;

static const char *joined(struct arena *arena, const char *sentence, const char *more)
{
    return sentence ? arena_printf(arena, "%s; %s", sentence, more) : more;
}

/* Calls hold connections that all share. NULL: none is longer. */
static const char *long_timeouts(const struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    struct arena *arena = r->tick->arena;
    const char *sentence = NULL;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        char asked[DURATION_TEXT], longest[DURATION_TEXT];
        if (hook->longer_ms == 0)
            continue;
        duration_format(hook->longer_ms * MS_NS, asked);
        duration_format(hook->timeout_ms * MS_NS, longest);
        sentence =
            joined(arena, sentence,
                   arena_printf(arena,
                                "spec.%s.webhooks[%d].timeout: %s is without effect beyond %s, "
                                "the longest that a call of the type %s may take",
                                analysis->legacy ? "canaryAnalysis" : "analysis", i, asked, longest,
                                hook_type_name(hook->type)));
    }
    return sentence;
}

enum verdict ignored_tell(struct release *r)
{
    struct arena *arena = r->tick->arena;
    const char *times = long_timeouts(r);
    const char *fields = r->router->ignored ? r->router->ignored(arena, r->canary) : NULL;
    const char *fixed = r->target->own_services ? NULL : services_ignored(r->tick);

    if (r->tick->needs)
        return VERDICT_NEED_FACTS;
    bool no_pods = r->target->own_services && r->canary->n_companions > 0;

    if (!fields && !fixed && !no_pods && !times) {
        condition_clear(r, CONDITION_IGNORED);
        return VERDICT_GO;
    }
    const char *sentence =
        fields ? arena_printf(arena, "%s: without effect, provider %s has no word for it", fields,
                              r->tick->provider)
               : NULL;
    if (fixed)
        sentence = joined(arena, sentence,
                          arena_printf(arena,
                                       "%s: without effect on a Service that is there, nobody can "
                                       "change it; one that is deleted is made anew with it",
                                       fixed));
    if (no_pods)
        sentence = joined(
            arena, sentence,
            arena_printf(arena, "spec.companions: without effect, a %s has no pods of a primary",
                         r->canary->target.kind));
    if (times)
        sentence = joined(arena, sentence, times);
    if (condition_set_true(r, CONDITION_IGNORED, "NoEffect", sentence))
        release_warn(r, "%s", sentence);
    return VERDICT_GO;
}
