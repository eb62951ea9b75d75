#include "ctl/simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/simulate/cluster.h"
#include "decide/decide.h"
#include "decide/waiting.h"
#include "metric/backend.h"
#include "proto/webhook_message.h"
#include "router/router.h"
#include "tick/wake.h"

enum { BEGIN_MS = 1700000000 };

struct player {
    struct arena *arena;
    const struct settings *settings;
    struct cluster cluster;
    struct canary *canary;
    struct simulation *out;
    struct simulation_step **last;
    const char *broken, *mistake;
    const char *warned; /* the last run of the rules with a warning; NULL if none */
    struct wake wake;
    int64_t now_ms, pushed_ms;
    bool pushed;
    int runs;
};

/* --- one run of the rules */

static const char *add_name(struct arena *arena, const char *list, const char *name)
{
    return arena_printf(arena, "%s%s%s", list, *list ? ", " : "", name);
}

static void answer_hook(struct player *p, struct tick *tick, const struct need *need,
                        struct simulation_step *step)
{
    const struct canary_webhook *webhook = &tick->canary->analysis.webhooks[need->webhook];
    bool passed = webhook->type != HOOK_ROLLBACK;

    const char *text = webhook_is_load(webhook->metadata)
                           ? assumed_load(tick->arena, &tick->canary->analysis, need->webhook)
                           : "simulated";

    fact_hook(tick, need, (struct hook_answer){.passed = passed, .text = text});
    step->hooks = add_name(p->arena, step->hooks, webhook->name);
}

/* Each metric is listed once, however many queries it has. */
static void note_metric(struct player *p, const struct tick *tick, const struct need *need,
                        struct simulation_step *step)
{
    const char *at = strchr(need->metric.id, '[');
    int index = at ? (int)strtol(at + 1, NULL, 10) : -1;

    if (need->metric.query && !assumed_is_count(&need->metric) && index >= 0 &&
        index < tick->canary->analysis.n_metrics)
        step->metrics =
            add_name(p->arena, step->metrics, tick->canary->analysis.metrics[index].name);
}

/* A question to the rules, or to the router. */
struct question {
    struct player *player;
    struct simulation_step *step;
    const struct router *router;
    struct weights weights;
};

static void answer(void *arg, struct tick *tick, const struct need *need)
{
    struct question *question = arg;
    struct player *p = question->player;

    if (need->kind == NEED_HOOK)
        answer_hook(p, tick, need, question->step);
    else
        cluster_answer(&p->cluster, tick, need);
    if (need->kind == NEED_METRIC)
        note_metric(p, tick, need, question->step);
}

static enum rule_result ask_rules(void *arg, struct tick *tick)
{
    (void)arg;
    return decide(tick);
}

/* False if a rule broke, or never gets what it needs. */
static bool run_rules(struct player *p, struct tick *tick, struct simulation_step *step)
{
    struct question question = {.player = p, .step = step};
    enum rule_result verdict = tick_solve(tick, ask_rules, answer, &question);

    p->broken = tick->broken                  ? arena_strdup(p->arena, tick->broken)
                : verdict == RULE_NEEDS_FACTS ? "the rules ask for more and more"
                                              : NULL;
    return !p->broken;
}

static enum rule_result ask_router(void *arg, struct tick *tick)
{
    struct question *question = arg;

    return question->router->get(tick, &question->weights);
}

/* Asks the router for the current routing; if it does not know, everything is on the primary. */
static void read_weights(struct player *p, struct arena *arena, struct simulation_step *step)
{
    struct tick *tick = tick_new(arena, p->canary, p->settings, p->now_ms, true);
    struct question question = {.player = p,
                                .step = step,
                                .router = router_of(tick->provider, tick->canary),
                                .weights = {.primary = WEIGHT_ALL}};

    if (question.router && question.router->weighted)
        (void)tick_solve(tick, ask_router, answer, &question);
    step->primary = question.weights.primary;
    step->canary = question.weights.canary;
    step->mirrored = question.weights.mirrored;
    step->matched = question.weights.matched;
}

static void note_events(struct player *p, const struct tick *tick, struct simulation_step *step)
{
    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        if (effect->kind == EFFECT_EVENT) {
            step->said = arena_printf(p->arena, "%s%s\n", step->said, effect->text);
            if (strcmp(effect->event_type, "Warning") == 0)
                p->warned = arena_strdup(p->arena, effect->text);
        }
        if (effect->kind == EFFECT_HOOK)
            step->hooks = add_name(p->arena, step->hooks,
                                   tick->canary->analysis.webhooks[effect->webhook].name);
    }
}

