/* The analysis of a Canary, from the steps of a Rollout or from its blue/green strategy. */
#include <string.h>

#include "ctl/convert/parts.h"
#include "tick/tick.h"

enum {
    MOST_WEIGHTS = 100,
    DEFAULT_INTERVAL_MS = 60 * 1000,
    MOST_ITERATIONS = 1000,
    MOST_REPLICAS = 10000,
    HALF = 50
};

/* The time at one weight; the first entry is before any weight. */
struct hold {
    int weight; /* in the unit of proto/weight.h */
    int64_t ms;
    bool gate; /* a pause without a duration */
};

struct plan {
    struct rollout *r;
    struct hold holds[MOST_WEIGHTS + 1];
    int n;                     /* number of weights */
    struct json_object *tests; /* from header routes, entries of analysis.match */
    int mirror;                /* percentage of the requests; 0 if none */
    int ready_percent;         /* 0 if not given */
    int replicas;              /* initial number for the canary; 0 if not given */
    const char *path;          /* path of the step being read */
};

static void lose(const struct plan *plan, const char *key, const char *text)
{
    conversion_lose(plan->r->conversion, plan->r->label,
                    arena_printf(plan->r->arena, "%s.%s", plan->path, key), "%s", text);
}

/* --- steps */

static void read_weight(struct plan *plan, struct json_object *value)
{
    int64_t weight,
        most = json_int_at(plan->r->canary, 100, "trafficRouting", "maxTrafficWeight", NULL);

    if (!json_to_int(value, &weight) || most < 1 || weight < 0 || weight > most) {
        lose(plan, "setWeight", "expected a weight from 0 to the largest one: it is left out");
        return;
    }
    weight = weight_of_total(weight, most);
    if (weight == 0 && plan->n == 0)
        return;
    if (weight <= plan->holds[plan->n].weight) {
        lose(plan, "setWeight", "weights rise until the promotion: one that does not is left out");
        return;
    }
    plan->holds[++plan->n] = (struct hold){.weight = (int)weight};
}

/* The sum, limited to a year. */
static int64_t longer(int64_t ms, int64_t more)
{
    const int64_t longest = (int64_t)366 * 24 * 3600 * 1000;

    return ms + more < longest ? ms + more : longest;
}

static void read_pause(struct plan *plan, struct json_object *pause)
{
    struct hold *hold = &plan->holds[plan->n];
    struct json_object *duration = json_at(pause, "duration", NULL);
    int64_t ms;

    if (!duration)
        hold->gate = true;
    else if (value_duration(duration, &ms))
        hold->ms = longer(hold->ms, ms);
    else
        lose(plan, "pause.duration", "expected seconds, or a duration such as 10m: it is left out");
}

/* A number before the first weight is the canary's initial one; later the canary gets what its
 * share needs, as with matchTrafficWeight. */
static void read_scale(struct plan *plan, struct json_object *scale)
{
    static const char why[] = "the canary begins with a size of its own (analysis.canaryScale), "
                              "and gets the pods that its "
                              "share needs before that grows";
    int64_t replicas;

    if (!json_at(scale, "replicas", NULL)) {
        if (json_at(scale, "weight", NULL))
            lose(plan, "setCanaryScale.weight", why);
    } else if (plan->n == 0 && !plan->r->scaler &&
               json_to_int(json_at(scale, "replicas", NULL), &replicas) && replicas >= 1 &&
               replicas <= MOST_REPLICAS) {
        plan->replicas = (int)replicas;
    } else {
        lose(plan, "setCanaryScale.replicas", why);
    }
}

/* All headers of a route must match; without a match, the route ends. */
static void read_headers(struct plan *plan, struct json_object *route)
{
    static const char *const ways[] = {"exact", "prefix", "regex"};
    struct json_object *match = json_at(route, "match", NULL);
    struct json_object *headers = json_own(plan->r->arena, json_object_new_object());

    for (size_t i = 0; i < json_len(match); i++) {
        const char *name = json_str_at(json_elem(match, i), "headerName", NULL);
        struct json_object *value = json_at(json_elem(match, i), "headerValue", NULL);
        for (size_t k = 0; name && *name && k < sizeof(ways) / sizeof(ways[0]); k++)
            if (json_str_at(value, ways[k], NULL) && !json_at(headers, name, NULL))
                json_set_str(json_sub(headers, name), ways[k], json_str_at(value, ways[k], NULL));
    }
    if (json_count(headers) == 0)
        return;
    struct json_object *entry = json_object_new_object();
    json_set(entry, "headers", headers);
    json_object_array_add(plan->tests, entry);
}

