#include "ends.h"
#include "begun.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asked.h"
#include "judged.h"
#include "said.h"

#include "tick/plan.h"

/* How the world is from now on. */
struct policy {
    const char *what;
    enum health target, primary;
    bool only_new; /* revision 1 is always healthy */
    uint8_t answers[QUESTIONS];
    const char *hook; /* only for scenarios that have this type of hook; NULL for all */
    bool judged;      /* only for scenarios with the judge */
    bool lasts;       /* only for scenarios in which time passes */
    bool may_wait;    /* for ever, when it tells why */
};

/* In the order of enum question; load tests are always ended. */
#define WELL                                                                                       \
    {                                                                                              \
        PASS, PASS, PASS, PASS, PASS, FAIL, PASS, PASS                                             \
    }
/* A row; what all rows have stands first. */
#define POLICY(what_, ...)                                                                         \
    {                                                                                              \
        .what = (what_), __VA_ARGS__                                                               \
    }

static const struct policy policies[] = {
    POLICY("all is well", .answers = WELL),
    POLICY("the metrics stay bad", .answers = {PASS, PASS, PASS, PASS, PASS, FAIL, FAIL, PASS}),
    POLICY("the metrics stay away", .answers = {PASS, PASS, PASS, PASS, PASS, FAIL, NONE, PASS}),
    POLICY("the metric server stays away",
           .answers = {PASS, PASS, PASS, PASS, PASS, FAIL, ERROR, PASS}, .may_wait = true),
    POLICY("new revisions never get ready as canary", .target = HEALTH_STUCK, .only_new = true,
           .answers = WELL),
    POLICY("new revisions never get ready as primary", .primary = HEALTH_STUCK, .only_new = true,
           .answers = WELL, .may_wait = true),
    POLICY("the primary never gets ready again", .primary = HEALTH_STUCK, .answers = WELL,
           .may_wait = true, .lasts = true),
    POLICY("somebody asks for a rollback",
           .answers = {PASS, PASS, PASS, PASS, PASS, PASS, PASS, PASS}, .hook = "rollback"),
    POLICY("somebody asks for a rollback, and the gate of the start stays closed",
           .answers = {FAIL, PASS, PASS, PASS, PASS, PASS, PASS, PASS}, .hook = "rollback"),
    POLICY("the pre-rollout hook refuses",
           .answers = {PASS, FAIL, PASS, PASS, PASS, FAIL, PASS, PASS}, .hook = "pre-rollout"),
    POLICY("the gate of the promotion stays closed",
           .answers = {PASS, PASS, PASS, PASS, FAIL, FAIL, PASS, PASS}, .hook = "confirm-promotion",
           .may_wait = true),
    POLICY("the gate for more traffic stays closed",
           .answers = {PASS, PASS, PASS, FAIL, PASS, FAIL, PASS, PASS},
           .hook = "confirm-traffic-increase", .may_wait = true),
    POLICY("the gate of the start stays closed",
           .answers = {FAIL, PASS, PASS, PASS, PASS, FAIL, PASS, PASS}, .hook = "confirm-rollout",
           .may_wait = true),
    POLICY("the canary is worse than the primary",
           .answers = {PASS, PASS, PASS, PASS, PASS, FAIL, PASS, FAIL}, .judged = true),
    POLICY("the canary has no requests",
           .answers = {PASS, PASS, PASS, PASS, PASS, FAIL, PASS, NONE}, .judged = true,
           .may_wait = true),
    POLICY("nobody counts requests", .answers = {PASS, PASS, PASS, PASS, PASS, FAIL, PASS, ERROR},
           .judged = true, .may_wait = true),
};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]), MAX_WAY = 60 };

/* A state on its way to the end, under one policy. */
struct way {
    uint32_t cluster;
    struct ghost ghost;
    uint32_t rest;
    uint32_t due;
    /* --- identity ends */
    uint32_t end; /* the cluster at the end + 1; 0 if not known yet */
    uint32_t on;  /* it is on the way that is being followed, + its place there */
};

struct ends {
    struct search *search;
    const struct policy *policy;
    struct pool ways;
};

/* --- one step on the way */

static void settle(struct model *model, const struct policy *policy, struct state *state,
                   struct move *move)
{
    struct cluster then = state->cluster;

    if (model->kind->take_over) /* says which revision is the target's */
        model_happen(model, EVENT_GATEWAY, &then);
    bool new_target = model_look(model, &then, ROLE_TARGET)->revision != 1;
    bool new_primary = model_look(model, &then, ROLE_PRIMARY)->revision != 1;

