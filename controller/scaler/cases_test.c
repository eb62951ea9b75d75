/* Both kinds of autoscalers: cases of cases.yaml. */
#include "tick/cases_test.h"
#include "scaler/scaler.h"

static const struct scaler *scaler_of(const struct called *called)
{
    return scaler_find(called->f->canary.autoscaler.kind);
}

/* with: {floor: 2} */
static enum rule_result reconcile(struct called *called)
{
    const char *missing = NULL;
    int floor = (int)json_int_at(called->with, 0, "floor", NULL);
    enum rule_result verdict =
        scaler_of(called)->reconcile_primary(called->f->tick, floor, &missing);

    json_set_str(called->got, "missing", missing);
    return verdict;
}

static enum rule_result pause_target(struct called *called)
{
    return scaler_of(called)->pause_target(called->f->tick);
}

static enum rule_result resume_target(struct called *called)
{
    return scaler_of(called)->resume_target(called->f->tick);
}

static enum rule_result is_paused(struct called *called)
{
    bool paused = false;
    enum rule_result verdict = scaler_of(called)->is_paused(called->f->tick, &paused);

    json_set_bool(called->got, "paused", paused);
    return verdict;
}

/* Initial replicas of the canary, and the primary's maximum. */
static enum rule_result bounds(struct called *called)
{
    int start = 0, most = 0;
    enum rule_result verdict = scaler_of(called)->min_replicas(called->f->tick, &start);

    if (verdict == RULE_CONTINUE)
        verdict = scaler_of(called)->primary_max(called->f->tick, &most);
    json_set_int(called->got, "start", start);
    json_set_int(called->got, "most", most);
    return verdict;
}

static const struct called_word words[] = {
    {.name = "reconcile", .call = reconcile},  {.name = "pause", .call = pause_target},
    {.name = "resume", .call = resume_target}, {.name = "is paused", .call = is_paused},
    {.name = "bounds", .call = bounds},
};

CASES_OF("controller/scaler/cases.yaml", words, char);
