/*
 * Refusal of a spec that cannot be carried out, and suspension. A refusal comes before anything is
 * written, and is reported once: the condition Accepted=False keeps the message.
 */
#include "decide/rules.h"

#include <string.h>

#include "base/clock.h"
#include "decide/companions.h"
#include "decide/condition.h"
#include "decide/decide.h"
#include "decide/metrics.h"
#include "decide/refused_write.h"
#include "decide/release.h"
#include "decide/rollback.h"
#include "decide/status.h"
#include "kube/resource.h"
#include "router/shared/services.h"
#include "tick/edit.h"

/*
 * The view of a Canary that the rules follow: usually its live spec. An unreadable spec is replaced
 * by the one accepted before, from status.acceptedSpec: a running release stays guarded whatever
 * the spec says.
 */

/* Fields about the Canary itself, always taken from the live spec. */
static const char *const of_the_live_spec[] = {"suspend", "revertOnDeletion"};

/*
 * The spec accepted before the refused one, with everything else live. False if no readable one is
 * known.
 */
static bool view_accepted(struct arena *arena, struct json_object *object, struct canary *out)
{
    struct json_object *accepted = json_at(object, "status", "acceptedSpec", NULL);
    struct errinfo ignored;

    if (!json_object_is_type(accepted, json_type_object))
        return false;
    struct json_object *copy = json_copy(arena, object);
    struct json_object *spec = json_copy(arena, accepted);
    for (size_t i = 0; i < sizeof(of_the_live_spec) / sizeof(of_the_live_spec[0]); i++) {
        struct json_object *live = json_at(object, "spec", of_the_live_spec[i], NULL);
        json_object_object_del(spec, of_the_live_spec[i]);
        if (json_object_is_type(live, json_type_boolean))
            json_set(spec, of_the_live_spec[i], live);
    }
    json_set(copy, "spec", spec);
    return canary_view(arena, copy, out, &ignored) == ERR_OK;
}

enum err revert_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei)
{
    enum err err = canary_view(arena, object, out, ei);

    if (err != ERR_INVALID || !json_at(object, "metadata", "deletionTimestamp", NULL))
        return err;
    struct json_object *copy = json_copy(arena, object);
    json_object_object_del(json_at(copy, "spec", NULL), "analysis");
    json_object_object_del(json_at(copy, "spec", NULL), "canaryAnalysis");
    struct errinfo ignored;
    return canary_view(arena, copy, out, &ignored) == ERR_OK ? ERR_OK
                                                             : canary_view(arena, object, out, ei);
}

enum err accept_view(struct arena *arena, struct json_object *object, struct canary *out,
                     const char **mistake, struct errinfo *ei)
{
    struct errinfo ignored;
    enum err err = canary_view(arena, object, out, ei);

    *mistake = NULL;
    if (err != ERR_INVALID)
        return err;
    *mistake = arena_strdup(arena, ei->text);
    if (view_accepted(arena, object, out) || revert_view(arena, object, out, &ignored) == ERR_OK)
        return ERR_OK;
    return canary_view(arena, object, out, ei);
}

static bool can_refer(const struct router *router)
{
    return router->refs;
}

static const char *refuse_provider(struct release *r)
{
    const char *field = r->canary->provider ? "spec.provider" : "--mesh-provider";

    if (!r->router)
        return arena_printf(
            r->tick->arena, "%s: \"%s\" is not served by this version, which has %s", field,
            r->tick->provider ? r->tick->provider : "", router_names(r->tick->arena));
    if (r->canary->service.n_route_refs > 0 && !r->router->ref_kinds)
        return arena_printf(r->tick->arena,
                            "spec.service.routeRefs: not possible with provider %s; it is with %s",
                            r->tick->provider, router_names_that(r->tick->arena, can_refer));
    return r->router->check(r->tick->arena, r->canary);
}

