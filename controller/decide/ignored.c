/*
 * Fields of the spec that have no effect. A Canary that works under Flagger, which ignores them
 * silently, is not refused for them: the condition Ignored and one Warning event name them, anew
 * only when they are others.
 */
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/rules.h"
#include "router/common_services.h"

enum verdict ignored_tell(struct release *r)
{
    struct arena *arena = r->tick->arena;
    const char *fields = r->router->ignored ? r->router->ignored(arena, r->canary) : NULL;
    const char *fixed = r->target->own_services ? NULL : services_ignored(r->tick);

    if (r->tick->needs)
        return VERDICT_NEED_FACTS;
    bool no_pods = r->target->own_services && r->canary->n_companions > 0;

    if (!fields && !fixed && !no_pods) {
        condition_clear(r, CONDITION_IGNORED);
        return VERDICT_GO;
    }
    const char *sentence =
        fields ? arena_printf(arena, "%s: without effect, provider %s has no word for it", fields,
                              r->tick->provider)
               : NULL;
    if (fixed)
        sentence = arena_printf(arena,
                                "%s%s%s: without effect on a Service that is there, nobody "
                                "can change it; one that is deleted is made anew with it",
                                sentence ? sentence : "", sentence ? "; " : "", fixed);
    if (no_pods)
        sentence = arena_printf(
            arena, "%s%sspec.companions: without effect, a %s has no pods of a primary",
            sentence ? sentence : "", sentence ? "; " : "", r->canary->target.kind);
    if (condition_set_true(r, CONDITION_IGNORED, "NoEffect", sentence))
        release_warn(r, "%s", sentence);
    return VERDICT_GO;
}
