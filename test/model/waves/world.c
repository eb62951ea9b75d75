#include "world.h"

#include <stdio.h>
#include <string.h>

#include "test/rows.h"

#define GATE    ",'gate':{'url':'http://gate/'}"
#define WAVE(n) "{'name':'w" n "','clusterSelector':{'matchLabels':{'wave':'" n "'}}"
#define SPEC(first, second)                                                                        \
    "{'application':'a','waves':[" WAVE("0") first "}," WAVE("1") second "}," WAVE("2") "}]"

#define TRAIN "{'train':['a','b'],'waves':[" WAVE("0") "}," WAVE("1") "}," WAVE("2") "}]}"

const struct scenario scenarios[] = {
    {"a good one goes everywhere", SPEC(",'soak':'1m'", ",'maxConcurrent':1") "}", .revisions = 2,
     .crashes = 1, .unheld = true, .ends = true},
    {"behind a gate", SPEC(",'soak':'1m'" GATE, ",'maxConcurrent':1") "}", .revisions = 2,
     .crashes = 1, .ends = true},
    {"clusters are lost and come back", SPEC("", ",'maxConcurrent':1") "}", .revisions = 2,
     .losses = 2, .crashes = 1, .ends = true},
    {"a bad one, then a good one", SPEC("", "") "}", .revisions = 3, .bad = 2, .ends = true},
    {"a good one, then a bad one", SPEC(GATE, ",'maxConcurrent':1") "}", .revisions = 3, .bad = 4},
    {"two good ones in a row", SPEC(GATE, ",'maxConcurrent':1") "}", .revisions = 3, .ends = true},
    {"two in the first wave", SPEC("", "") "}", .where = "0012", .revisions = 3, .bad = 2,
     .losses = 1, .crashes = 1, .ends = true},
    {"one of two in the first wave may fail", SPEC(",'maxFailed':1", "") "}", .where = "0012",
     .revisions = 2, .flaky = 2, .accepts = true},
    {"lost while the revision changes", SPEC("", ",'maxConcurrent':1") "}", .revisions = 3,
     .losses = 1, .ends = true},
    {"one may fail", SPEC("", ",'maxFailed':1") "}", .revisions = 2, .flaky = 1},
    {"failures are accepted", SPEC("", ",'maxConcurrent':1") "}", .revisions = 2, .flaky = 1,
     .accepts = true, .crashes = 1},
    {"a budget for all", SPEC("", "") ",'budget':{'maxConcurrent':1}}", .revisions = 2, .losses = 1,
     .crashes = 1, .ends = true},
    {"a person has suspended one", SPEC("", "") "}", .revisions = 2, .suspended = true,
     .crashes = 1},
    {"a share of all replicas", SPEC("", "") ",'budget':{'maxReplicasPercent':40}}", .revisions = 2,
     .losses = 1, .crashes = 1, .ends = true},
    {"a train", TRAIN, .where = "0011", .orders = "0101", .revisions = 2, .losses = 1, .crashes = 1,
     .ends = true},
    {"a train, a bad one and then a good one", TRAIN, .where = "0011", .orders = "0101",
     .revisions = 3, .bad = 2, .ends = true},
    {"a train on two clusters of a wave", TRAIN, .where = "0111", .orders = "0001", .revisions = 2,
     .losses = 1, .crashes = 1, .flaky = 1, .accepts = true},
};
const int n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);

static int wave_of[CLUSTERS], order_of[CLUSTERS];
static const char *const names[CLUSTERS] = {"a", "b", "c", "d"};
static const char *const labels[WAVES] = {"{'wave':'0'}", "{'wave':'1'}", "{'wave':'2'}"};
static const char *const apps[CARS] = {"app", "web"};
static const char *const workloads[CARS] = {"test/app", "test/web"};
static const char *const keys[CARS][CLUSTERS] = {
    {"a/test/app", "b/test/app", "c/test/app", "d/test/app"},
    {"a/test/web", "b/test/web", "c/test/web", "d/test/web"},
};
enum { ALL_REPLICAS = 6 };
static const int replicas[CLUSTERS] = {1, 1, 2, 2};
static const char *const hashes[] = {"r0", "r1", "r2", "r3"};
enum { NOW_MS = 100000000, SOAK_MS = 60000 };