/* A target that routes by itself needs its own router, and that router needs it. */
static const char *refuse_pair(struct release *r)
{
    const struct router *own = router_of_target(r->target->resource);
    const struct kube_resource *only = r->router->only_target;

    if (own && own != r->router)
        return arena_printf(r->tick->arena,
                            "spec.provider: a target %s of %s is released with provider %s, found "
                            "\"%s\"",
                            r->target->kind, r->target->group, own->providers[0],
                            r->tick->provider);
    if (only && !kube_resource_same(only, r->target->resource))
        return arena_printf(r->tick->arena,
                            "spec.targetRef: provider %s releases a %s of %s/%s, found %s of %s",
                            r->tick->provider, only->kind, only->group, only->version,
                            r->canary->target.kind, r->canary->target.api_version);
    return r->target->check ? r->target->check(r->tick->arena, r->canary) : NULL;
}

static const char *refuse_kinds(struct release *r)
{
    const struct canary *canary = r->canary;

    if (!r->target)
        return target_refusal(r->tick->arena, canary->target.api_version, canary->target.kind);
    if (canary->autoscaler.name && !r->target->has_replicas)
        return arena_printf(r->tick->arena,
                            "spec.autoscalerRef: a %s has no replicas to scale; remove it",
                            canary->target.kind);
    if (canary->autoscaler.name && !r->scaler)
        return arena_printf(
            r->tick->arena,
            "spec.autoscalerRef.kind: %s is not served by this version, which has %s",
            canary->autoscaler.kind, scaler_names(r->tick->arena));
    if (r->scaler && *canary->autoscaler.api_version &&
        !scaler_is_of(r->scaler, canary->autoscaler.api_version))
        return arena_printf(r->tick->arena,
                            "spec.autoscalerRef.apiVersion: expected %s for a %s, found \"%s\"",
                            r->scaler->expected, r->scaler->kind, canary->autoscaler.api_version);
    return refuse_pair(r);
}

/*
 * Without a step the weight never changes and the analysis never ends; nor may it end with traffic
 * that no check has covered.
 */
static const char *refuse_no_step(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (r->canary->skip_analysis || r->strategy != STRATEGY_CANARY || analysis->step_weight > 0 ||
        analysis->n_step_weights > 0)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.%s: an analysis with no step checks nothing; set stepWeight (1 to "
                        "100), stepWeights, steps or iterations",
                        analysis->legacy ? "canaryAnalysis" : "analysis");
}

static bool can_match(const struct router *router)
{
    return router->matches;
}

static bool can_mirror(const struct router *router)
{
    return router->mirrors;
}

static bool can_bind(const struct router *router)
{
    return router->session_affinity;
}

/* A feature that the mesh lacks, with the meshes that have it. */
static const char *refuse_feature(struct release *r, const char *what,
                                  bool (*can)(const struct router *router))
{
    return arena_printf(r->tick->arena, "%s not possible with provider %s; it is with %s", what,
                        r->tick->provider, router_names_that(r->tick->arena, can));
}

static const char *about(struct release *r, const char *path, const char *what)
{
    return arena_printf(r->tick->arena, "%s: %s", path, what);
}

static const char *refuse_finish(struct release *r)
{
    enum canary_new_revision is = r->canary->analysis.on_new_revision;

    if (is == NEW_REVISION_RESTART || !r->target || r->target->pin)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.analysis.onNewRevision: %s keeps a Deployment at the revision "
                        "that is analysed, the target is a %s; expected restart",
                        is == NEW_REVISION_FINISH ? "finish" : "queue", r->canary->target.kind);
}

