#include "fleet/daemon/wave.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "fleet/daemon/wave_parts.h"
#include "fleet/rules/waves.h"
#include "tick/edit.h"

/* Debounce: changes within this time are evaluated together. */
enum { APART_MS = 500 };
/* A new process waits this long for its clusters' objects before it calls a cluster unreachable. */
enum { BEGIN_MS = 3000 };
/* A round starts no steps after this time; the rules are then asked again. */
enum { STEPS_MS = 5000 };
/* Rounds take at most one tenth of the time. */
enum { SHARE = 10 };

static const struct machine_state states[] = {
    [WAVE_RESTING] = {.name = "resting", .next = 1u << WAVE_RECORDING | 1u << WAVE_STEPPING},
    [WAVE_RECORDING] = {.name = "recording", .next = 1u << WAVE_RESTING | 1u << WAVE_STEPPING},
    [WAVE_STEPPING] = {.name = "stepping", .next = 1u << WAVE_RESTING},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "fleet_plan_state"};

static void wave_set_state(struct wave *wave, enum wave_state state)
{
    machine_step(&machine, wave->state, state, NULL, "a plan of releases",
                 LOG_STR("plan", wave->label));
    wave->state = state;
}

/* --- when it is settled */

static void on_timer(void *arg)
{
    struct wave *wave = arg;

    wave->timer = NULL;
    wave->awake = true;
    fleet_daemon_wake_wave(wave->fleet, wave);
}

static void settle_in(struct wave *wave, int64_t ms)
{
    int64_t at = clock_monotonic_ms() + ms;

    if (wave->awake || (wave->timer && wave->timer_at <= at))
        return;
    timer_stop(wave->timer);
    wave->timer = timer_start(wave->fleet->context.loop, ms, 0, on_timer, wave);
    wave->timer_at = at;
}

void wave_wake(struct wave *wave)
{
    int64_t least = wave->cost_ms * SHARE > APART_MS ? wave->cost_ms * SHARE : APART_MS;
    int64_t apart = wave->settled_ms + least - clock_monotonic_ms();

    wave->due = true;
    if (wave->state == WAVE_RESTING)
        settle_in(wave, wave->settled_ms > 0 && apart > 0 ? apart : 0);
}

static void on_seen(void *arg)
{
    wave_wake(arg);
}

/* --- the end of a round */

static void end_round(struct wave *wave)
{
    arena_free(wave->round.arena);
    wave->round = (struct round){0};
    if (wave->state != WAVE_RESTING)
        wave_set_state(wave, WAVE_RESTING);
    if (wave->due)
        wave_wake(wave);
}

static void on_step(void *arg, struct wave_step *step);

/* The steps of one cluster are adjacent: starting them at a distance avoids waiting for that
 * cluster. */
static struct wave_step_spec *next_step(struct round *round)
{
    size_t at = round->next++ * round->stride % round->n_steps;

    return &round->steps[at];
}

static void go_on(struct wave *wave)
{
    struct round *round = &wave->round;
    bool in_time = clock_monotonic_ms() < round->until_ms;

    while (in_time && wave->n_steps < WAVE_MAX_STEPS && round->next < round->n_steps) {
        struct wave_step *step =
            wave_step_start(&wave->fleet->context, next_step(round), on_step, wave);
        if (step)
            wave->steps[wave->n_steps++] = step;
    }
    if (round->next < round->n_steps)
        wave->due = true;
    if (wave->n_steps == 0)
        end_round(wave);
}

static void on_step(void *arg, struct wave_step *step)
{
    struct wave *wave = arg;

    for (int i = 0; i < wave->n_steps; i++)
        if (wave->steps[i] == step)
            wave->steps[i] = wave->steps[--wave->n_steps];
    wave_step_free(step);
    wave->due = true;
    go_on(wave);
}

void wave_abort(struct wave *wave, const struct member *member)
{
    workload_probes_drop(wave->probes, member);
    if (wave->state == WAVE_STEPPING)
        wave->round.until_ms = 0; /* no more steps are started there */
    for (int i = wave->n_steps; i > 0; i--)
        if (i <= wave->n_steps && wave_step_member(wave->steps[i - 1]) == member)
            on_step(wave, wave->steps[i - 1]);
}

static void take_steps(struct wave *wave)
{
    enum {
        STRIDE = 7919,
        OTHER = 7907
    }; /* primes, at least one of which does not divide the number of steps */
    struct round *round = &wave->round;

    round->next = 0;
    round->stride = round->n_steps % STRIDE ? STRIDE : OTHER;
    round->until_ms = clock_monotonic_ms() + STEPS_MS;
    wave_set_state(wave, WAVE_STEPPING);
    go_on(wave);
}

