/*
 * The rules of the waves, broken on purpose, one at a time: each of these must be found by a walk.
 * The linker leads calls of the functions here (CMakeLists.txt); a call from within the file that
 * defines a function stays as it is.
 *
 *   waves_mutants --list     number, what is broken, and the scenario that must find it
 *   waves_mutants NUMBER     exit status 1 and a sentence: it was found
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/rules/waves_parts.h"
#include "walk.h"

enum broken {
    NO_CONCURRENCY,
    NO_BUDGET,
    NO_GATE,
    OTHER_ANSWER,
    NO_SOAK,
    NO_TARGET,
    NO_MEMORY,
    STEPS_WHEN_LOST,
    UNKNOWN_IS_EMPTY,
    ALL_MAY_FAIL,
    NO_HOLD,
    NO_GO,
    FIRST_IS_HELD,
    KEEPS_PASSED,
    STATUS_IS_LOST,
    FIRST_IS_SETTLED,
    FIRST_IS_NEVER_SETTLED,
    HOLDS_ALWAYS,
    HOLDS_NEVER,
    NOBODY_WAS_LET_GO,
    ALL_WERE_LET_GO,
    ANY_HOLD_IS_OURS,
    NOTHING_IS_HELD,
    ANY_PROMOTION,
    UNFINISHED_PROMOTION,
    NO_FAILURE,
    ANY_FAILURE,
    NOT_ACCEPTED,
    ALL_WAVES_OPEN,
    NO_SHARE,
    ALL_WEIGH_ONE,
    UNSEEN_WEIGHS_ONE,
    NO_TRAIN,
    NO_ORDER_IN_THE_FIRST,
    NO_ORDER_BEHIND_IT,
    WAITS_ALWAYS,
    UNSEEN_IS_THROUGH,
};

struct mutation {
    const char *what, *scenario;
};

static const struct mutation mutations[] = {
    [NO_CONCURRENCY] = {"maxConcurrent is not heard", "clusters are lost and come back"},
    [NO_BUDGET] = {"the budget is not heard", "a budget for all"},
    [NO_GATE] = {"the gate is not asked", "behind a gate"},
    [OTHER_ANSWER] = {"an answer about another revision counts", "two good ones in a row"},
    [NO_SOAK] = {"the soak is passed over", "a good one goes everywhere"},
    [NO_TARGET] = {"what the workload has is not looked at", "a good one, then a bad one"},
    [NO_MEMORY] = {"who was let go is not written down", "clusters are lost and come back"},
    [STEPS_WHEN_LOST] = {"a cluster that cannot be reached is written to",
                         "clusters are lost and come back"},
    [UNKNOWN_IS_EMPTY] = {"a cluster that nobody has seen counts as empty",
                          "two in the first wave"},
    [ALL_MAY_FAIL] = {"failures do not stop the plan", "failures are accepted"},
    [NO_HOLD] = {"who has ended is not held again", "a good one goes everywhere"},
    [NO_GO] = {"nobody is let go", "a good one goes everywhere"},
    [FIRST_IS_HELD] = {"the first wave is held", "a good one goes everywhere"},
    [KEEPS_PASSED] = {"a new revision needs no gate of its own", "two good ones in a row"},
    [STATUS_IS_LOST] = {"the status is not read back", "behind a gate"},
    [FIRST_IS_SETTLED] = {"the first wave is not waited for", "two in the first wave"},
    [FIRST_IS_NEVER_SETTLED] = {"the first wave is never over", "a good one goes everywhere"},
    [HOLDS_ALWAYS] = {"a Canary that has requests is held", "a good one goes everywhere"},
    [HOLDS_NEVER] = {"nothing may be held", "a good one goes everywhere"},
    [NOBODY_WAS_LET_GO] = {"who was let go is forgotten", "clusters are lost and come back"},
    [ALL_WERE_LET_GO] = {"everybody was let go already", "clusters are lost and come back"},
    [ANY_HOLD_IS_OURS] = {"what a person has suspended is ours", "a person has suspended one"},
    [NOTHING_IS_HELD] = {"what is held is not seen to be", "a good one goes everywhere"},
    [ANY_PROMOTION] = {"any promotion ends a wave", "a good one goes everywhere"},
    [UNFINISHED_PROMOTION] = {"nothing has ever promoted the revision",
                              "a good one goes everywhere"},
    [NO_FAILURE] = {"a failure is not seen", "failures are accepted"},
    [ANY_FAILURE] = {"who has the old revision counts as failed", "a good one goes everywhere"},
    [NOT_ACCEPTED] = {"every failure is taken as it is", "failures are accepted"},
    [ALL_WAVES_OPEN] = {"the last wave begins with the second", "a good one goes everywhere"},
    [NO_SHARE] = {"the budget of replicas is not heard", "a share of all replicas"},
    [ALL_WEIGH_ONE] = {"every workload weighs the same", "a share of all replicas"},
    [UNSEEN_WEIGHS_ONE] = {"a cluster that nobody has seen weighs one", "a share of all replicas"},
    [NO_TRAIN] = {"the train has no order", "a train"},
    [NO_ORDER_IN_THE_FIRST] = {"the train has no order in the first wave", "a train"},
    [NO_ORDER_BEHIND_IT] = {"the train has no order behind the first wave", "a train"},
    [WAITS_ALWAYS] = {"a later Application of the train waits for ever", "a train"},
    [UNSEEN_IS_THROUGH] = {"a cluster that nobody has seen has all that comes first in the train",
                           "a train"},
};
enum { N_MUTATIONS = sizeof(mutations) / sizeof(mutations[0]) };

static enum broken now;

void __real_waves_decide(struct arena *arena, const struct waves_facts *facts,
                         struct waves_out *out);
bool __real_waves_first(struct waves_work *w);
void __real_waves_take_turns(struct waves_work *w, int open);
bool __real_waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary);
bool __real_waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                             const struct waves_canary *canary);
bool __real_waves_is_held(const struct waves_canary *canary);
bool __real_waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary);
bool __real_waves_has_failed(const struct waves_work *w, const struct waves_canary *canary);

void __wrap_waves_decide(struct arena *arena, const struct waves_facts *facts,
                         struct waves_out *out);
bool __wrap_waves_first(struct waves_work *w);
void __wrap_waves_take_turns(struct waves_work *w, int open);
bool __wrap_waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary);
bool __wrap_waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                             const struct waves_canary *canary);
bool __wrap_waves_is_held(const struct waves_canary *canary);
bool __wrap_waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary);
bool __wrap_waves_has_failed(const struct waves_work *w, const struct waves_canary *canary);
int __real_waves_train_waits(const struct waves_work *w, int wave,
                             const struct waves_canary *canary);
int __wrap_waves_train_waits(const struct waves_work *w, int wave,
                             const struct waves_canary *canary);

/* The waves as the plan does not say them. */
static void change_plan(struct arena *arena, struct releaseplan *plan)
{
    struct releaseplan_wave *waves = arena_array(arena, (size_t)plan->n_waves, sizeof(*waves));

    memcpy(waves, plan->waves, (size_t)plan->n_waves * sizeof(*waves));
    plan->waves = waves;
    for (int i = 0; i < plan->n_waves; i++) {
        if (now == NO_CONCURRENCY)
            waves[i].max_concurrent = 0;
        if (now == NO_GATE)
            waves[i].gate = NULL;
        if (now == NO_SOAK)
            waves[i].soak_ms = 0;
        if (now == ALL_MAY_FAIL)
            waves[i].max_failed = 100;
    }
    if (now == NO_BUDGET)
        plan->max_concurrent = 0;
    if (now == NO_SHARE)
        plan->max_replicas_percent = 0;
    if (now == NO_TRAIN)
        plan->n_train = 0;
}