/* The number of pods is the share. */
static const char *refuse_by_pods(struct release *r)
{
    if (!r->router->by_pods || !r->target)
        return NULL;
    if (!r->target->raise_target)
        return arena_printf(r->tick->arena,
                            "spec.analysis.steps: with provider %s the share is one of pods, and a "
                            "%s has no number of its own; expected a Deployment, or iterations",
                            r->tick->provider, r->canary->target.kind);
    if (r->canary->autoscaler.name)
        return "spec.autoscalerRef: not possible with spec.analysis.steps and provider kubernetes, "
               "where the number of pods is the share; expected one of the two";
    return r->canary->analysis.scale.given
               ? "spec.analysis.canaryScale: not possible with spec.analysis.steps and provider "
                 "kubernetes, where the number of pods is the share; leave it out"
               : NULL;
}

static const char *refuse_scale(struct release *r)
{
    if (r->canary->analysis.scale.given && r->target && !r->target->raise_target)
        return arena_printf(r->tick->arena,
                            "spec.analysis.canaryScale: a %s has no replicas of its own; expected "
                            "a Deployment as the target",
                            r->canary->target.kind);
    return NULL;
}

/* Workers receive no traffic that could be led to one side. */
static const char *refuse_bake(struct release *r)
{
    return r->canary->analysis.bake.for_ms > 0 && canary_is_worker(r->canary)
               ? "spec.analysis.bake: without spec.service the primary keeps its part of the work, "
                 "and the canary never has all; leave it out"
               : NULL;
}

static bool can_divide(const struct router *router)
{
    return router_splits(router) && router_finest(router) < WEIGHT_PERCENT;
}

/* A step that the routes cannot express. */
static const char *refuse_weights(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    int finest = router_finest(r->router);

    for (int i = 0; i < analysis->n_steps; i++) {
        if (analysis->steps[i].weight % finest != 0)
            return arena_printf(
                r->tick->arena,
                "spec.analysis.steps[%d].weight: provider %s shares the traffic by whole percents; "
                "expected 1 to 100, found %s; fractions are possible with %s",
                i, r->tick->provider, weight_text(r->tick->arena, analysis->steps[i].weight),
                router_names_that(r->tick->arena, can_divide));
    }
    return NULL;
}

/* A mesh that gives the canary all matching requests turns weights into an A/B test; the times and
 * gates of the steps would be ignored silently. */
static const char *refuse_steps(struct release *r)
{
    if (r->canary->analysis.n_steps == 0 || r->strategy == STRATEGY_CANARY)
        return NULL;
    return arena_printf(
        r->tick->arena,
        "spec.analysis.steps: provider %s gives the canary all requests that match, "
        "or none; expected iterations",
        r->tick->provider);
}

/*
 * With plain Services an A/B test becomes a blue/green release, as in Flagger; begin_release()
 * reports it.
 */
static const char *refuse_analysis(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (analysis->match && router_splits(r->router) && !r->router->matches)
        return refuse_feature(r, about(r, analysis->match_at, "A/B testing is"), can_match);
    if (analysis->mirror && !r->router->mirrors)
        return refuse_feature(r, about(r, analysis->mirror_at, "mirroring is"), can_mirror);
    if (analysis->mirror && r->strategy == STRATEGY_AB_TESTING)
        return "spec.analysis.mirror: an A/B test routes its requests to the canary at once and "
               "has "
               "none to copy; leave out mirror or match";
    if (analysis->affinity.cookie_name && !r->router->session_affinity)
        return refuse_feature(r, "spec.analysis.sessionAffinity:", can_bind);
    const char *sentence = refuse_finish(r);
    if (!sentence)
        sentence = refuse_steps(r);
    if (!sentence)
        sentence = refuse_weights(r);
    if (!sentence)
        sentence = refuse_by_pods(r);
    if (!sentence)
        sentence = refuse_scale(r);
    if (!sentence)
        sentence = refuse_bake(r);
    return sentence ? sentence : refuse_no_step(r);
}