static void retry_later(struct wave *wave, const struct errinfo *info)
{
    log_warn("fleet_plan_not_written", NULL, info->text, LOG_STR("plan", wave->label));
    end_round(wave);
    wave->due = true;
    settle_in(wave, backoff_next(&wave->backoff, 0));
}

static void on_read(void *arg, const struct kube_result *result)
{
    struct wave *wave = arg;

    wave->ask = NULL;
    if (result->err == ERR_OK)
        management_cache_learn_plan(wave->fleet->management, result->body);
    else if (result->err != ERR_NOT_FOUND) {
        retry_later(wave, result->info);
        return;
    }
    wave->due = true;
    end_round(wave);
}

static struct kube_request request_of(const struct wave *wave, enum kube_verb verb)
{
    return (struct kube_request){.verb = verb,
                                 .resource = &fleet_plans_resource,
                                 .namespace_ = wave->namespace_,
                                 .name = wave->name};
}

/* Conflict: starts again from the current object. */
static void read_again(struct wave *wave)
{
    const struct kube_request request = request_of(wave, KUBE_GET);

    wave->ask =
        tracked_send(&wave->fleet->context, wave->fleet->context.kube, &request, on_read, wave);
}

static void on_recorded(void *arg, const struct kube_result *result)
{
    struct wave *wave = arg;

    wave->ask = NULL;
    if (result->err == ERR_CONFLICT || result->err == ERR_NOT_FOUND) {
        read_again(wave);
        return;
    }
    if (result->err != ERR_OK) {
        retry_later(wave, result->info);
        return;
    }
    backoff_reset(&wave->backoff);
    management_cache_learn_plan(wave->fleet->management, result->body);
    take_steps(wave);
}

/* --- writes */

static bool has_finalizer(struct json_object *tree)
{
    return edit_has_finalizer(tree, WAVE_FINALIZER);
}

static void send_record(struct wave *wave, struct json_object *tree, struct json_object *body,
                        const char *sub)
{
    struct kube_request request = request_of(wave, KUBE_MERGE_PATCH);

    request.sub = sub;
    request.body = body;
    json_set_str(json_sub(body, "metadata"), "resourceVersion",
                 json_str_at(tree, "metadata", "resourceVersion", NULL));
    wave_set_state(wave, WAVE_RECORDING);
    wave->ask =
        tracked_send(&wave->fleet->context, wave->fleet->context.kube, &request, on_recorded, wave);
}

/* The steps of this round are not carried out; the next round will find them again. */
static void write_finalizer(struct wave *wave, struct json_object *tree, bool wanted)
{
    struct json_object *body = json_own(wave->round.arena, json_object_new_object());

    json_set(json_sub(body, "metadata"), "finalizers",
             edit_finalizers(wave->round.arena, tree, WAVE_FINALIZER, wanted));
    wave->round.n_steps = 0;
    wave->due = true;
    send_record(wave, tree, body, NULL);
}

static void tell(struct wave *wave, const char *type, const char *reason, const char *text)
{
    struct arena *arena = arena_new();
    const struct event_object object = {.api_version =
                                            kube_api_version(arena, &fleet_plans_resource),
                                        .kind = fleet_plans_resource.kind,
                                        .namespace_ = wave->namespace_,
                                        .name = wave->name,
                                        .uid = wave->uid,
                                        .resource_version = ""};

    if (!wave->said || strcmp(wave->said, reason) != 0) {
        free(wave->said);
        wave->said = heap_strdup(reason);
        log_info("fleet_plan", NULL, text, LOG_STR("plan", wave->label), LOG_STR("phase", reason));
        event_record(wave->fleet->context.events, &object, type, reason, text);
    }
    arena_free(arena);
}

/* False if the status needs no change. */
static bool write_status(struct wave *wave, struct json_object *tree, struct json_object *status)
{
    struct arena *arena = wave->round.arena;
    struct json_object *old = json_at(tree, "status", NULL);
    struct json_object *patch = json_merge_diff(arena, old, status);

    if (!patch)
        return false;
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set(body, "status", patch);
    send_record(wave, tree, body, "status");
    return true;
}

/* --- a round */

static void on_gate(void *arg, bool open, const char *says)
{
    struct wave *wave = arg;

    wave->gate = NULL;
    wave->answer.open = open;
    free(wave->answer.says);
    wave->answer.says = heap_strdup(says);
    wave->answer.at_ms = clock_wall_ms();
    wave_wake(wave);
}

