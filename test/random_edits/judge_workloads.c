#include "random_edits/judge_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "test/health.h"

void judge_note_edit(struct ward *ward, const struct edit *edit)
{
    int64_t now = clock_monotonic_ms();
    bool refuses = edit->kind == EDIT_POLICY && strcmp(edit->text, "none") != 0;
    if (edit->kind == EDIT_POLICY) {
        ward->refused = refuses;
        ward->allowed_ms = now;
    } else if (edit->kind == EDIT_UNREADY && edit->mid) {
        ward->unready_ms = now + 1000 * strtol(edit->text, NULL, 10) + EFFECT_MS;
    } else if (edit->resource && kube_resource_same(edit->resource, &kube_hpas)) {
        ward->scaler_ms = now;
    } else if (edit->resource && kube_resource_same(edit->resource, &kube_deployments) &&
               edit->kind != EDIT_UNREADY) {
        ward->target_ms = now;
    }
}

/* Requests of clients go to the Service: to its address, or by a share of the route. */
static bool is_led_to(const struct judge *judge, const struct app *app, const char *service)
{
    struct json_object *rules = judge_rules(judge, app);
    if (strcmp(service, app->name) == 0)
        return true;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t k = 0; k < json_len(backends); k++) {
            const char *name = json_str_at(json_elem(backends, k), "name", NULL);
            if (name && strcmp(name, service) == 0 &&
                json_int_at(json_elem(backends, k), 1, "weight", NULL) > 0)
                return true;
        }
    }
    return false;
}

/* --- what is seen as it changes */

static struct ward *ward_named(struct judge *judge, const char *pattern, const char *name)
{
    for (size_t i = 0; name && i < judge->n_wards; i++)
        if (strcmp(user_name(judge->arena, pattern, judge->wards[i].app->name), name) == 0)
            return &judge->wards[i];
    return NULL;
}

static const char *text_of(struct json_object *object, const char *key)
{
    return json_str_at(object, "metadata", key, NULL);
}

/* Routes of a provider that the spec does not name any more are nobody's. */
static bool is_routed_so(struct json_object *canary)
{
    const char *provider = json_str_at(canary, "spec", "provider", NULL);
    return !provider || strncmp(provider, "gatewayapi", 10) == 0;
}

/* True: its Canary is there, and in the hands of a controller that may write. */
static bool is_cared_for(const struct judge *judge, const struct ward *ward, int64_t now)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    return judge_is_driven(judge, canary) && now - judge->controller_ms > SHARE_MS &&
           !json_at(canary, "metadata", "deletionTimestamp", NULL) &&
           !json_bool_at(canary, false, "spec", "suspend", NULL) && !ward->left_name &&
           !ward->left_route && is_routed_so(canary) && !ward->refused &&
           now - ward->allowed_ms > ALLOWED_MS;
}

static void see_canary(struct judge *judge, struct json_object *now)
{
    struct ward *ward = ward_named(judge, "NAME", text_of(now, "name"));
    const char *fault = ward ? health_fault(now) : NULL;
    judge->seen.statuses += ward != NULL;
    if (fault)
        judge_break(judge, ward->app, "health", "%s: %s", fault,
                    json_text(judge->arena, json_at(now, "status", NULL)));
}

static void see_service(struct judge *judge, struct json_object *before, struct json_object *now)
{
    static const char *const patterns[] = {"NAME", "NAME-primary", "NAME-canary"};
    struct json_object *former = json_at(before, "spec", "selector", NULL);
    const char *name = text_of(now, "name");
    if (!former || json_same(former, json_at(now, "spec", "selector", NULL)) ||
        !invariant_is_by_controller(before, now))
        return;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct ward *ward = ward_named(judge, patterns[i], name);
        if (!ward || judge->n_rewritten == EMPTIED_MAX)
            continue;
        judge->seen.services++;
        judge->rewritten[judge->n_rewritten++] = (struct rewritten){
            .ward = ward,
            .service = arena_strdup(judge->arena, name),
            .former = json_copy(judge->arena, former),
            .now = json_copy(judge->arena, json_at(now, "spec", "selector", NULL)),
            .at_ms = clock_monotonic_ms()};
    }
}

/* The least and the most ready pods of the last seconds. */
static struct sides sides_of(const struct ward *ward, int64_t now)
{
    enum { WITHIN_MS = 5000 };
    struct sides out = {.primary_least = SIZE_MAX, .canary_least = SIZE_MAX};
    for (size_t i = 0; i < SAMPLES && i < ward->n_samples; i++) {
        const struct sample *it = &ward->samples[i];
        if (now - it->at_ms > WITHIN_MS)
            continue;
        out.primary_least = it->primary < out.primary_least ? it->primary : out.primary_least;
        out.primary_most = it->primary > out.primary_most ? it->primary : out.primary_most;
        out.canary_least = it->canary < out.canary_least ? it->canary : out.canary_least;
        out.canary_most = it->canary > out.canary_most ? it->canary : out.canary_most;
    }
    return out;
}