static void change_clusters(struct waves_facts *facts, struct releaseplan *plan)
{
    for (size_t i = 0; i < facts->n_clusters; i++) {
        struct waves_cluster *cluster = &facts->clusters[i];
        for (size_t j = 0; j < cluster->n_canaries; j++) {
            struct waves_canary *canary = &cluster->canaries[j];
            if (now == NO_TARGET)
                canary->target = "";
            if (now == ALL_WEIGH_ONE && canary->replicas > 0)
                canary->replicas = 1;
            if (now == NOT_ACCEPTED && canary->phase == PHASE_Failed)
                plan->accept = canary->applied;
        }
        if (now == STEPS_WHEN_LOST)
            cluster->reachable = true;
        if (now == UNKNOWN_IS_EMPTY)
            cluster->known = true;
    }
}

static void change_status(const struct waves_facts *facts, struct waves_status *status)
{
    if (now == UNSEEN_WEIGHS_ONE)
        for (size_t i = 0; i < status->n_clusters; i++)
            status->clusters[i].replicas = 1;
    if (now == STATUS_IS_LOST)
        *status = (struct waves_status){.revision = ""};
    if (now == KEEPS_PASSED)
        status->revision = facts->clusters[0].n_canaries ? facts->clusters[0].canaries[0].promoted
                                                         : status->revision;
}

/* Without the steps of this kind. */
static void drop_steps(struct waves_out *out, bool hold)
{
    size_t kept = 0;

    for (size_t i = 0; i < out->n_steps; i++)
        if (out->steps[i].hold != hold)
            out->steps[kept++] = out->steps[i];
    out->n_steps = kept;
}