static void read_mirror(struct plan *plan, struct json_object *route)
{
    int64_t percent = json_int_at(route, 100, "percentage", NULL);
    struct json_object *match = json_at(route, "match", NULL);

    if (!match || percent < 1)
        return;
    if (!plan->r->mirrors) {
        lose(plan, "setMirrorRoute",
             "this provider makes no copies of requests; istio and the "
             "Gateway API do");
        return;
    }
    plan->mirror = percent > 100 ? 100 : (int)percent;
    lose(plan, "setMirrorRoute.match",
         "all requests are copied, before the first weight: limit them by mirrorWeight");
}

static void read_ready(struct plan *plan, struct json_object *threshold, const char *key)
{
    const char *type = json_str_at(threshold, "type", NULL);
    int64_t value = json_int_at(threshold, 0, "value", NULL);

    if (!threshold)
        return;
    if (type && strcmp(type, "Percent") == 0 && value >= 1 && value <= 100)
        plan->ready_percent = (int)value;
    else
        lose(plan, key, "expected a number of type Percent, for analysis.canaryReadyThreshold");
}

static void read_steps(struct plan *plan)
{
    struct json_object *steps = json_at(plan->r->canary, "steps", NULL);

    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *step = json_elem(steps, i), *value;
        plan->path = arena_printf(plan->r->arena, "spec.strategy.canary.steps[%zu]", i);
        if ((value = json_at(step, "setWeight", NULL)) && plan->n < MOST_WEIGHTS)
            read_weight(plan, value);
        if (json_object_is_type(step, json_type_object) &&
            json_object_object_get_ex(step, "pause", &value))
            read_pause(plan, value);
        if ((value = json_at(step, "analysis", NULL)))
            plan->holds[plan->n].ms =
                longer(plan->holds[plan->n].ms, metrics_run_ms(plan->r, value));
        read_scale(plan, json_at(step, "setCanaryScale", NULL));
        if ((value = json_at(step, "setHeaderRoute", NULL)))
            read_headers(plan, value);
        if ((value = json_at(step, "setMirrorRoute", NULL)))
            read_mirror(plan, value);
        read_ready(plan, json_at(step, "replicaProgressThreshold", NULL),
                   "replicaProgressThreshold");
    }
    plan->path = "spec.strategy.canary";
    read_ready(plan, json_at(plan->r->canary, "replicaProgressThreshold", NULL),
               "replicaProgressThreshold");
}

/* --- gates */

static void add_gate(struct rollout *r, const char *type, const char *name, const char *deadline,
                     const char *comment)
{
    struct json_object *hook = json_object_new_object(), *secret = json_object_new_object();
    struct json_object *hooks = json_at(r->analysis, "webhooks", NULL), *from;

    if (!hooks) {
        hooks = json_own(r->arena, json_object_new_array());
        json_set(r->analysis, "webhooks", hooks);
        commented_add(r->arena, r->out, "spec.analysis.webhooks",
                      "in place of kubectl argo rollouts promote: kubectl canary approve %s; the "
                      "Secret gate-token of this namespace has the gate's token as its key "
                      "Authorization",
                      r->target);
    }
    json_set_str(hook, "name", name);
    json_set_str(hook, "type", type);
    json_set_str(hook, "url",
                 arena_printf(r->arena, "%s?hook=%s", r->conversion->options->gate, name));
    json_set_str(json_sub(secret, "secretRef"), "name", "gate-token");
    from = json_object_new_array();
    json_object_array_add(from, secret);
    json_set(hook, "headersFrom", from);
    json_object_put(from);
    if (deadline) {
        json_set_str(hook, "deadline", deadline);
        json_set_str(hook, "onDeadline", "approve");
    }
    json_object_array_add(hooks, hook);
    commented_add(r->arena, r->out,
                  arena_printf(r->arena, "spec.analysis.webhooks[%zu]", json_len(hooks) - 1), "%s",
                  comment);
}

/* --- canary */

static void set_interval(struct rollout *r, int64_t ms)
{
    if (ms < settings_default.min_analysis_interval_ms) {
        commented_add(r->arena, r->out, "spec.analysis.interval",
                      "was %s; the controller's shortest interval is chosen",
                      duration_text(r->arena, ms));
        ms = settings_default.min_analysis_interval_ms;
    }
    r->interval_ms = ms;
    json_set_str(r->analysis, "interval", duration_text(r->arena, ms));
}

/* True if weights have their own times, wait for a user, or are fractions of a percent. */
static bool needs_steps(const struct plan *plan)
{
    bool needs = false;

    for (int i = 1; i <= plan->n; i++)
        needs = needs || plan->holds[i].gate || plan->holds[i].ms != plan->holds[1].ms ||
                plan->holds[i].weight % WEIGHT_PERCENT != 0;
    return needs && plan->r->splits;
}