static const struct scenario *is;
static struct releaseplan plan;
static struct json_object *label_trees[WAVES];

void world_begin(struct arena *arena, const struct scenario *scenario, struct world *first)
{
    struct json_object *json = rows_json(arena, "{'metadata':{'name':'p','namespace':'default'}}");
    struct errinfo ei;

    is = scenario;
    json_set(json, "spec", rows_json(arena, scenario->spec));
    if (releaseplan_view(arena, json, &plan, &ei) != ERR_OK)
        fprintf(stderr, "%s: %s\n", scenario->name, ei.text);
    for (int i = 0; i < CLUSTERS; i++) {
        wave_of[i] = (scenario->where ? scenario->where : "0112")[i] - '0';
        order_of[i] = (scenario->orders ? scenario->orders : "0000")[i] - '0';
    }
    for (int i = 0; i < WAVES; i++)
        label_trees[i] = rows_json(arena, labels[i]);
    *first =
        (struct world){.revision = {NONE, NONE}, .approved = NONE, .asked = NONE, .accepted = NONE};
    for (int i = 0; i < CLUSTERS; i++)
        first->places[i].held = !scenario->unheld && wave_of[i] > 0;
    if (scenario->suspended) {
        first->places[2].held = false;
        first->places[2].suspended = true;
    }
}

/* --- what the controller sees */

static uint8_t number_of(const char *hash)
{
    return hash[0] == 'r' ? (uint8_t)(hash[1] - '0') : NONE;
}

static enum phase phase_of(enum moment moment)
{
    switch (moment) {
    case HAS_FAILED:
        return PHASE_Failed;
    case BEGUN:
    case ROUTED:
        return PHASE_Progressing;
    case RESTS:
        break;
    }
    return PHASE_Succeeded;
}

static void see(const struct world *world, int index, struct waves_canary *canary,
                struct waves_cluster *cluster)
{
    const struct place *place = &world->places[index];
    bool lost = place->lost;

    *canary = (struct waves_canary){
        .namespace_ = "test",
        .name = apps[order_of[index]],
        .order = order_of[index],
        .replicas = place->weighed ? replicas[index] : 0,
        .phase = phase_of(lost ? place->view.moment : place->moment),
        .weight = (lost ? place->view.moment : place->moment) == ROUTED ? 10 : 0,
        .applied = hashes[lost ? place->view.applied : place->applied],
        .promoted = hashes[lost ? place->view.promoted : place->promoted],
        .mine = lost ? place->view.held : place->held,
    };
    canary->suspended = canary->mine || place->suspended;
    *cluster = (struct waves_cluster){
        .name = names[index],
        .labels = label_trees[wave_of[index]],
        .known = !place->unknown,
        .reachable = !lost,
        .why = "lost",
        .canaries = canary,
        .n_canaries = !place->unknown,
    };
}

struct seen {
    struct waves_facts facts;
    struct waves_cluster clusters[CLUSTERS];
    struct waves_canary canaries[CLUSTERS];
    struct waves_status status;
    struct waves_revision revisions[CARS];
    struct waves_says said[CLUSTERS];
    struct waves_wave waves[WAVES];
    const char *let_go[CLUSTERS];
    struct releaseplan plan;
};

static int64_t time_of(enum when when)
{
    return when == NEVER ? 0 : when == NOW ? NOW_MS : NOW_MS - SOAK_MS;
}

static void see_status(const struct world *world, struct seen *out)
{
    out->status = (struct waves_status){.revision = "", .waves = out->waves, .let_go = out->let_go};
    if (!world->written)
        return;
    for (int i = 0; i < CARS; i++)
        if (world->revision[i] != NONE)
            out->revisions[out->status.n_revisions++] =
                (struct waves_revision){workloads[i], hashes[world->revision[i]]};
    out->status.revisions = out->revisions;
    out->status.revision = world->name;
    out->status.clusters = out->said;
    for (int i = 0; i < CLUSTERS; i++)
        if (world->places[i].noted)
            out->said[out->status.n_clusters++] =
                (struct waves_says){.cluster = names[i], .replicas = replicas[i]};
    for (int i = 0; i < WAVES; i++)
        out->waves[i] = (struct waves_wave){.name = plan.waves[i].name,
                                            .completed_ms = time_of(world->completed[i]),
                                            .passed = world->passed[i]};
    out->status.n_waves = WAVES;
    for (int i = 0; i < CLUSTERS; i++)
        if (world->let_go[i])
            out->let_go[out->status.n_let_go++] = keys[order_of[i]][i];
}