    *move = (struct move){
        .kind = MOVE_SETTLE,
        .outcome = (uint8_t)(policy->only_new && !new_target ? HEALTH_READY : policy->target),
        .cut = (uint8_t)(policy->only_new && !new_primary ? HEALTH_READY : policy->primary)};
    search_settle(model, state, (enum health)move->outcome, (enum health)move->cut);
}

static int pick(struct model *model, const struct policy *policy, const struct cluster *cluster,
                bool due, struct outcome *out)
{
    int count;
    const struct outcome *outcomes = ticks_outcomes(model->ticks, cluster, due, &count);

    for (int i = 0; i < count; i++) {
        bool fits = true;
        for (int q = 0; q < QUESTIONS; q++)
            fits =
                fits && (outcomes[i].answers[q] == NOT_ASKED ||
                         outcomes[i].answers[q] == (q == Q_LOAD_END ? PASS : policy->answers[q]));
        if (fits) {
            *out = outcomes[i];
            return i;
        }
    }
    return -1;
}

static bool is_idle(struct model *model, const struct cluster *cluster)
{
    const struct canary *canary = model_canary(model, cluster);

    return canary->status.phase == PHASE_Initialized || canary->status.phase == PHASE_Succeeded ||
           canary->status.phase == PHASE_Failed;
}

enum went { ON, AT_REST, WAITING, NO_ANSWER, BROKEN };

/* A write was refused: the engine waits, and tries again. */
static enum went try_later(struct model *model, struct state *state, bool *due, bool same,
                           struct move *move)
{
    bool between = !*due;

    *due = true;
    if (!same && !between)
        return ON;
    if (!model_wait(model, &state->cluster))
        return WAITING;
    rules_waited(model, &state->cluster, &state->ghost);
    *move = (struct move){.kind = MOVE_WAIT};
    return ON;
}

/* Settles, ticks. */
static enum went go(struct model *model, const struct policy *policy, struct state *state,
                    bool *due, struct move moves[3], const char **broken)
{
    struct outcome outcome;
    struct state before;

    settle(model, policy, state, &moves[0]);
    if (!model_canary(model, &state->cluster) || state->rest & REST_ASLEEP)
        return AT_REST;
    before = *state;
    bool idle = is_idle(model, &state->cluster);
    int which = pick(model, policy, &state->cluster, *due || idle, &outcome);
    if (which < 0)
        return NO_ANSWER;
    moves[1] = (struct move){.kind = MOVE_TICK,
                             .due = *due || idle,
                             .outcome = (uint8_t)which,
                             .cut = WHOLE,
                             .event = NO_EVENT};
    int done;
    *broken = search_move(model, state, moves[1], &done);
    if (*broken)
        return BROKEN;
    bool same = memcmp(&before.cluster, &state->cluster, sizeof(before.cluster)) == 0;
    if (done < outcome.steps)
        return try_later(model, state, due, same, &moves[2]);
    if (*due && outcome.wakes && said_refused(model_canary(model, &state->cluster))) {
        *due = false; /* what was done without is tried before the next step */
        return ON;
    }
    bool sleeps = same && (*due || idle) && outcome.requeue != REQUEUE_NOW;
    if (sleeps && (outcome.requeue == REQUEUE_INTERVAL || outcome.wakes) &&
        model_wait(model, &state->cluster)) {
        rules_waited(model, &state->cluster, &state->ghost);
        moves[2] = (struct move){.kind = MOVE_WAIT};
        return ON;
    }
    bool waits = outcome.requeue == REQUEUE_INTERVAL ? *due : outcome.wakes && !idle;
    if (outcome.requeue == REQUEUE_NEVER && same && !waits)
        return AT_REST;
    if (outcome.requeue != REQUEUE_NOW && same && waits) {
        *broken = outcome.warned ? "what lasts is told once" : NULL;
        return *broken ? BROKEN : WAITING;
    }
    *due = outcome.requeue == REQUEUE_INTERVAL || (*due && !outcome.stepped);
    return ON;
}

/* --- where it ends */

/* The Canary was deleted, and another one goes on: nothing that serves goes with it. */
static const char *check_handed_over(struct model *model, const struct cluster *cluster)
{
    static const enum role left[] = {ROLE_PRIMARY, ROLE_APEX, ROLE_COPY, ROLE_ROUTE};

    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        int place = model->place[left[i]];
        struct json_object *tree = objects_tree(model->objects, place, cluster->at[place]);
        if (!tree || json_len(json_at(tree, "metadata", "ownerReferences", NULL)) > 0)
            return "a Canary that goes leaves all it has to the one that goes on";
    }
    if (model_weight(model, cluster) > 0 || !model_look(model, cluster, ROLE_PRIMARY)->ready)
        return "a Canary that goes leaves all traffic on the primary";
    return NULL;
}