/* The time at each weight; for steps, which have their own times, the shortest of them. */
static void set_interval_of_holds(const struct plan *plan)
{
    struct rollout *r = plan->r;
    int64_t interval = needs_steps(plan) ? DEFAULT_INTERVAL_MS : 0;

    for (int i = 1; i <= plan->n; i++) {
        int64_t ms = plan->holds[i].ms;
        if (needs_steps(plan) ? ms > 0 && ms < interval : ms > interval)
            interval = ms;
    }
    if (interval == 0) {
        commented_add(r->arena, r->out, "spec.analysis.interval",
                      "no pause had a duration; in a minute most metrics have values");
        interval = DEFAULT_INTERVAL_MS;
    } else if (needs_steps(plan)) {
        commented_add(r->arena, r->out, "spec.analysis.interval",
                      "checks are made so often, and a step without a time of its own lasts as "
                      "long");
    }
    if (plan->holds[0].ms > 0)
        conversion_lose(r->conversion, r->label, "spec.strategy.canary.steps",
                        "a pause of %s before the first weight: a webhook of type pre-rollout is "
                        "called there, and the first weight follows as soon as pods are ready",
                        duration_text(r->arena, plan->holds[0].ms));
    set_interval(r, interval);
}

static void add_step(const struct plan *plan, struct json_object *steps, const struct hold *hold)
{
    struct json_object *step = json_object_new_object();

    weight_put(plan->r->arena, step, "weight", hold->weight);
    if (hold->ms > plan->r->interval_ms)
        json_set_str(step, "for", duration_text(plan->r->arena, hold->ms));
    if (hold->gate)
        json_set_bool(step, "gate", true);
    json_object_array_add(steps, step);
}

/* With traffic routing, Argo gives the canary as many pods as its weight requires; here an
 * autoscaler sizes it. */
static void set_scale(const struct plan *plan)
{
    struct json_object *scale = json_object_new_object();

    if (plan->replicas > 0)
        json_set_int(scale, "replicas", plan->replicas);
    else
        json_set_bool(scale, "matchWeight", true);
    if (!plan->r->scaler)
        json_set(plan->r->analysis, "canaryScale", scale);
    json_object_put(scale);
}

static void set_weights(const struct plan *plan)
{
    struct rollout *r = plan->r;
    struct json_object *weights = json_own(r->arena, json_object_new_array());
    int last = plan->holds[plan->n].weight;
    bool steps = needs_steps(plan), gate = false;

    for (int i = 1; i <= plan->n; i++) {
        gate = gate || plan->holds[i].gate;
        if (steps)
            add_step(plan, weights, &plan->holds[i]);
        else
            json_object_array_add(weights,
                                  json_object_get(weight_json(r->arena, plan->holds[i].weight)));
    }
    json_set(r->analysis, steps ? "steps" : "stepWeights", weights);
    set_scale(plan);
    if (gate)
        commented_add(r->arena, r->out, "spec.analysis.steps",
                      "a gate is a pause without duration; in place of kubectl argo rollouts "
                      "promote: kubectl canary resume %s",
                      r->target);
    if (plan->holds[0].gate)
        add_gate(r, "confirm-rollout", "approval-begin", NULL,
                 "the pause before the first weight: nothing runs of the new version until then");
    if (last <= HALF * WEIGHT_PERCENT)
        return;
    json_set_int(r->analysis, "stepWeightPromotion", HALF);
    commented_add(
        r->arena, r->out, "spec.analysis.stepWeightPromotion",
        "at the promotion the primary gets the new version, and the traffic moves back to "
        "it: in steps, for its pods are new. Without this line all of the %s%% move at "
        "once, and the release is shorter by an interval",
        weight_text(r->arena, last));
}

static void set_tests(const struct plan *plan)
{
    struct rollout *r = plan->r;

    json_set(r->analysis, "match", plan->tests);
    commented_add(r->arena, r->out, "spec.analysis.match",
                  "no weights, but a header: an A/B test. Such requests go to the new version, all "
                  "others to the primary");
}

/* For an analysis without weights, or a provider that cannot split. */
static void set_iterations(const struct plan *plan)
{
    struct rollout *r = plan->r;
    bool gate = false;

    json_set_int(r->analysis, "iterations", plan->n > 0 ? plan->n : 1);
    if (plan->n > 0)
        commented_add(r->arena, r->out, "spec.analysis.iterations",
                      "as many checks as there were weights, each after one interval");
    for (int i = 0; i <= plan->n; i++)
        gate = gate || plan->holds[i].gate;
    if (gate)
        add_gate(r, "confirm-promotion", "approval-promotion", NULL,
                 "in place of all pauses without duration: the one point at which something "
                 "changes for users");
    if (plan->n > 0 || plan->holds[0].gate || json_at(r->canary, "analysis", NULL) ||
        json_len(json_at(r->canary, "steps", NULL)) > 0)
        return;
    json_set_bool(json_at(r->out->object, "spec", NULL), "skipAnalysis", true);
    commented_add(r->arena, r->out, "spec.skipAnalysis",
                  "the Rollout had no steps and no analysis: each version is promoted as soon as "
                  "its pods are ready. Take this line away to have it checked");
}