static void see_all(const struct world *world, struct seen *out)
{
    *out = (struct seen){.plan = plan};
    if (world->accepted != NONE)
        out->plan.accept = hashes[world->accepted];
    for (int i = 0; i < CLUSTERS; i++)
        see(world, i, &out->canaries[i], &out->clusters[i]);
    see_status(world, out);
    out->facts = (struct waves_facts){
        .plan = &out->plan,
        .now_ms = NOW_MS,
        .clusters = out->clusters,
        .n_clusters = CLUSTERS,
        .status = &out->status,
    };
    if (world->asked != NONE)
        out->facts.answer = (struct waves_answer){.wave = "w0",
                                                  .revision = hashes[world->asked],
                                                  .open = world->approved == world->asked,
                                                  .at_ms = NOW_MS};
}

/* --- what must hold of a decision */

static int allowed(int wave)
{
    return plan.waves[wave].max_failed;
}

/* By the status that has just been made. */
static uint8_t wanted_at(const struct waves_status *status, int index)
{
    for (size_t i = 0; i < status->n_revisions; i++)
        if (strcmp(status->revisions[i].workload, workloads[order_of[index]]) == 0)
            return number_of(status->revisions[i].hash);
    return NONE;
}

/* It releases something or has failed, and nobody takes that as it is. */
static bool is_unsettled(const struct world *world, const struct waves_canary *canary)
{
    return canary->phase == PHASE_Progressing ||
           (canary->phase == PHASE_Failed && world->accepted != number_of(canary->applied));
}

/* An earlier Application of the train comes first in the first wave, by what is seen. */
static bool train_holds_first(const struct world *world, const struct seen *seen, int index)
{
    for (int i = 0; i < CLUSTERS; i++)
        if (wave_of[i] == 0 && order_of[i] < order_of[index] && seen->clusters[i].n_canaries > 0 &&
            is_unsettled(world, &seen->canaries[i]))
            return true;
    return false;
}

/* What comes before a place in the plan. */
static bool is_before(int one, int other)
{
    return wave_of[one] < wave_of[other] ||
           (wave_of[one] == wave_of[other] && order_of[one] < order_of[other]);
}

/* Everything before the place has promoted the revision, but for failures that may be. */
static const char *check_go(const struct world *world, const struct seen *seen, int index,
                            const struct waves_status *status)
{
    int failed[WAVES] = {0};

    for (int i = 0; i < CLUSTERS; i++) {
        const struct waves_canary *canary = &seen->canaries[i];
        uint8_t wanted = wanted_at(status, i);
        int wave = wave_of[i];
        bool is_failed = canary->phase == PHASE_Failed && number_of(canary->applied) == wanted &&
                         world->accepted != wanted;
        failed[wave] += is_failed;
        if (!is_before(i, index))
            continue;
        if (seen->clusters[i].n_canaries == 0) {
            if (wave == wave_of[index])
                return "a Canary is let go although nobody knows what comes before it in the train";
            continue;
        }
        bool taken = canary->phase == PHASE_Failed && world->accepted == number_of(canary->applied);
        if (wave == 0 && canary->phase == PHASE_Failed && !is_failed && !taken)
            return "a Canary is let go although the first wave has failed";
        if (canary->phase != PHASE_Failed &&
            (canary->phase == PHASE_Progressing || number_of(canary->promoted) != wanted))
            return "a Canary is let go before all that come first have promoted their revision";
    }
    for (int wave = 0; wave <= wave_of[index]; wave++)
        if (failed[wave] > allowed(wave))
            return "a Canary is let go although more have failed than may";
    if (seen->clusters[0].n_canaries == 0)
        return "a Canary is let go although nobody knows the first wave";
    return NULL;
}