void __wrap_waves_decide(struct arena *arena, const struct waves_facts *facts,
                         struct waves_out *out)
{
    struct releaseplan *plan = ARENA_NEW(arena, struct releaseplan);
    struct waves_status *status = ARENA_NEW(arena, struct waves_status);
    struct waves_facts *changed = ARENA_NEW(arena, struct waves_facts);

    *plan = *facts->plan;
    *status = *facts->status;
    *changed = *facts;
    changed->plan = plan;
    changed->status = status;
    change_plan(arena, plan);
    change_clusters(changed, plan);
    change_status(changed, status);
    if (now == OTHER_ANSWER && changed->answer.revision && facts->clusters[0].n_canaries)
        changed->answer.revision = facts->clusters[0].canaries[0].promoted;
    __real_waves_decide(arena, changed, out);
    if (now == NO_MEMORY)
        out->status.n_let_go = 0;
    if (now == NO_HOLD || now == NO_GO)
        drop_steps(out, now == NO_HOLD);
    if (now == FIRST_IS_HELD && !facts->clusters[0].canaries[0].suspended)
        out->steps[out->n_steps++] = (struct waves_step){.hold = true};
}

bool __wrap_waves_first(struct waves_work *w)
{
    struct waves_status *status = &w->out->status;
    bool settled = __real_waves_first(w);

    if (now == FIRST_IS_NEVER_SETTLED)
        return false;
    if (now != FIRST_IS_SETTLED || settled || w->facts->clusters[0].n_canaries == 0)
        return settled;
    status->revisions = ARENA_NEW(w->arena, struct waves_revision);
    status->n_revisions = 1;
    status->revision = w->facts->clusters[0].canaries[0].promoted;
    status->revisions[0] = (struct waves_revision){"test/app", status->revision};
    return true;
}

void __wrap_waves_take_turns(struct waves_work *w, int open)
{
    int last = w->plan->n_waves - 1;

    __real_waves_take_turns(w, now == ALL_WAVES_OPEN && open > 0 ? last : open);
}

bool __wrap_waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary)
{
    if (now == HOLDS_ALWAYS || now == HOLDS_NEVER)
        return now == HOLDS_ALWAYS;
    return __real_waves_may_be_held(w, canary);
}

bool __wrap_waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                             const struct waves_canary *canary)
{
    if (now == NOBODY_WAS_LET_GO || now == ALL_WERE_LET_GO)
        return now == ALL_WERE_LET_GO;
    return __real_waves_was_let_go(w, cluster, canary);
}

bool __wrap_waves_is_held(const struct waves_canary *canary)
{
    if (now == ANY_HOLD_IS_OURS)
        return canary->suspended;
    return now != NOTHING_IS_HELD && __real_waves_is_held(canary);
}

bool __wrap_waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary)
{
    if (now == ANY_PROMOTION)
        return canary->phase == PHASE_Succeeded;
    return now != UNFINISHED_PROMOTION && __real_waves_has_promoted(w, canary);
}

bool __wrap_waves_has_failed(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    if (now == ANY_FAILURE)
        return wanted && strcmp(canary->promoted, wanted) != 0;
    return now != NO_FAILURE && __real_waves_has_failed(w, canary);
}

int __wrap_waves_train_waits(const struct waves_work *w, int wave,
                             const struct waves_canary *canary)
{
    bool all_seen = true;

    for (size_t i = 0; i < w->facts->n_clusters; i++)
        all_seen = all_seen && w->facts->clusters[i].known;
    if ((now == NO_ORDER_IN_THE_FIRST && wave == 0) || (now == NO_ORDER_BEHIND_IT && wave > 0) ||
        (now == UNSEEN_IS_THROUGH && !all_seen))
        return -1;
    if (now == WAITS_ALWAYS && wave > 0 && canary->order > 0)
        return 0;
    return __real_waves_train_waits(w, wave, canary);
}

static int list(void)
{
    for (int i = 0; i < N_MUTATIONS; i++)
        printf("%d\t%s\t%s\n", i, mutations[i].what, mutations[i].scenario);
    return 0;
}

int main(int argc, char **argv)
{
    char says[SAYS_TEXT];

    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    char *end = NULL;
    long number = argc == 2 ? strtol(argv[1], &end, 10) : -1;
    if (argc != 2 || *end || number < 0 || number >= N_MUTATIONS) {
        fprintf(stderr, "waves_mutants: expected --list or a number below %d\n", (int)N_MUTATIONS);
        return 2;
    }
    now = (enum broken)number;
    const struct scenario *scenario = scenario_find(mutations[number].scenario);
    if (!scenario) {
        fprintf(stderr, "waves_mutants: there is no scenario \"%s\"\n", mutations[number].scenario);
        return 2;
    }
    bool right = walk(scenario, false, says);
    printf("%s\n", says);
    return right ? 0 : 1;
}
