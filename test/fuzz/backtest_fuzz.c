/*
 * Whatever files of policies and of past releases hold: each replay ends, within the release and its
 * requests. A line of "=====" stands between the policy and the releases.
 */
#include <assert.h>
#include <string.h>

#include "ctl/backtest/replay.h"
#include "fuzz.h"

static const char between[] = "\n=====\n";

static void replay(struct arena *arena, const struct past *past, const struct policy *policy)
{
    const struct replay out = replay_run(arena, past, policy);

    assert(out.why && *replay_end_name(out.end));
    assert(out.at_s >= 0 && out.at_s <= past->end_s);
    assert(out.requests >= 0 && out.requests <= past->requests * (1 + 1e-9));
}

FUZZ_TARGET(arena, data, size)
{
    const char *text = arena_strndup(arena, (const char *)data, size);
    const char *end = strstr(text, between);
    struct policy policy;
    struct pasts pasts;
    struct errinfo ei = {0};

    pasts_init(&pasts);
    if (end && policy_parse(arena, "policy", text, (size_t)(end - text), &policy, &ei) == ERR_OK &&
        pasts_parse(arena, &pasts, "releases", end + strlen(between), strlen(end + strlen(between)),
                    &ei) == ERR_OK) {
        for (const struct past *past = pasts.first; past; past = past->next)
            replay(arena, past, &policy);
    } else if (end) {
        assert(*ei.text && !strchr(ei.text, '\n'));
    }
}