static void take_sample(struct judge *judge, struct ward *ward, int64_t now)
{
    const char *name = ward->app->name;
    ward->samples[ward->n_samples++ % SAMPLES] = (struct sample){
        .at_ms = now,
        .primary = view_ready(judge->view, user_name(judge->arena, "NAME-primary", name)),
        .canary = view_ready(judge->view, user_name(judge->arena, "NAME-canary", name))};
}

static void see_route(struct judge *judge, struct json_object *before, struct json_object *now)
{
    struct ward *ward = ward_named(judge, "NAME", text_of(now, "name"));
    if (!ward || ward->n_samples == 0 || !before || !invariant_is_by_controller(before, now) ||
        invariant_any_capacity(view_get(judge->view, &user_canaries, ward->app->name)))
        return;
    take_sample(judge, ward, clock_monotonic_ms());
    judge->seen.steps++;
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    const char *target = json_str_at(canary, "spec", "targetRef", "name", NULL);
    struct sides sides = sides_of(ward, clock_monotonic_ms());
    const char *text = invariant_capacity(judge->arena, before, now, &sides,
                                          target ? invariant_most(judge->view, target) : 0);
    if (text)
        judge_break(judge, ward->app, "capacity", "%s", text);
}

/* The autoscaler that the Canary names, or its copy for the primary; NULL: it names none. */
static const char *own_scaler(const struct judge *judge, const struct ward *ward, bool primary)
{
    const char *pattern = primary ? "NAME-primary" : "NAME";
    return ward->app->scaler ? user_name(judge->arena, pattern, ward->app->name) : NULL;
}

static const char *number_fault(const struct judge *judge, const struct ward *ward,
                                struct json_object *before, struct json_object *now)
{
    bool primary = strcmp(text_of(now, "name"), ward->app->name) != 0;
    return invariant_number(judge->arena, judge->view, own_scaler(judge, ward, primary), before,
                            now);
}

static void see_deployment(struct judge *judge, struct json_object *before, struct json_object *now)
{
    const char *name = text_of(now, "name");
    struct ward *primary = ward_named(judge, "NAME-primary", name);
    struct ward *ward = primary ? primary : ward_named(judge, "NAME", name);
    int64_t at = clock_monotonic_ms();
    if (!ward || at - ward->scaler_ms < OWNED_MS || judge->n_rewritten == EMPTIED_MAX)
        return;
    judge->seen.numbers++;
    if (number_fault(judge, ward, before, now))
        judge->rewritten[judge->n_rewritten++] =
            (struct rewritten){.ward = ward,
                               .former = json_copy(judge->arena, before),
                               .now = json_copy(judge->arena, now),
                               .at_ms = at};
}

void judge_change(struct judge *judge, const struct kube_resource *resource,
                  struct json_object *before, struct json_object *now)
{
    if (!now)
        return;
    if (kube_resource_same(resource, &user_canaries))
        see_canary(judge, now);
    else if (kube_resource_same(resource, &kube_services))
        see_service(judge, before, now);
    else if (kube_resource_same(resource, &user_routes))
        see_route(judge, before, now);
    else if (kube_resource_same(resource, &kube_deployments))
        see_deployment(judge, before, now);
}

static bool asks_to_start(struct json_object *spec)
{
    struct json_object *hooks = json_at(spec, "analysis", "webhooks", NULL);
    for (size_t i = 0; i < json_len(hooks); i++) {
        const char *name = json_str_at(json_elem(hooks, i), "name", NULL);
        if (name && strcmp(name, "start") == 0)
            return true;
    }
    return false;
}

/* A release that began without a gate has passed none. */
static void look_at_gate(struct judge *judge, struct ward *ward)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    struct json_object *accepted = json_at(canary, "status", "acceptedSpec", NULL);
    if (!asks_to_start(json_at(canary, "spec", NULL)) || (accepted && !asks_to_start(accepted)))
        ward->admitted[0] = '\0';
}

void judge_hook(struct judge *judge, const char *app, const char *hook, const char *checksum,
                bool passes)
{
    struct ward *ward = ward_named(judge, "NAME", app);
    if (!ward)
        return;
    look_at_gate(judge, ward);
    if (strcmp(hook, "start") == 0) {
        if (passes)
            snprintf(ward->admitted, sizeof(ward->admitted), "%s", checksum);
        else if (ward->admitted[0] && strcmp(ward->admitted, checksum) != 0)
            snprintf(ward->admitted, sizeof(ward->admitted), "none");
        return;
    }
    judge->seen.gates += ward->admitted[0] != '\0';
    if ((strcmp(hook, "check") == 0 || strcmp(hook, "promote") == 0) && ward->admitted[0] &&
        strcmp(ward->admitted, checksum) != 0)
        judge_break(judge, ward->app, "gate",
                    "%s is asked about %s, and confirm-rollout has let in %s last", hook, checksum,
                    ward->admitted);
}

