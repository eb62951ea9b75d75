/*
 * Whom the alerts of a Canary are for. An AlertProvider that is missing or wrong, or a service that
 * takes no alert, holds nothing up: the condition AlertsDelivered says so.
 */
#include "decide/act/alerts.h"

#include "decide/release/condition.h"
#include "decide/rules.h"

/* One that could not be delivered so far; *delivered: another one could. */
static const char *find_trouble(const struct tick *tick, bool *delivered)
{
    const char *trouble = NULL;

    for (int i = 0; i < tick->n_alerts; i++) {
        if (tick->alerts[i].trouble)
            trouble = tick->alerts[i].trouble;
        else
            *delivered = *delivered || tick->alerts[i].done;
    }
    return trouble;
}

static void tell(struct release *r, const char *reason, const char *text)
{
    if (!condition_has_reason(r, CONDITION_ALERTS, reason))
        release_warn(r, "%s", text);
    condition_set(r, CONDITION_ALERTS, reason, text);
}

enum verdict alerts_know(struct release *r)
{
    bool delivered = false;
    const char *mistake = alerts_mistake(r);
    const char *trouble = find_trouble(r->tick, &delivered);

    if (r->tick->needs)
        return VERDICT_NEED_FACTS;
    if (mistake)
        tell(r, "ProviderUnusable", mistake);
    else if (trouble)
        tell(r, "NotDelivered", trouble);
    else if (delivered || !condition_has_reason(r, CONDITION_ALERTS, "NotDelivered"))
        condition_clear(r, CONDITION_ALERTS);
    alerts_repeat(r);
    return VERDICT_GO;
}