static const char *check_step(const struct world *world, const struct seen *seen,
                              const struct waves_out *out, const struct waves_step *step)
{
    int index = (int)step->cluster;
    const struct place *place = &world->places[index];

    if (place->lost)
        return "something is written to a cluster that cannot be reached";
    if (step->hold && place->moment == ROUTED)
        return "a Canary is held that has requests";
    if (place->suspended)
        return "what a person has suspended is taken over";
    if (wave_of[index] == 0) {
        if (step->hold == train_holds_first(world, seen, index))
            return NULL;
        return step->hold ? "a Canary of the first wave is held"
                          : "a Canary of the first wave is let go before its turn in the train";
    }
    if (step->hold || world->let_go[index])
        return NULL;
    return check_go(world, seen, index, &out->status);
}

/* Soak and gate are never passed over. */
static const char *check_passed(const struct world *from, const struct world *to)
{
    bool same = from->written && strcmp(from->name, to->name) == 0;

    for (int i = 0; i < WAVES; i++) {
        if (!to->passed[i] || (same && from->passed[i]))
            continue;
        if (plan.waves[i].soak_ms > 0 && !(same && from->completed[i] == LONG_AGO))
            return "a wave begins before the soak of the one before has passed";
        if (plan.waves[i].gate && from->approved != to->revision[0])
            return "a wave begins without the gate";
    }
    return NULL;
}

/* Who is let go by the plan, and not known to have ended, has room. */
static const char *check_room(const struct world *world)
{
    int in_wave[WAVES] = {0}, all = 0, weight = 0;

    for (int i = 0; i < CLUSTERS; i++) {
        bool counts = world->places[i].freed || world->places[i].pending == TO_GO;
        in_wave[wave_of[i]] += counts;
        all += counts;
        weight += counts ? replicas[i] : 0;
    }
    for (int i = 0; i < WAVES; i++)
        if (plan.waves[i].max_concurrent > 0 && in_wave[i] > plan.waves[i].max_concurrent)
            return "more Canaries of a wave are let go than may be";
    if (plan.max_concurrent > 0 && all > plan.max_concurrent)
        return "more Canaries are let go than the budget allows";
    if (plan.max_replicas_percent > 0 && weight > ALL_REPLICAS * plan.max_replicas_percent / 100)
        return "Canaries with more replicas are let go than the budget allows";
    return NULL;
}

/* No requests reach a revision that the waves before have not promoted, unless it came to a
 * cluster that had been let go. */
static const char *check_seen(const struct world *world)
{
    for (int i = 0; i < CLUSTERS; i++) {
        const struct place *place = &world->places[i];
        if (wave_of[i] > 0 && place->moment == ROUTED && !place->raced &&
            (is->bad >> place->applied & 1U))
            return "a bad revision is seen behind its wave";
    }
    return NULL;
}

/* --- the controller */

static void take_status(struct world *world, const struct waves_status *status)
{
    world->written = true;
    for (int i = 0; i < CLUSTERS; i++)
        world->revision[order_of[i]] = wanted_at(status, i);
    memset(world->name, 0, sizeof(world->name));
    (void)snprintf(world->name, sizeof(world->name), "%s", status->revision);
    for (size_t i = 0; i < status->n_clusters; i++)
        world->places[i].noted = status->clusters[i].replicas > 0;
    memset(world->let_go, 0, sizeof(world->let_go));
    for (size_t i = 0; i < status->n_let_go; i++)
        world->let_go[status->let_go[i][0] - 'a'] = true;
    for (size_t i = 0; i < status->n_waves; i++) {
        int64_t at = status->waves[i].completed_ms;
        world->completed[i] = at == 0 ? NEVER : at == NOW_MS ? NOW : LONG_AGO;
        world->passed[i] = status->waves[i].passed;
    }
}

/* With what the rules want to look at. */
static void decide(struct arena *arena, struct world *to, struct seen *seen, struct waves_out *out)
{
    for (int round = 0; round < CLUSTERS + 2; round++) {
        waves_decide(arena, &seen->facts, out);
        if (out->n_looks == 0 && !out->ask)
            return;
        for (size_t i = 0; i < out->n_looks; i++) {
            size_t at = out->looks[i].cluster;
            seen->canaries[at].target = hashes[to->places[at].target];
            to->places[at].weighed = plan.max_replicas_percent > 0;
            seen->canaries[at].replicas = to->places[at].weighed ? replicas[at] : 0;
        }
        if (!out->ask)
            continue;
        if (to->asked == number_of(out->status.revision))
            return;
        to->asked = number_of(out->status.revision);
        seen->facts.answer = (struct waves_answer){.wave = "w0",
                                                   .revision = hashes[to->asked],
                                                   .open = to->approved == to->asked,
                                                   .at_ms = NOW_MS};
    }
}