/* The Service is nobody's and leads to the target. */
static bool is_left(struct model *model, const struct cluster *cluster, const char *key)
{
    for (int place = 0; place < objects_places(model->objects); place++) {
        struct json_object *tree = objects_tree(model->objects, place, cluster->at[place]);
        const char *selects = json_str_at(tree, "spec", "selector", "app", NULL);
        if (strcmp(objects_key(model->objects, place), key) == 0)
            return selects && strcmp(selects, "podinfo") == 0 &&
                   json_len(json_at(tree, "metadata", "ownerReferences", NULL)) == 0;
    }
    return false;
}

/* The Canary was deleted: nothing refers to what goes with it. */
static const char *check_gone(struct model *model, const struct policy *policy,
                              const struct cluster *cluster)
{
    const struct look *target = model_look(model, cluster, ROLE_TARGET);

    if (policy->target != HEALTH_READY || policy->primary != HEALTH_READY ||
        cluster->at[model->place[ROLE_TARGET]] == ABSENT)
        return NULL;
    if (model_has_rival(model, cluster))
        return check_handed_over(model, cluster);
    if (!target->ready)
        return "a target serves when its Canary is gone";
    if (model_look(model, cluster, ROLE_APEX)->selects_primary)
        return "the apex Service selects the target when the Canary is gone";
    if (cluster->at[model->place[ROLE_ROUTE]] != ABSENT &&
        !model_look(model, cluster, ROLE_ROUTE)->alone &&
        !(is_left(model, cluster, "services/podinfo-primary") &&
          is_left(model, cluster, "services/podinfo-canary")))
        return "no route leads to what goes with the Canary";
    return NULL;
}

/* Template and configs of the primary are of the revision that was promoted last, or the status
 * says that it could not be finished. */
static bool is_whole(struct model *model, const struct state *state, const struct canary *canary)
{
    return state->cluster.at[model->place[ROLE_PRIMARY]] == ABSENT ||
           !*canary->status.last_promoted_spec || !state->ghost.promoted ||
           model_primary_revision(model, &state->cluster) == state->ghost.promoted;
}

/* Nothing but the primary, which has no ready pod, keeps it from beginning. */
static bool may_mend(struct model *model, const struct state *state, const struct canary *canary)
{
    const struct cluster *cluster = &state->cluster;
    const struct look *primary = model_look(model, cluster, ROLE_PRIMARY);

    return model->scenario->world & WORLD_TIME_PASSES && !canary->analysis.waits_for_primary &&
           !primary->answers && !primary->at_zero &&
           cluster->at[model->place[ROLE_TARGET]] != ABSENT &&
           model_revision(model, cluster) != state->ghost.rejected &&
           model_revision(model, cluster) != model_primary_revision(model, cluster) &&
           model_revision(model, cluster) != state->ghost.promoted;
}

/* With a write that is refused for good: nothing is under way, but for what the primary carries already, and what is
 * not initialised yet. */
static const char *check_refused_end(struct model *model, const struct state *state,
                                     const struct canary *canary)
{
    const struct cluster *cluster = &state->cluster;
    bool promotes =
        canary->status.phase == PHASE_Promoting || canary->status.phase == PHASE_Finalising;
    bool carried = model_primary_revision(model, cluster) == state->ghost.revision;

    if (is_idle(model, cluster) || canary->status.phase == PHASE_Initializing ||
        asked_to_pause(canary) || (promotes && carried))
        return NULL;
    return said_refused(canary) ? SAFE_REFUSED : NULL;
}

