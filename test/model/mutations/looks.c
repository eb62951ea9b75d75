/* What is broken in how the judge looks, and in what follows from it. */
#include "mutations/mutation.h"
#include "tick/plan.h"

/* The evidence is written, and not up to when it was counted. */
static void write_no_time(struct release *r, const struct judged *judged)
{
    int metrics[JUDGED_METRICS];
    struct judged copy = *judged;

    for (int i = 0; i < judged->n; i++)
        metrics[i] = judged->metrics[i].index;
    const struct judged *before = judged_read(r, metrics, judged->n);
    for (int i = 0; i < judged->n; i++) {
        if (before->metrics[i].counted_s > 0)
            copy.metrics[i].counted_s = before->metrics[i].counted_s;
    }
    real_judged_write(r, &copy);
}
MUTATION("a look is counted twice", "judged", .acts.judged_write = write_no_time)

static enum judge_verdict never_worse(const struct judged_metric *metric)
{
    enum judge_verdict verdict = real_judged_verdict(metric);

    return verdict == JUDGE_WORSE ? JUDGE_UNDECIDED : verdict;
}
MUTATION("an alarm is ignored", "judged without a verdict", .acts.judged_verdict = never_worse)

static enum rule_result roll_nothing_back(struct release *r, bool consume)
{
    (void)r;
    (void)consume;
    return RULE_CONTINUE;
}
MUTATION("an alarm is told, and nothing is rolled back", "judged", .rule = samples_take,
         .acts.rollback_run = roll_nothing_back)

/* When another revision begins. */
static void forget_nothing(struct tick *tick, struct json_object *patch)
{
    struct json_object *status = json_at(patch, "status", NULL), *judge;

    if (json_at(status, "lastAppliedSpec", NULL) &&
        json_object_object_get_ex(status, "judge", &judge) && !judge)
        json_object_object_del(status, "judge");
    real_plan_status(tick, patch);
}
MUTATION("evidence is kept over a new revision", "judged", .acts.plan_status = forget_nothing)

MUTATION("a step is made on what is undecided", "judged", .rule = samples_allow,
         .ask = mutation_nothing)

static bool since_never(const struct release *r, const char *type, const char *reason,
                        int64_t *since)
{
    return strcmp(type, CONDITION_JUDGED) != 0 && real_condition_since(r, type, reason, since);
}
MUTATION("what stays undecided is never concluded", "judged without a verdict",
         .acts.condition_since = since_never)