static void ask_gate(struct wave *wave, const struct releaseplan *plan,
                     const struct releaseplan_wave *spec, const char *revision)
{
    if (wave->gate)
        return;
    free(wave->answer.wave);
    free(wave->answer.revision);
    free(wave->answer.says);
    wave->answer =
        (struct answer){.wave = heap_strdup(spec->name), .revision = heap_strdup(revision)};
    wave->gate = wave_gate_ask(&wave->fleet->context, plan, spec, revision, on_gate, wave);
}

static void look(struct wave *wave, const struct wave_facts *facts, const struct waves_out *out)
{
    for (size_t i = 0; i < out->n_looks; i++) {
        const struct waves_step *at = &out->looks[i];
        const struct waves_cluster *cluster = &facts->clusters[at->cluster];
        const struct waves_canary *canary = &cluster->canaries[at->canary];
        if (facts->members[at->cluster].member)
            workload_probes_start(wave->probes, waves_key(wave->round.arena, cluster, canary),
                                  facts->members[at->cluster].member, canary->namespace_,
                                  canary->name, facts->plan.max_replicas_percent > 0);
    }
}

static void set_timer(struct wave *wave, const struct waves_out *out, int64_t now_ms)
{
    int64_t left = out->again_ms - now_ms;

    if (out->again_ms > 0)
        settle_in(wave, left > APART_MS ? left : APART_MS);
    if (out->ask) /* queried again if the response does not arrive */
        settle_in(wave, WAVES_GATE_MS);
    if (out->n_looks > 0)
        settle_in(wave, WAVES_GATE_MS);
}

/* Carries out the rules' steps after the status has been written. */
static void act(struct wave *wave, struct json_object *tree, const struct wave_facts *facts,
                const struct waves_out *out, int64_t now_ms)
{
    struct arena *arena = wave->round.arena;
    const struct releaseplan *plan = &facts->plan;
    struct json_object *old = json_at(tree, "status", NULL);
    bool holds = false;

    for (size_t i = 0; i < out->n_steps; i++) {
        const struct waves_step *step = &out->steps[i];
        const struct waves_canary *canary = &facts->clusters[step->cluster].canaries[step->canary];
        holds |= step->hold;
        if (facts->members[step->cluster].member)
            wave_add_step(wave, facts->members[step->cluster].member, canary->namespace_,
                          canary->name, step->hold);
    }
    size_t strays = wave_free_strays(wave, facts);
    bool ours = has_finalizer(tree);
    if (plan->deleting && !ours) { /* the plan is going away, and nothing more is written to it */
        take_steps(wave);
        return;
    }
    if (plan->deleting && out->given_back && strays == 0 && ours) {
        write_finalizer(wave, tree, false);
        return;
    }
    if (holds && !ours && !plan->deleting) {
        write_finalizer(wave, tree, true);
        return;
    }
    look(wave, facts, out);
    if (out->ask)
        ask_gate(wave, plan, out->ask, out->status.revision);
    set_timer(wave, out, now_ms);
    struct json_object *status = waves_status_json(arena, plan, &out->status, old, now_ms);
    tell(wave, out->status.phase == WAVES_Stopped ? "Warning" : "Normal",
         json_str_at(status, "phase", NULL),
         *out->status.message ? out->status.message : "the plan");
    if (!write_status(wave, tree, status))
        take_steps(wave);
}

/* An invalid plan keeps its holds, and lets go once it is deleted. */
static void tell_mistake(struct wave *wave, struct json_object *tree, const char *text)
{
    struct arena *arena = wave->round.arena;
    const struct wave_facts none = {0};
    const struct releaseplan plan = {.generation =
                                         json_int_at(tree, 0, "metadata", "generation", NULL)};
    struct waves_status status = waves_status_read(arena, tree);
    bool deleting = json_at(tree, "metadata", "deletionTimestamp", NULL) != NULL;

    if (deleting && wave_free_strays(wave, &none) == 0 && has_finalizer(tree)) {
        write_finalizer(wave, tree, false);
        return;
    }
    status.phase = WAVES_Pending;
    status.message = text;
    tell(wave, "Warning", "Invalid", text);
    if (!write_status(wave, tree,
                      waves_status_json(arena, &plan, &status, json_at(tree, "status", NULL),
                                        clock_wall_ms())))
        take_steps(wave);
}