static const char *check_end(struct model *model, const struct policy *policy,
                             const struct state *state, bool waits)
{
    const struct cluster *cluster = &state->cluster;
    const struct canary *canary = model_canary(model, cluster);
    int weight = model_weight(model, cluster);
    const struct look *primary = model_look(model, cluster, ROLE_PRIMARY);

    if (!canary)
        return check_gone(model, policy, cluster);
    if (canary->deleting)
        return policy->may_wait || policy->target != HEALTH_READY ? NULL : "every deletion ends";
    if (canary->suspend)
        return NULL;
    if (waits && said_late(canary))
        return "an analysis ends at its limit";
    if (asked_is_left(model, cluster))
        return "every request is answered";
    if (asked_to_pause(canary))
        return NULL; /* until somebody resumes it */
    if (strcmp(canary->target.name, "podinfo") != 0)
        return NULL; /* rules.c sees to its Services */
    /* A person has taken the primary's pods away, or the primary: that is told, and waited for. */
    if (model_refused(model, cluster))
        return check_refused_end(model, state, canary);
    bool lost = cluster->at[model->place[ROLE_PRIMARY]] == ABSENT;
    bool by_person = primary->at_zero || lost;
    if (waits && !said_why(canary))
        return "what waits says for what";
    if (waits && is_idle(model, cluster) && may_mend(model, state, canary) && !by_person)
        return "a revision that may mend a primary without a ready pod begins";
    if (waits)
        return policy->may_wait || by_person || said_impossible(canary) || said_scheduled(canary)
                   ? NULL
                   : "every run ends";
    if (weight > 0 && weight < WEIGHT_ALL)
        return "at the end, one side has all traffic";
    if (weight == WEIGHT_ALL && !model_look(model, cluster, ROLE_TARGET)->ready && !lost)
        return "at the end, all traffic is on a healthy workload";
    if (weight == 0 && !primary->ready && !policy->may_wait && !by_person)
        return "at the end, all traffic is on a healthy workload";
    if (weight > 0 && primary->ready && *canary->status.last_promoted_spec &&
        model_primary_revision(model, cluster) != model_revision(model, cluster))
        return "at the end, a primary that is ready has the traffic";
    if (canary->status.canary_weight != weight)
        return "at the end, the status says the weight that is routed";
    if (model_revision(model, cluster) != model_primary_revision(model, cluster) &&
        state->ghost.rejected != model_revision(model, cluster) && !policy->may_wait &&
        cluster->at[model->place[ROLE_TARGET]] != ABSENT && !by_person &&
        !model_look(model, cluster, ROLE_CANARY)->refused && !said_scheduled(canary))
        return "no revision is swallowed";
    if (model->kind->copied &&
        model_look(model, cluster, ROLE_COPY)->revision != model_revision(model, cluster))
        return "at the end, the canary's Service is a copy of the target";
    if (weight == 0 && is_idle(model, cluster) && begun_pinned(model, cluster))
        return "at the end, what was pushed is no longer kept back";
    if (!is_whole(model, state, canary))
        return "at the end, the primary is of one revision, template and configs";
    return said_wrong(model, canary, cluster);
}

/* Follows the way from a state until it meets one whose end is known. */
static bool follow(struct ends *ends, uint32_t node, struct state state, uint32_t *end)
{
    struct model *model = ends->search->model;
    struct violation *violation = &ends->search->violation;
    uint32_t path[MAX_WAY];
    int n = 0;
    bool due = true;

    *violation = (struct violation){.node = node};
    for (;;) {
        struct way identity = {.cluster = pool_put(&model->clusters, &state.cluster, NULL),
                               .ghost = state.ghost,
                               .rest = state.rest,
                               .due = due};
        uint32_t number = pool_put(&ends->ways, &identity, NULL);
        struct way *way = pool_at(&ends->ways, number);
        if (way->end) {
            *end = way->end;
            break;
        }
        if (way->on && judged_wait(model, &state.cluster)) {
            violation->rule = check_end(model, ends->policy, &state, true);
            if (violation->rule)
                return false;
            *end = 1 + pool_put(&model->clusters, &state.cluster, NULL);
            break;
        }
        if (n == MAX_WAY || way->on) {
            violation->rule = "every run ends";
            return false;
        }
        way->on = 1;
        path[n++] = number;
        struct move moves[3] = {0};
        enum went went = go(model, ends->policy, &state, &due, moves, &violation->rule);
        for (int i = 0; i < 3 && violation->n_moves < MAX_MOVES && moves[i].kind != MOVE_START; i++)
            violation->moves[violation->n_moves++] = moves[i];
        if (went == BROKEN)
            return false;
        if (went == ON)
            continue;
        if (went == NO_ANSWER) {
            *end = UINT32_MAX;
            break;
        }
        violation->rule = check_end(model, ends->policy, &state, went == WAITING);
        if (violation->rule)
            return false;
        *end = 1 + pool_put(&model->clusters, &state.cluster, NULL);
        break;
    }
    for (int i = 0; i < n; i++)
        ((struct way *)pool_at(&ends->ways, path[i]))->end = *end;
    return true;
}