/* Names that no object can have: the API server would reject the objects named after them. */
static const char *refuse_forms(struct release *r)
{
    const struct canary *canary = r->canary;
    const struct {
        const char *field, *name;
        bool (*is_right)(const char *text);
        const char *form;
    } rows[] = {
        {"spec.targetRef.name", canary->target.name, kube_is_name, "a-z, 0-9, - and ."},
        {"spec.autoscalerRef.name", canary->autoscaler.name, kube_is_name, "a-z, 0-9, - and ."},
        {"spec.service.name", r->router->only_target ? NULL : canary->service.name, kube_is_label,
         "a-z, 0-9 and -"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].name && *rows[i].name && !rows[i].is_right(rows[i].name))
            return arena_printf(
                r->tick->arena,
                "%s: expected the name of an object, of %s with a letter or digit at its ends, "
                "found \"%s\"%s",
                rows[i].field, rows[i].form, rows[i].name,
                rows[i].is_right == kube_is_label &&
                        strcmp(canary->service.name, canary->target.name) == 0
                    ? ", the name of the target; spec.service.name gives the Services another name"
                    : "");
    return NULL;
}

/* Length of the object names and label values that are derived from the spec. */
static const char *refuse_names(struct release *r)
{
    enum { LABEL = 63, NAME = 253, SUFFIX = sizeof("-primary") - 1 };
    const struct canary *canary = r->canary;
    const struct {
        const char *field, *name, *what;
        size_t most;
    } rows[] = {
        {"spec.service.name", r->router->only_target ? NULL : canary->service.name,
         "of a Service, which takes 63 characters", LABEL},
        {"spec.targetRef.name", canary->target.name, "of its primary, which takes 253 characters",
         NAME},
        {"spec.autoscalerRef.name", canary->autoscaler.name,
         "of its copy, which takes 253 characters", NAME},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].name && strlen(rows[i].name) + SUFFIX > rows[i].most)
            return arena_printf(r->tick->arena,
                                "%s: expected at most %zu characters, found %zu: with \"-primary\" "
                                "behind it it is the name %s%s",
                                rows[i].field, rows[i].most - SUFFIX, strlen(rows[i].name),
                                rows[i].what,
                                i == 0 && strcmp(canary->service.name, canary->target.name) == 0
                                    ? "; spec.service.name gives the Services another name"
                                    : "");
    return refuse_forms(r);
}

static const char *refuse_companions(struct release *r)
{
    enum { NAME = 253 - (sizeof("-primary") - 1) };
    struct canary own = *r->canary;

    for (own.n_companions = 0; own.n_companions < r->canary->n_companions; own.n_companions++) {
        const struct canary_ref *ref = &r->canary->companions[own.n_companions];
        if (!companions_resource(ref->kind))
            return arena_printf(r->tick->arena,
                                "spec.companions[%d].kind: %s is not copied for a primary by this "
                                "version, which copies %s",
                                own.n_companions, ref->kind, companions_kinds(r->tick->arena));
        if (strlen(ref->name) > NAME)
            return arena_printf(
                r->tick->arena,
                "spec.companions[%d].name: expected at most %d characters, found "
                "%zu: with \"-primary\" behind it it is the name of its copy, which "
                "takes 253 characters",
                own.n_companions, NAME, strlen(ref->name));
        if (companions_are_named(&own, ref->kind, ref->name))
            return arena_printf(r->tick->arena,
                                "spec.companions[%d]: %s %s is named twice; expected each once",
                                own.n_companions, ref->kind, ref->name);
    }
    return NULL;
}

/* A running release keeps its target; refused_write.h reports the writes that the API server then
 * rejects. */
static enum rule_result refuse_target(struct release *r, const char **sentence)
{
    struct json_object *object;

    *sentence = NULL;
    if (!r->target || !r->target->refuse)
        return RULE_CONTINUE;
    if (!need_object(r->tick, r->target->resource, r->canary->namespace_, r->canary->target.name,
                     &object))
        return RULE_NEEDS_FACTS;
    return object ? r->target->refuse(r->tick, object, sentence) : RULE_CONTINUE;
}