static bool see_canary(struct player *p, struct errinfo *ei)
{
    struct canary *canary = ARENA_NEW(p->arena, struct canary);

    if (accept_view(p->arena, p->cluster.copies.canary, canary, &p->mistake, ei) != ERR_OK)
        return false;
    p->canary = canary;
    return true;
}

/* Time until the rules run again; -1 if they have nothing to do. */
static int64_t pause_after(struct player *p, const struct tick *tick, bool wrote)
{
    int64_t interval = tick_interval_ms(tick);
    int64_t after;

    wake_ran(&p->wake, tick->plan, p->canary->status.phase, p->now_ms, interval);
    after = wake_after(&p->wake, tick->plan, p->now_ms, p->now_ms, interval);
    /* The cluster catches up at once, and its watch events wake the Canary. */
    if (wrote)
        return 0;
    return wake_sleeps(tick->plan) ? -1 : after < 0 ? interval : after;
}

/* A user would resume what the spec has paused, as every other gate is opened. */
static void resume_at_gate(struct player *p)
{
    struct json_object *status = json_at(p->cluster.copies.canary, "status", NULL);

    if (json_bool_at(status, false, "paused", "gate", NULL))
        json_del(status, "paused");
}

/* One run, with its own arena; the result is that of pause_after(). */
static int64_t run_in(struct player *p, struct arena *arena, struct simulation_step *step)
{
    struct tick *tick = tick_new(arena, p->canary, p->settings, p->now_ms, true);
    struct errinfo ei;

    *step = (struct simulation_step){
        .at_ms = p->now_ms - p->pushed_ms, .hooks = "", .metrics = "", .said = ""};
    tick->mistake = p->mistake;
    tick->due = wake_is_due(&p->wake, p->canary->status.phase, p->now_ms, tick_interval_ms(tick));
    if (!run_rules(p, tick, step))
        return -1;
    note_events(p, tick, step);
    bool wrote = copies_carry_out(&p->cluster.copies, tick);
    resume_at_gate(p);
    if (!see_canary(p, &ei)) {
        p->broken = arena_strdup(p->arena, ei.text);
        return -1;
    }
    cluster_settle(&p->cluster, p->canary);
    step->phase = p->canary->status.phase;
    int64_t pause = pause_after(p, tick, wrote);
    read_weights(p, arena, step);
    return pause;
}

static int64_t run_once(struct player *p, struct simulation_step *step)
{
    struct arena *arena = arena_new();
    int64_t pause = run_in(p, arena, step);

    arena_free(arena);
    return pause;
}

/* --- the release */

static bool is_news(const struct simulation_step *step, const struct simulation_step *before)
{
    return !before || step->phase != before->phase || step->canary != before->canary ||
           step->mirrored != before->mirrored || step->matched != before->matched || *step->hooks ||
           *step->metrics || *step->said;
}

static void keep(struct player *p, const struct simulation_step *step,
                 const struct simulation_step **before)
{
    if (!p->pushed || !is_news(step, *before))
        return;
    struct simulation_step *kept = ARENA_NEW(p->arena, struct simulation_step);
    *kept = *step;
    *before = kept;
    *p->last = kept;
    p->last = &kept->next;
}

/* Runs the rules until nothing is left to do. */
static void play(struct player *p)
{
    const struct simulation_step *before = NULL;

    for (;; p->runs++) {
        struct simulation_step step;
        if (p->runs == SIMULATE_MAX_RUNS) {
            p->out->unfinished = true;
            return;
        }
        int64_t pause = run_once(p, &step);
        if (p->broken)
            return;
        keep(p, &step, &before);
        if (pause < 0)
            return;
        p->now_ms += pause;
    }
}

/* --- the objects */

static const char *const of_the_server[] = {"resourceVersion", "uid", "generation", "managedFields",
                                            "creationTimestamp"};

/* The object as a manifest. */
static struct json_object *as_written(struct arena *arena, const struct copy *copy)
{
    struct json_object *out = json_copy(arena, copy->now);
    struct json_object *metadata = json_sub(out, "metadata");

    json_del(out, "status");
    for (size_t i = 0; i < sizeof(of_the_server) / sizeof(of_the_server[0]); i++)
        json_del(metadata, of_the_server[i]);
    json_set_str(out, "apiVersion", kube_api_version(arena, copy->resource));
    json_set_str(out, "kind", copy->resource->kind);
    return out;
}

static bool is_changed(struct arena *arena, const struct copy *copy)
{
    struct copy base = *copy;

    base.now = copy->base;
    return !json_same(as_written(arena, copy), as_written(arena, &base));
}