/* Whoever is not held has something to do. */
static const char *check_quiet(const struct world *world, const struct seen *seen,
                               const struct waves_out *out)
{
    if (out->n_steps > 0)
        return NULL;
    for (int i = 0; i < CLUSTERS; i++) {
        const struct place *place = &world->places[i];
        bool is_over = !world->let_go[i] || (place->moment == HAS_FAILED &&
                                             place->applied == world->revision[order_of[i]]);
        if (wave_of[i] > 0 && !place->lost && !place->held && !place->suspended &&
            place->moment <= HAS_FAILED && is_over)
            return "a Canary of a later wave rests and is not held";
        if (wave_of[i] > 0 || place->lost || place->suspended)
            continue;
        bool waits = train_holds_first(world, seen, i);
        if (waits && !place->held && place->moment <= HAS_FAILED)
            return "a Canary of a later Application rests in the first wave and is not held";
        if (!waits && place->held)
            return "a Canary of the first wave is held, and nothing comes first";
    }
    return NULL;
}

static const char *act(const struct world *from, struct world *to)
{
    struct arena *arena = arena_new();
    struct seen seen;
    struct waves_out out;
    const char *broken = NULL;

    see_all(from, &seen);
    decide(arena, to, &seen, &out);
    take_status(to, &out.status);
    for (size_t i = 0; i < out.n_steps && !broken; i++) {
        struct place *place = &to->places[out.steps[i].cluster];
        broken = check_step(from, &seen, &out, &out.steps[i]);
        place->pending = out.steps[i].hold ? TO_HOLD : TO_GO;
        place->changed = false;
    }
    if (!broken)
        broken = check_passed(from, to);
    if (!broken)
        broken = check_room(to);
    if (!broken)
        broken = check_quiet(to, &seen, &out);
    arena_free(arena);
    return broken;
}

/* --- what happens */

static bool is_busy(const struct world *world)
{
    for (int i = 0; i < CLUSTERS; i++)
        if (world->places[i].pending != NOTHING)
            return true;
    return false;
}

static void drop_pending(struct world *world)
{
    for (int i = 0; i < CLUSTERS; i++)
        world->places[i].pending = world->places[i].changed = 0;
}

/* The first of what is to be written; a conflict or a cluster that is lost ends the rest. */
static void perform(struct world *to)
{
    int i = 0;

    while (to->places[i].pending == NOTHING)
        i++;
    struct place *place = &to->places[i];
    if (place->changed || place->lost) {
        drop_pending(to);
        return;
    }
    place->held = place->pending == TO_HOLD;
    place->freed = place->pending == TO_GO && wave_of[i] > 0;
    if (place->held)
        place->raced = false;
    place->pending = NOTHING;
}

static struct move *add(struct move *moves, int *count, const struct world *from, const char *what,
                        int cluster)
{
    struct move *move = &moves[(*count)++];

    move->to = *from;
    (void)snprintf(move->what, sizeof(move->what), "%s%s%s", cluster >= 0 ? names[cluster] : "",
                   cluster >= 0 ? ": " : "", what);
    return move;
}

static bool may_fail(const struct place *place, int wave)
{
    return (is->bad >> place->applied & 1U) || (is->flaky && wave == 2 - is->flaky);
}

/* The controller of the member cluster. */
static void member_moves(const struct world *from, int i, struct move *moves, int *count)
{
    const struct place *place = &from->places[i];
    struct place *to;

    if (place->held || place->suspended)
        return;
    bool other = place->target != place->applied;
    if (place->moment <= HAS_FAILED && other && place->target != place->promoted) {
        to = &add(moves, count, from, "begins", i)->to.places[i];
        to->moment = BEGUN;
        to->applied = place->target;
        to->changed = place->pending != NOTHING;
    } else if (place->moment >= BEGUN && other) {
        to = &add(moves, count, from, "starts over", i)->to.places[i];
        to->moment = BEGUN;
        to->applied = place->target;
        to->changed = place->pending != NOTHING;
    } else if (place->moment == BEGUN) {
        to = &add(moves, count, from, "gets requests", i)->to.places[i];
        to->moment = ROUTED;
        to->changed = place->pending != NOTHING;
    } else if (place->moment == ROUTED) {
        if (!(is->bad >> place->applied & 1U)) {
            to = &add(moves, count, from, "promotes", i)->to.places[i];
            to->moment = RESTS;
            to->promoted = place->applied;
            to->changed = place->pending != NOTHING;
        }
        if (may_fail(place, wave_of[i])) {
            to = &add(moves, count, from, "fails", i)->to.places[i];
            to->moment = HAS_FAILED;
            to->changed = place->pending != NOTHING;
        }
    }
}

