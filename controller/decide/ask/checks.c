#include "decide/ask/checks.h"

#include "decide/release/condition.h"

enum verdict checks_failed(struct release *r, const char *reason, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *sentence = arena_vprintf(r->tick->arena, fmt, args);
    va_end(args);
    (void)condition_set(r, CONDITION_CHECKS, reason, sentence);
    release_warn(r, "%s", sentence);
    return VERDICT_STOP;
}

void checks_passed(struct release *r)
{
    condition_clear(r, CONDITION_CHECKS);
}

const char *checks_why(const struct release *r)
{
    return condition_message(r, CONDITION_CHECKS);
}