/* --- what is looked at */

/* The controller has had the time to see what is routed. The primary's share is taken by what was
 * analysed alone: a revision that was pushed meanwhile gets none. */
static bool may_move_share(const struct judge *judge, const struct ward *ward, int64_t now)
{
    static const char *const phases[] = {"Progressing", "WaitingPromotion"};
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    struct json_object *target = judge_object(judge, &kube_deployments, "NAME", ward->app);
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    int64_t wanted = json_int_at(target, 0, "spec", "replicas", NULL);
    if (ward->share == SHARE_OF_CANARY)
        return true;
    return phase && (strcmp(phase, phases[0]) == 0 || strcmp(phase, phases[1]) == 0) &&
           now - ward->target_ms > TARGET_MS && wanted > 0 &&
           json_int_at(target, 0, "status", "readyReplicas", NULL) == wanted;
}

static void look_at_share(struct judge *judge, struct ward *ward, int64_t now)
{
    enum share share = invariant_share(judge->view, ward->app);
    if (share == SHARE_SERVED || share != ward->share || !is_cared_for(judge, ward, now) ||
        now - judge->control_ms < SHARE_MS)
        ward->share_ms = now;
    judge->seen.shares += share != SHARE_SERVED && share != ward->share;
    ward->share = share;
    if (share != SHARE_SERVED && !may_move_share(judge, ward, now))
        ward->share_ms = now;
    if (now - ward->share_ms > SHARE_MS)
        judge_break(judge, ward->app, "share", "the %s has had a share and no ready pod for %d s",
                    share == SHARE_OF_CANARY ? "canary" : "primary", SHARE_MS / 1000);
}

/* A selector that somebody has written since is not the controller's. */
static void look_at_emptied(struct judge *judge, const struct rewritten *it)
{
    struct json_object *service = view_get(judge->view, &kube_services, it->service);
    if (!json_same(json_at(service, "spec", "selector", NULL), it->now))
        return;
    const char *text = invariant_emptied(judge->arena, judge->view, it->service, it->former);
    if (text && is_led_to(judge, it->ward->app, it->service))
        judge_break(judge, it->ward->app, "emptied", "%s", text);
}

static void look_at_number(struct judge *judge, const struct rewritten *it)
{
    const char *text = number_fault(judge, it->ward, it->former, it->now);
    if (text)
        judge_break(judge, it->ward->app, "number", "%s", text);
}

void judge_look_at_written(struct judge *judge, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < judge->n_rewritten; i++) {
        const struct rewritten it = judge->rewritten[i];
        if (now - it.at_ms < EMPTIED_MS) {
            judge->rewritten[kept++] = it;
            continue;
        }
        if (it.service)
            look_at_emptied(judge, &it);
        else
            look_at_number(judge, &it);
    }
    judge->n_rewritten = kept;
}

static void look_at_strangers(struct judge *judge, struct ward *ward)
{
    const char *text = invariant_owner(judge->arena, judge->view, ward->app);
    if (text)
        judge_break(judge, ward->app, "stranger", "%s", text);
}

static void look_at_told(struct judge *judge, struct ward *ward, int64_t now)
{
    const char *text =
        invariant_told(judge->arena, view_warning(judge->view, ward->app->name), now);
    if (text)
        judge_break(judge, ward->app, "told", "%s", text);
}

void judge_look_at_workload(struct judge *judge, struct ward *ward, int64_t now)
{
    take_sample(judge, ward, now);
    look_at_strangers(judge, ward);
    look_at_share(judge, ward, now);
    look_at_gate(judge, ward);
    look_at_told(judge, ward, now);
}

/* The last revision was promoted as a whole. */
static bool is_promoted(struct json_object *canary)
{
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    const char *applied = json_str_at(canary, "status", "lastAppliedSpec", NULL);
    const char *promoted = json_str_at(canary, "status", "lastPromotedSpec", NULL);
    return phase && strcmp(phase, "Succeeded") == 0 && applied && promoted &&
           strcmp(applied, promoted) == 0;
}

void judge_look_at_copies(struct judge *judge, const struct app *app)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    const char *text = app->hashed && is_promoted(canary)
                           ? invariant_copies(judge->arena, judge->view, app)
                           : NULL;
    if (text)
        judge_break(judge, app, "copies", "%s", text);
}

struct judge_seen judge_seen(const struct judge *judge)
{
    struct judge_seen seen = judge->seen;
    for (size_t i = 0; i < judge->n_wards; i++) {
        const struct warning *warning = view_warning(judge->view, judge->wards[i].app->name);
        for (size_t k = 0; warning && k < WARNING_KEPT; k++)
            seen.refusals += warning->told[k].count;
    }
    return seen;
}