static void outer_moves(const struct world *from, int i, struct move *moves, int *count)
{
    const struct place *place = &from->places[i];
    struct place *to;

    if (place->target + 1 < is->revisions) {
        to = &add(moves, count, from, "the next revision is delivered", i)->to.places[i];
        to->target++;
        to->raced =
            wave_of[i] > 0 && !place->suspended && (!place->held || place->pending == TO_GO);
    }
    if (!place->lost && from->losses < is->losses) {
        struct move *move = add(moves, count, from, "is lost", i);
        to = &move->to.places[i];
        move->to.losses++;
        to->lost = true;
        to->view.applied = place->applied;
        to->view.promoted = place->promoted;
        to->view.moment = place->moment;
        to->view.held = place->held;
    }
    if (place->lost) {
        to = &add(moves, count, from, "comes back", i)->to.places[i];
        to->lost = to->unknown = false;
        memset(&to->view, 0, sizeof(to->view));
    }
}

/* The controller of the plan ends, and begins with nothing but what is written. */
static void crash(const struct world *from, struct move *moves, int *count)
{
    struct world *to = &add(moves, count, from, "the controller is killed", -1)->to;

    to->crashes++;
    to->asked = NONE;
    drop_pending(to);
    for (int i = 0; i < CLUSTERS; i++)
        to->places[i].weighed = false;
    for (int i = 0; i < CLUSTERS; i++)
        if (to->places[i].lost) {
            to->places[i].unknown = true;
            memset(&to->places[i].view, 0, sizeof(to->places[i].view));
        }
}

static void person_moves(const struct world *from, struct move *moves, int *count)
{
    if (from->crashes < is->crashes)
        crash(from, moves, count);
    for (int i = 0; i < WAVES; i++)
        if (from->completed[i] == NOW && plan.waves[i].soak_ms > 0)
            add(moves, count, from, "time passes", -1)->to.completed[i] = LONG_AGO;
    if (plan.waves[0].gate && from->revision[0] != NONE && from->approved != from->revision[0]) {
        struct world *to = &add(moves, count, from, "somebody approves", -1)->to;
        to->approved = from->revision[0];
        to->asked = NONE;
    }
    for (int i = 0; is->accepts && i < CLUSTERS; i++)
        if (from->places[i].moment == HAS_FAILED && from->accepted != from->places[i].applied)
            add(moves, count, from, "somebody accepts the failure", -1)->to.accepted =
                from->places[i].applied;
}

int world_moves(const struct world *from, struct move moves[MAX_MOVES], const char **broken)
{
    int count = 0;

    *broken = check_seen(from);
    for (int i = 0; i < CLUSTERS; i++) {
        member_moves(from, i, moves, &count);
        outer_moves(from, i, moves, &count);
    }
    person_moves(from, moves, &count);
    if (is_busy(from)) {
        perform(&add(moves, &count, from, "the controller writes", -1)->to);
        return count;
    }
    struct move *move = add(moves, &count, from, "the controller decides", -1);
    const char *why = act(from, &move->to);
    if (!*broken)
        *broken = why;
    if (memcmp(&move->to, from, sizeof(*from)) == 0)
        count--;
    return count;
}

bool world_is_at_end(const struct world *world)
{
    int last = is->revisions - 1;

    for (int i = 0; i < CLUSTERS; i++) {
        const struct place *place = &world->places[i];
        if (place->target != last || place->promoted != last || place->moment != RESTS ||
            place->lost || place->held != (wave_of[i] > 0))
            return false;
    }
    for (int i = 0; i < CLUSTERS; i++)
        if (world->revision[order_of[i]] != last)
            return false;
    return !is_busy(world);
}