/* -no-cross-namespace-refs */
static const char *refuse_namespaces(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const char *upstream = json_str_at(r->canary->json, "spec", "upstreamRef", "namespace", NULL);

    if (!r->tick->settings->no_cross_namespace_refs)
        return NULL;
    if (upstream && *upstream && strcmp(upstream, r->canary->namespace_) != 0)
        return arena_printf(r->tick->arena,
                            "spec.upstreamRef.namespace: can't access the Upstream of %s, "
                            "cross-namespace references are blocked",
                            upstream);
    for (int i = 0; i < analysis->n_metrics; i++) {
        const char *namespace_ = analysis->metrics[i].template_ref.namespace_;
        if (namespace_ && *namespace_ && strcmp(namespace_, r->canary->namespace_) != 0)
            return arena_printf(r->tick->arena,
                                "spec.analysis.metrics[%d].templateRef.namespace: can't access "
                                "MetricTemplate %s.%s, cross-namespace references are blocked",
                                i, analysis->metrics[i].template_ref.name, namespace_);
    }
    for (int i = 0; i < analysis->n_alerts; i++) {
        const struct canary_ref *provider = &analysis->alerts[i].provider;
        if (provider->namespace_ && *provider->namespace_ &&
            strcmp(provider->namespace_, r->canary->namespace_) != 0)
            return arena_printf(r->tick->arena,
                                "spec.analysis.alerts[%d].providerRef.namespace: can't access "
                                "AlertProvider %s.%s, cross-namespace references are blocked",
                                i, provider->name, provider->namespace_);
    }
    return NULL;
}

/*
 * A running release keeps its templates: a template that disappears fails the check but does not
 * freeze the release.
 */
static enum rule_result refuse_templates(struct release *r, const char **sentence)
{
    enum rule_result verdict = RULE_CONTINUE;

    if (!release_is_initialising(r) && !release_is_idle(r))
        return RULE_CONTINUE;
    verdict = refuse_target(r, sentence);
    return verdict == RULE_CONTINUE && !*sentence ? metrics_refusal(r, sentence) : verdict;
}

/*
 * Reasons to refuse the spec as a whole: router, target or scaler is unknown, or would not find the
 * objects made before.
 */
static const char *refuse_whole(struct release *r)
{
    const char *sentence = refuse_provider(r);

    if (!sentence)
        sentence = move_refusal(r);
    return sentence ? sentence : refuse_kinds(r);
}

static enum rule_result find_refusal(struct release *r, const char **sentence, bool *usable)
{
    *sentence = r->tick->mistake ? r->tick->mistake : r->tick->conflict;
    *usable = r->tick->mistake || !r->tick->conflict;
    if (*sentence)
        return RULE_CONTINUE;
    *sentence = refuse_whole(r);
    enum rule_result verdict = *sentence ? RULE_CONTINUE : move_refusal_of_target(r, sentence);
    if (verdict != RULE_CONTINUE)
        return verdict;
    *usable = !*sentence;
    if (!*sentence)
        *sentence = refuse_analysis(r);
    if (!*sentence)
        *sentence = refuse_names(r);
    if (!*sentence)
        *sentence = refuse_companions(r);
    if (!*sentence)
        *sentence = refuse_namespaces(r);
    return *sentence ? RULE_CONTINUE : refuse_templates(r, sentence);
}

/*
 * All problems that need no further facts are reported together: one mistake does not hide
 * another.
 */
static enum rule_result judge(struct release *r, void (*found)(void *arg, const char *sentence),
                              void *arg)
{
    const char *templates = NULL, *target = NULL;
    const char *const whole = refuse_whole(r);
    enum rule_result verdict = metrics_refusal(r, &templates), second = refuse_target(r, &target);

    if (verdict != RULE_CONTINUE || second != RULE_CONTINUE)
        return RULE_NEEDS_FACTS;
    const char *const sentences[] = {whole,
                                     whole && !r->router ? NULL : refuse_analysis(r),
                                     whole && !r->router ? NULL : refuse_names(r),
                                     refuse_companions(r),
                                     refuse_namespaces(r),
                                     target,
                                     templates};
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
        if (sentences[i])
            found(arg, sentences[i]);
    return RULE_CONTINUE;
}