static void list_objects(struct player *p)
{
    struct arena *arena = p->arena;
    size_t n = 0;

    p->out->made = json_own(arena, json_object_new_array());
    p->out->changed = json_own(arena, json_object_new_array());
    for (const struct copy *copy = p->cluster.copies.first; copy; copy = copy->next)
        n++;
    const struct copy **list = arena_array(arena, n, sizeof(void *));
    for (const struct copy *copy = p->cluster.copies.first; copy; copy = copy->next)
        list[--n] = copy; /* in the order of their creation */
    for (const struct copy *copy = p->cluster.copies.first; copy; copy = copy->next, n++) {
        const struct copy *one = list[n];
        if (!one->now || kube_resource_same(one->resource, &kube_knative_revisions))
            continue;
        if (!one->base)
            json_object_array_add(p->out->made, json_object_get(as_written(arena, one)));
        else if (is_changed(arena, one))
            json_object_array_add(p->out->changed, json_object_get(as_written(arena, one)));
    }
}

/* --- the whole simulation */

/* --- what it waits for: a rule that waits reports this in a condition, or warns */

static struct json_object *condition_of(const struct canary *canary, const char *type)
{
    struct json_object *found =
        json_find(json_at(canary->status.json, "conditions", NULL), "type", type, NULL);
    const char *status = json_str_at(found, "status", NULL);

    return status && strcmp(status, "False") == 0 ? found : NULL;
}

/* The sentence in the condition Accepted=False. */
static const char *refusal(const struct canary *canary)
{
    return json_str_at(condition_of(canary, "Accepted"), "message", NULL);
}

static const char *waits_for(const struct player *p)
{
    struct json_object *canary = json_own(p->arena, json_object_new_object());
    struct waiting waiting;

    json_set(canary, "status", p->canary->status.json);
    waiting_of(p->arena, canary, &waiting);
    if (waiting.kind >= WAITING_WAITS || (*waiting.text && !p->warned))
        return waiting.text;
    return p->warned ? p->warned : "no rule says what for; please report it with these files";
}

static void describe(struct player *p)
{
    const struct canary *canary = p->canary;
    const char *provider = canary->provider ? canary->provider : p->settings->mesh_provider;
    const struct router *router = router_of(provider, canary);
    bool split = !router || router_splits(router);

    p->out->provider = provider;
    p->out->strategy = strategy_name(split ? canary->strategy : STRATEGY_BLUE_GREEN);
    p->out->interval_ms = tick_canary_interval_ms(canary, p->settings);
    p->out->assumed = p->cluster.assumed;
}

/* A Canary without a status. */
static struct json_object *fresh(struct arena *arena, struct json_object *canary)
{
    struct json_object *copy = json_copy(arena, canary);

    if (!json_object_is_type(copy, json_type_object))
        return copy;
    json_del(copy, "status");
    json_set_str(json_sub(copy, "metadata"), "uid", "simulated");
    return copy;
}

/* Why the initialisation did not end; NULL if it did. */
static const char *hindrance(const struct player *p)
{
    const char *text = p->broken ? p->broken : refusal(p->canary);

    if (!text && p->canary->suspend)
        return "the Canary is suspended";
    if (!text && p->canary->status.phase != PHASE_Initialized)
        return arena_printf(p->arena, "the Canary stays %s: %s",
                            phase_name(p->canary->status.phase), waits_for(p));
    return text;
}

enum err simulate(struct arena *arena, const struct settings *settings, struct json_object *canary,
                  const struct simulation_source *source, struct simulation *out,
                  struct errinfo *ei)
{
    struct simulation_step *steps = NULL;
    struct player p = {.arena = arena,
                       .settings = settings,
                       .out = out,
                       .last = &steps,
                       .now_ms = BEGIN_MS * INT64_C(1000)};

    *out = (struct simulation){0};
    p.cluster = (struct cluster){.arena = arena,
                                 .source = source,
                                 .copies = {.arena = arena, .canary = fresh(arena, canary)},
                                 .assumed = json_own(arena, json_object_new_array())};
    if (!see_canary(&p, ei))
        return ERR_INVALID;
    play(&p);
    list_objects(&p);
    out->refused = hindrance(&p);
    describe(&p);
    if (out->refused || out->unfinished)
        return ERR_OK;
    p.pushed_ms = p.now_ms;
    p.pushed = true;
    cluster_push(&p.cluster, p.canary);
    play(&p);
    out->refused = p.broken;
    out->steps = steps;
    return ERR_OK;
}