static void decide(struct wave *wave, struct json_object *tree)
{
    struct arena *arena = wave->round.arena;
    int64_t now_ms = clock_wall_ms();
    struct wave_facts facts = {0};
    struct errinfo ei = {0};
    struct waves_out out;

    if (releaseplan_view(arena, tree, &facts.plan, &ei) != ERR_OK) {
        tell_mistake(wave, tree, ei.text);
        return;
    }
    struct member **before = wave->members;
    size_t n_before = wave->n_members;
    wave->members = NULL;
    wave->n_members = 0;
    const struct wave_source source = {.fleet = wave->fleet,
                                       .arena = arena,
                                       .label = wave->label,
                                       .probes = wave->probes,
                                       .now_ms = clock_monotonic_ms(),
                                       .member = wave_use,
                                       .arg = wave};
    wave_gather(&source, &facts);
    wave_let_go(wave, before, n_before);
    wave_watch(wave, &facts);
    if (facts.begins && clock_monotonic_ms() < wave->begun_ms + BEGIN_MS) {
        settle_in(wave, BEGIN_MS);
        end_round(wave);
        return;
    }
    const struct waves_status status = waves_status_read(arena, tree);
    const struct waves_facts known = {
        .plan = &facts.plan,
        .now_ms = now_ms,
        .clusters = facts.clusters,
        .n_clusters = facts.count,
        .status = &status,
        .answer = {.wave = wave->answer.wave,
                   .revision = wave->answer.at_ms > 0 ? wave->answer.revision : NULL,
                   .open = wave->answer.open,
                   .says = wave->answer.says,
                   .at_ms = wave->answer.at_ms}};
    waves_decide(arena, &known, &out);
    if (facts.trouble && out.status.phase == WAVES_Pending)
        out.status.message = facts.trouble;
    act(wave, tree, &facts, &out, now_ms);
}

bool wave_settle(struct wave *wave)
{
    struct json_object *tree;
    struct arena *arena;

    wave->awake = false;
    if (wave->state != WAVE_RESTING)
        return true;
    arena = arena_new();
    enum management_found found =
        management_cache_plan(wave->fleet->management, arena, wave->namespace_, wave->name, &tree);
    wave->settled_ms = clock_monotonic_ms();
    if (found != MANAGEMENT_FOUND) {
        arena_free(arena);
        if (found == MANAGEMENT_LATER)
            settle_in(wave, WAVES_LOOK_MS);
        return found != MANAGEMENT_NONE;
    }
    wave->due = false;
    wave->round = (struct round){.arena = arena};
    free(wave->uid);
    wave->uid = heap_strdup(json_str_at(tree, "metadata", "uid", NULL));
    decide(wave, tree);
    wave->cost_ms = clock_monotonic_ms() - wave->settled_ms;
    return true;
}

/* --- life */

struct wave *wave_new(struct fleet_daemon *fleet, const char *namespace_, const char *name)
{
    struct wave *wave = heap_alloc(sizeof(*wave));

    *wave =
        (struct wave){.fleet = fleet,
                      .begun_ms = clock_monotonic_ms(),
                      .namespace_ = heap_strdup(namespace_),
                      .name = heap_strdup(name),
                      .label = heap_printf("%s/%s", namespace_, name),
                      .backoff = {.min_ms = members_retry_ms(&fleet->context), .max_ms = 60000}};
    wave->probes = workload_probes_new(&fleet->context, on_seen, wave);
    return wave;
}

void wave_free(struct wave *wave)
{
    if (!wave)
        return;
    for (int i = 0; i < wave->n_steps; i++)
        wave_step_free(wave->steps[i]);
    tracked_free(wave->ask);
    wave_gate_free(wave->gate);
    workload_probes_free(wave->probes);
    timer_stop(wave->timer);
    wave_let_go(wave, wave->members, wave->n_members);
    arena_free(wave->round.arena);
    free(wave->watched);
    free(wave->answer.wave);
    free(wave->answer.revision);
    free(wave->answer.says);
    free(wave->said);
    free(wave->namespace_);
    free(wave->name);
    free(wave->label);
    free(wave->uid);
    free(wave);
}

const char *wave_namespace(const struct wave *wave)
{
    return wave->namespace_;
}

const char *wave_name(const struct wave *wave)
{
    return wave->name;
}

void wave_snapshot(const struct wave *wave, struct wave_snapshot *out)
{
    *out = (struct wave_snapshot){.state = machine_name(&machine, (int)wave->state),
                                  .phase = wave->said,
                                  .steps = wave->n_steps,
                                  .looks = workload_probes_under_way(wave->probes),
                                  .asks = wave->gate != NULL};
}