static void convert_canary(struct rollout *r)
{
    struct plan *plan = ARENA_NEW(r->arena, struct plan);

    *plan = (struct plan){.r = r, .tests = json_own(r->arena, json_object_new_array())};
    read_steps(plan);
    set_interval_of_holds(plan);
    if (r->splits && plan->n > 0)
        set_weights(plan);
    else
        set_iterations(plan);
    if (json_len(plan->tests) > 0 && r->tests && plan->n == 0)
        set_tests(plan);
    else if (json_len(plan->tests) > 0)
        conversion_lose(
            r->conversion, r->label, "spec.strategy.canary.steps[].setHeaderRoute",
            "a header beside weights is left out: a step with match before the first weight, or "
            "an A/B test (analysis.match with iterations) with a provider that can");
    if (plan->mirror > 0) {
        json_set_bool(r->analysis, "mirror", true);
        json_set_int(r->analysis, "mirrorWeight", plan->mirror);
        commented_add(r->arena, r->out, "spec.analysis.mirror",
                      "before the first weight, for one interval: the answers of the copies are "
                      "dropped");
    }
    if (plan->ready_percent > 0)
        json_set_int(r->analysis, "canaryReadyThreshold", plan->ready_percent);
}

/* --- blue/green */

static void convert_green(struct rollout *r)
{
    struct json_object *pre = json_at(r->green, "prePromotionAnalysis", NULL);
    bool automatic = json_bool_at(r->green, true, "autoPromotionEnabled", NULL);
    int64_t seconds_ms = 0, run_ms = pre ? metrics_run_ms(r, pre) : 0;
    int64_t every_ms = run_ms > 0 ? metrics_interval_ms(r, pre) : 0;
    int64_t iterations = every_ms > 0 ? run_ms / every_ms + 1 : 1;

    if (!value_duration(json_at(r->green, "autoPromotionSeconds", NULL), &seconds_ms))
        seconds_ms = 0;
    if (every_ms > 0)
        set_interval(r, every_ms);
    else
        set_interval(r, seconds_ms > 0 && automatic ? seconds_ms
                                                    : settings_default.min_analysis_interval_ms);
    if (iterations > MOST_ITERATIONS)
        iterations = MOST_ITERATIONS;
    if (automatic && every_ms > 0 && iterations * r->interval_ms < seconds_ms)
        iterations = (seconds_ms + r->interval_ms - 1) / r->interval_ms;
    json_set_int(r->analysis, "iterations", iterations);
    commented_add(r->arena, r->out, "spec.analysis.iterations",
                  "checks of the new version beside the live traffic, one in each interval; it was "
                  "promoted %s",
                  pre              ? "when the analysis before the promotion had succeeded"
                  : !automatic     ? "when a person agreed"
                  : seconds_ms > 0 ? "after autoPromotionSeconds"
                                   : "as soon as its pods were ready");
    if (!automatic)
        add_gate(r, "confirm-promotion", "approval-promotion",
                 seconds_ms > 0 ? duration_text(r->arena, seconds_ms) : NULL,
                 seconds_ms > 0
                     ? "autoPromotionEnabled: false with autoPromotionSeconds: it agrees "
                       "by itself at its deadline"
                     : "autoPromotionEnabled: false");
}

/* A window of more revisions than the history holds is equivalent to one of all that it holds. */
static void convert_way_back(struct rollout *r)
{
    enum { MOST = 10 };
    int64_t revisions = json_int_at(r->spec, 0, "rollbackWindow", "revisions", NULL);

    if (revisions > 0)
        json_set_int(json_sub(json_at(r->out->object, "spec", NULL), "rollback"), "revisions",
                     revisions < MOST ? revisions : MOST);
}

void steps_convert(struct rollout *r)
{
    struct json_object *deadline = json_at(r->spec, "progressDeadlineSeconds", NULL);
    int64_t seconds;

    if (json_to_int(deadline, &seconds) && seconds >= 0) {
        json_set_int(json_at(r->out->object, "spec", NULL), "progressDeadlineSeconds", seconds);
        if (!json_bool_at(r->spec, false, "progressDeadlineAbort", NULL))
            commented_add(r->arena, r->out, "spec.progressDeadlineSeconds",
                          "a version that is not ready by then is rolled back; it was only marked");
    }
    convert_way_back(r);
    if (r->green)
        convert_green(r);
    else
        convert_canary(r);
}