static bool is_possible(const struct policy *policy, const struct model *model)
{
    unsigned world = model->scenario->world;

    if ((policy->hook && !scenario_has(model->scenario, policy->hook)) ||
        (policy->judged && !model->scenario->judged) ||
        (policy->lasts && !(world & WORLD_TIME_PASSES)))
        return false;
    if (policy->target != HEALTH_READY && !(world & WORLD_CANARY_FAILS))
        return false;
    return policy->primary == HEALTH_READY || world & WORLD_PRIMARY_FAILS;
}

/* Equal for everybody who looks: the same objects, and the same said of the release. */
static bool same_end(struct model *model, uint32_t a, uint32_t b)
{
    const struct cluster *one = pool_at(&model->clusters, a - 1);
    const struct cluster *other = pool_at(&model->clusters, b - 1);
    const struct canary *left = model_canary(model, one), *right = model_canary(model, other);

    for (int place = 0; place < SLOTS; place++) {
        if (place != model->place[ROLE_CANARY] && one->at[place] != other->at[place])
            return false;
    }
    if (!left || !right)
        return left == right;
    return left->status.phase == right->status.phase &&
           left->status.canary_weight == right->status.canary_weight &&
           strcmp(left->status.last_promoted_spec, right->status.last_promoted_spec) == 0 &&
           strcmp(left->status.last_applied_spec, right->status.last_applied_spec) == 0;
}

/* The next tick from a state, cut off before each of its writes, leads to the same end. */
static bool follow_cuts(struct ends *ends, uint32_t node, uint32_t end)
{
    struct model *model = ends->search->model;
    struct violation *violation = &ends->search->violation;
    struct state state = search_state(ends->search, node);
    struct move moves[2];
    struct outcome outcome;

    if (end == UINT32_MAX || !model_canary(model, &state.cluster))
        return true;
    settle(model, ends->policy, &state, &moves[0]);
    int which = pick(model, ends->policy, &state.cluster, true, &outcome);
    if (which < 0)
        return true;
    /* a write that is taken again just as its deadline ends may be done before that, or behind it */
    bool races =
        said_refused(model_canary(model, &state.cluster)) || model_refused(model, &state.cluster);
    for (int cut = 1; cut < outcome.steps; cut++) {
        struct state next = state;
        uint32_t cut_end;
        moves[1] = (struct move){.kind = MOVE_TICK,
                                 .due = true,
                                 .outcome = (uint8_t)which,
                                 .cut = (uint8_t)cut,
                                 .event = NO_EVENT};
        const char *broken = search_move(model, &next, moves[1], NULL);
        if (!broken && !follow(ends, node, next, &cut_end))
            broken = violation->rule;
        else if (!broken && cut_end != UINT32_MAX && !races && !same_end(model, end, cut_end))
            broken = "a tick that was cut off ends where the whole one does";
        if (!broken)
            continue;
        memmove(violation->moves + 2, violation->moves,
                (MAX_MOVES - 2) * sizeof(violation->moves[0]));
        memcpy(violation->moves, moves, sizeof(moves));
        violation->n_moves =
            violation->n_moves > MAX_MOVES - 2 ? MAX_MOVES : violation->n_moves + 2;
        violation->rule = broken;
        return false;
    }
    return true;
}

bool ends_check(struct search *search)
{
    uint32_t states = search->nodes.count;

    for (int p = 0; p < POLICIES; p++) {
        struct ends ends = {.search = search, .policy = &policies[p]};
        if (!is_possible(ends.policy, search->model))
            continue;
        pool_init(&ends.ways, offsetof(struct way, end), sizeof(struct way));
        bool right = true;
        for (uint32_t node = 0; right && node < states; node++) {
            uint32_t end;
            right = follow(&ends, node, search_state(search, node), &end) &&
                    follow_cuts(&ends, node, end);
        }
        pool_fini(&ends.ways);
        if (!right) {
            static char text[200];
            snprintf(text, sizeof(text), "%s (%s)", search->violation.rule, policies[p].what);
            search->violation.rule = text;
            return false;
        }
    }
    return true;
}

bool ends_follow(struct search *search, struct state *state)
{
    struct violation *violation = &search->violation;
    bool due = true;

    *violation = (struct violation){.node = search_start(search, state)};
    for (int i = 0; i < MAX_WAY; i++) {
        struct move moves[3] = {0};
        enum went went = go(search->model, &policies[0], state, &due, moves, &violation->rule);
        for (int m = 0; m < 3 && moves[m].kind != MOVE_START; m++)
            violation->moves[violation->n_moves++] = moves[m];
        if (went == BROKEN)
            return false;
        if (went == ON)
            continue;
        if (went == AT_REST && is_idle(search->model, &state->cluster))
            return true;
        break;
    }
    violation->rule = "a Canary is initialised in the end";
    return false;
}