enum rule_result accept_judge(struct tick *tick, void (*found)(void *arg, const char *sentence),
                              void *arg)
{
    struct release release = {.tick = tick, .phase = tick->canary->status.phase};

    release_follow(&release, tick->canary);
    return judge(&release, found, arg);
}

/* True if the rules follow the previously accepted spec from here on. */
static bool follow_accepted(struct release *r)
{
    struct canary *view = ARENA_NEW(r->tick->arena, struct canary);

    if (!r->tick->mistake) {
        if (!view_accepted(r->tick->arena, r->canary->json, view))
            return false;
        release_follow(r, view);
    }
    if (!refuse_provider(r) && !refuse_kinds(r))
        return true;
    release_follow(r, r->tick->live);
    return false;
}

/*
 * A refused spec is reported once, and the rules that take no step forward follow the previously
 * accepted one. If none is known (the first spec; or Flagger's CRD drops the field and move.c finds
 * nothing), the live spec guards the release as far as possible.
 */
enum rule_result accept_spec(struct release *r)
{
    bool ends = r->canary->deleting || r->phase == PHASE_Terminating;
    const char *sentence;
    bool usable;
    enum rule_result verdict = former_recall(r);

    if (verdict == RULE_CONTINUE)
        verdict = find_refusal(r, &sentence, &usable);
    if (verdict != RULE_CONTINUE)
        return verdict;
    r->refused = sentence;
    if (ends) {
        if (sentence || move_has_begun(r) || move_is_pending(r))
            follow_accepted(r);
        return RULE_CONTINUE;
    }
    if (!sentence) {
        refusal_clear(r);
        return RULE_CONTINUE;
    }
    if (refusal_set(r, sentence))
        event_warning(r, "%s", sentence);
    /* The accepted spec does not touch objects of another Canary either. */
    if (!r->tick->locked_out && (follow_accepted(r) || (usable && !release_is_initialising(r))))
        return RULE_CONTINUE;
    if (r->tick->locked_out)
        finalizer_keep(r);
    release_requeue(r, REQUEUE_NEVER);
    return RULE_DONE;
}

enum rule_result accept_deadline(struct release *r)
{
    return refusal_expire(r);
}

/* No release begins before the next edit. */
enum rule_result accept_nothing_new(struct release *r)
{
    release_requeue(r, REQUEUE_NEVER);
    return RULE_DONE;
}

enum rule_result accept_suspend(struct release *r)
{
    static const char text[] = "skipping canary run as object is suspended";

    if (!r->canary->suspend) {
        condition_clear(r, CONDITION_SUSPENDED);
        return RULE_CONTINUE;
    }
    if (condition_set(r, CONDITION_SUSPENDED, "Suspended", text))
        event_normal(r, "%s", text);
    /* Deadlines do not run while suspended. */
    status_forget_waits(r);
    refused_write_forget(r);
    release_requeue(r, REQUEUE_NEVER);
    return RULE_DONE;
}

/* For a Canary that canary_view() could not read. */
struct json_object *accept_refusal(struct arena *arena, struct json_object *object,
                                   const char *sentence, int64_t now_ms)
{
    const struct canary unread = {.status.json = json_at(object, "status", NULL)};
    const struct settings settings = {0};
    struct tick *tick = tick_new(arena, &unread, &settings, now_ms, true);
    struct release release = {.tick = tick, .canary = &unread};

    if (!refusal_set(&release, sentence))
        return NULL;
    status_write(&release);
    return tick->plan->first ? tick->plan->first->body : NULL;
}

