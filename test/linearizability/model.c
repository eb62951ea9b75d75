#include "linearizability/model.h"

#include <stdio.h>

/* The state's bits: one for each pass, then one for each vote (a pass and a person). */
enum { PASSES = MODEL_HOOKS * MODEL_REVISIONS };
_Static_assert(PASSES + PASSES * MODEL_PEOPLE <= 64, "a state is one word");

static int pass_of(int hook, int revision)
{
    return hook * MODEL_REVISIONS + revision;
}

static model_state pass_bit(int pass)
{
    return (model_state)1 << pass;
}

static model_state vote_bit(int pass, int person)
{
    return (model_state)1 << (PASSES + pass * MODEL_PEOPLE + person);
}

static model_state votes_of(int pass)
{
    return (((model_state)1 << MODEL_PEOPLE) - 1) << (PASSES + pass * MODEL_PEOPLE);
}

static bool fits(enum said said, bool is)
{
    return said == NOT_TOLD || (said == SAID_YES) == is;
}

/* A pass for every hook, or for every revision, is one for this hook and this revision. */
static bool lets_through(model_state state, int hook, int revision)
{
    model_state which = pass_bit(pass_of(0, 0)) | pass_bit(pass_of(hook, 0)) |
                        pass_bit(pass_of(0, revision)) | pass_bit(pass_of(hook, revision));
    return (state & which) != 0;
}

static model_state opened(const struct rules *rules, const struct step *step, model_state state)
{
    int pass = pass_of(step->hook, step->revision);
    if (state & pass_bit(pass))
        return state;
    state |= vote_bit(pass, step->person);
    if (__builtin_popcountll(state & votes_of(pass)) >= rules->quorum)
        state = (state & ~votes_of(pass)) | pass_bit(pass);
    return state;
}

static bool any_for_every_hook(model_state state)
{
    for (int revision = 0; revision < MODEL_REVISIONS; revision++) {
        if (state & pass_bit(pass_of(0, revision)))
            return true;
    }
    return false;
}

static model_state closed(const struct step *step, model_state state)
{
    if (step->hook == 0)
        return MODEL_CLOSED;
    for (int revision = 0; revision < MODEL_REVISIONS; revision++) {
        int pass = pass_of(step->hook, revision);
        state &= ~(pass_bit(pass) | votes_of(pass));
    }
    return state;
}

bool model_apply(const struct rules *rules, const struct step *step, const struct answer *answer,
                 model_state *state)
{
    if (step->ask == ASK_CHECK)
        return fits(answer->open, lets_through(*state, step->hook, step->revision));
    if (step->ask == ASK_CLOSE && step->hook != 0 && any_for_every_hook(*state))
        return answer->changed == NOT_TOLD || answer->changed == SAID_REFUSED;
    model_state next = step->ask == ASK_OPEN ? opened(rules, step, *state) : closed(step, *state);
    if (answer->changed == SAID_REFUSED || !fits(answer->changed, next != *state) ||
        !fits(answer->open, lets_through(next, step->hook, step->revision)))
        return false;
    *state = next;
    return true;
}

void model_describe(model_state state, char *text, unsigned long len)
{
    unsigned long at = 0;
    text[0] = '\0';
    for (int pass = 0; pass < PASSES; pass++) {
        int votes = __builtin_popcountll(state & votes_of(pass));
        const char *what = state & pass_bit(pass) ? "open" : votes ? "votes" : NULL;
        if (!what || at >= len)
            continue;
        int n = snprintf(text + at, len - at, "%s%s for hook %d revision %d", at ? ", " : "", what,
                         pass / MODEL_REVISIONS, pass % MODEL_REVISIONS);
        at += n > 0 ? (unsigned long)n : 0;
        if (votes && at < len) {
            n = snprintf(text + at, len - at, " (%d)", votes);
            at += n > 0 ? (unsigned long)n : 0;
        }
    }
    if (at == 0)
        snprintf(text, len, "closed");
}