/*
 * Fields of the spec without effect. Flagger ignores them silently, so they are no reason to refuse
 * a Canary: the condition Ignored and a Warning event name them, again only when they change.
 */

static const int64_t MS_NS = 1000000;

static const char *joined(struct arena *arena, const char *sentence, const char *more)
{
    return sentence ? arena_printf(arena, "%s; %s", sentence, more) : more;
}

/* Webhooks named in one sentence; there may be hundreds. */
enum { NAMED = 3 };

static const char *and_more(struct arena *arena, const char *sentence, int count)
{
    if (count <= NAMED)
        return sentence;
    return joined(arena, sentence,
                  arena_printf(arena, "so it is with %d more webhooks", count - NAMED));
}

/* Calls hold connections that all Canaries share. NULL if every time-out is short enough. */
static const char *long_timeouts(const struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    struct arena *arena = r->tick->arena;
    const char *sentence = NULL;
    int count = 0;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        char asked[DURATION_TEXT], longest[DURATION_TEXT];
        if (hook->longer_ms == 0 || ++count > NAMED)
            continue;
        duration_format(hook->longer_ms * MS_NS, asked);
        duration_format(hook->timeout_ms * MS_NS, longest);
        sentence =
            joined(arena, sentence,
                   arena_printf(arena,
                                "spec.%s.webhooks[%d].timeout: %s is without effect beyond %s, "
                                "the longest that a call of the type %s may take",
                                analysis->legacy ? "canaryAnalysis" : "analysis", i, asked, longest,
                                hook_type_name(hook->type)));
    }
    return and_more(arena, sentence, count);
}

/* NULL if no hook has too many retries. */
static const char *many_retries(const struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const char *sentence = NULL;
    int count = 0;

    for (int i = 0; i < analysis->n_webhooks; i++)
        if (analysis->webhooks[i].more_retries > 0 && ++count <= NAMED)
            sentence = joined(
                r->tick->arena, sentence,
                arena_printf(r->tick->arena,
                             "spec.%s.webhooks[%d].retries: %d is without effect beyond %d, the "
                             "most that there are",
                             analysis->legacy ? "canaryAnalysis" : "analysis", i,
                             analysis->webhooks[i].more_retries, analysis->webhooks[i].retries));
    return and_more(r->tick->arena, sentence, count);
}

static const char *beyond_bounds(const struct release *r)
{
    const char *times = long_timeouts(r), *retries = many_retries(r);

    return retries ? joined(r->tick->arena, times, retries) : times;
}

enum rule_result ignored_tell(struct release *r)
{
    struct arena *arena = r->tick->arena;
    const char *bounds = beyond_bounds(r);
    const char *fields = r->router->ignored ? r->router->ignored(arena, r->canary) : NULL;
    const char *fixed = r->target->own_services ? NULL : services_ignored(r->tick);

    if (r->tick->needs)
        return RULE_NEEDS_FACTS;
    bool no_pods = r->target->own_services && r->canary->n_companions > 0;

    if (!fields && !fixed && !no_pods && !bounds) {
        condition_clear(r, CONDITION_IGNORED);
        return RULE_CONTINUE;
    }
    const char *sentence =
        fields ? arena_printf(arena, "%s: without effect, provider %s has no such setting", fields,
                              r->tick->provider)
               : NULL;
    if (fixed)
        sentence = joined(arena, sentence,
                          arena_printf(arena,
                                       "%s: without effect on a Service that exists, where it "
                                       "cannot be changed; a deleted one is created again with it",
                                       fixed));
    if (no_pods)
        sentence = joined(
            arena, sentence,
            arena_printf(arena, "spec.companions: without effect, a %s has no pods of a primary",
                         r->canary->target.kind));
    if (bounds)
        sentence = joined(arena, sentence, bounds);
    if (condition_set_true(r, CONDITION_IGNORED, "NoEffect", sentence))
        event_warning(r, "%s", sentence);
    return RULE_CONTINUE;
}
