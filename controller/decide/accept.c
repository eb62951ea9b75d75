/*
 * What is not worked on: a Canary whose spec cannot be done, one that is suspended. A refusal comes
 * before anything is touched and is told once: the condition Accepted=False remembers the sentence.
 */
#include <string.h>

#include "base/clock.h"
#include "decide/act/companions.h"
#include "decide/act/finalizer.h"
#include "decide/act/move.h"
#include "decide/act/refusal.h"
#include "decide/act/refused_write.h"
#include "decide/ask/metrics.h"
#include "decide/decide.h"
#include "decide/release/condition.h"
#include "decide/release/former.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/rules.h"
#include "decide/view.h"
#include "tick/edit.h"

static const char *refuse_provider(struct release *r)
{
    const char *field = r->canary->provider ? "spec.provider" : "--mesh-provider";

    if (!r->router)
        return arena_printf(
            r->tick->arena, "%s: \"%s\" is not served by this version, which has %s", field,
            r->tick->provider ? r->tick->provider : "", router_names(r->tick->arena));
    return r->router->check(r->tick->arena, r->canary);
}

/* A target that routes by itself needs its own router, and that needs it. */
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

/* Without a step the next weight is that of before, and the analysis never ends; nor may it end
 * with traffic that no check has seen. */
static const char *refuse_no_step(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (r->canary->skip_analysis || r->strategy != STRATEGY_CANARY || analysis->step_weight > 0 ||
        analysis->n_step_weights > 0)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.%s: an analysis with no step checks nothing; set stepWeight (1 to "
                        "100), stepWeights or iterations",
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

/* What the mesh cannot do, and who can. */
static const char *refuse_feature(struct release *r, const char *what,
                                  bool (*can)(const struct router *router))
{
    return arena_printf(r->tick->arena,
                        "spec.analysis.%s not possible with provider %s; it is with %s", what,
                        r->tick->provider, router_names_that(r->tick->arena, can));
}

static const char *refuse_finish(struct release *r)
{
    if (!r->canary->analysis.finishes || !r->target || r->target->pin)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.analysis.onNewRevision: finish keeps a Deployment at the revision "
                        "that is analysed, the target is a %s; expected restart",
                        r->canary->target.kind);
}

/* Plain Services make a blue/green release of an A/B test, as in Flagger; begin.c says so. */
static const char *refuse_analysis(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    if (analysis->match && r->router->weighted && !r->router->matches)
        return refuse_feature(r, "match: A/B testing is", can_match);
    if (analysis->mirror && !r->router->mirrors)
        return refuse_feature(r, "mirror: mirroring is", can_mirror);
    if (analysis->mirror && r->strategy == STRATEGY_AB_TESTING)
        return "spec.analysis.mirror: an A/B test routes its requests to the canary at once and "
               "has "
               "none to copy; leave out mirror or match";
    if (analysis->affinity.cookie_name && !r->router->session_affinity)
        return refuse_feature(r, "sessionAffinity:", can_bind);
    const char *sentence = refuse_finish(r);
    return sentence ? sentence : refuse_no_step(r);
}

/* Names of objects and values of labels that are made of those of the spec, and how long they may be. */
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
    return NULL;
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
                                "spec.companions[%d]: %s %s is named before; expected each once",
                                own.n_companions, ref->kind, ref->name);
    }
    return NULL;
}

/* A running release keeps its target as it is found; what is refused then is told by act/refused_write.h. */
static enum verdict refuse_target(struct release *r, const char **sentence)
{
    struct json_object *object;

    *sentence = NULL;
    if (!r->target || !r->target->refuse)
        return VERDICT_GO;
    if (!need_object(r->tick, r->target->resource, r->canary->namespace_, r->canary->target.name,
                     &object))
        return VERDICT_NEED_FACTS;
    return object ? r->target->refuse(r->tick, object, sentence) : VERDICT_GO;
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

/* A running release keeps its templates: one that goes missing fails the check, it does not freeze
 * the release. */
static enum verdict refuse_templates(struct release *r, const char **sentence)
{
    enum verdict verdict = VERDICT_GO;

    if (!release_is_initialising(r) && !release_is_idle(r))
        return VERDICT_GO;
    verdict = refuse_target(r, sentence);
    return verdict == VERDICT_GO && !*sentence ? metrics_refusal(r, sentence) : verdict;
}

/* Nothing can be done by this spec: who routes, releases or scales is not known, or would not find
 * what was made before. */
static const char *refuse_whole(struct release *r)
{
    const char *sentence = refuse_provider(r);

    if (!sentence)
        sentence = move_refusal(r);
    return sentence ? sentence : refuse_kinds(r);
}

static enum verdict find_refusal(struct release *r, const char **sentence, bool *usable)
{
    *sentence = r->tick->mistake ? r->tick->mistake : r->tick->rival;
    *usable = r->tick->mistake || !r->tick->rival;
    if (*sentence)
        return VERDICT_GO;
    *sentence = refuse_whole(r);
    enum verdict verdict = *sentence ? VERDICT_GO : move_refusal_of_target(r, sentence);
    if (verdict != VERDICT_GO)
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
    return *sentence ? VERDICT_GO : refuse_templates(r, sentence);
}

/* What nobody waits for is looked at together: one mistake does not hide another. */
static enum verdict judge(struct release *r, void (*found)(void *arg, const char *sentence),
                          void *arg)
{
    const char *templates = NULL, *target = NULL;
    const char *const whole = refuse_whole(r);
    enum verdict verdict = metrics_refusal(r, &templates), second = refuse_target(r, &target);

    if (verdict != VERDICT_GO || second != VERDICT_GO)
        return VERDICT_NEED_FACTS;
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
    return VERDICT_GO;
}

enum verdict accept_judge(struct tick *tick, void (*found)(void *arg, const char *sentence),
                          void *arg)
{
    struct release release = {.tick = tick, .phase = tick->canary->status.phase};

    release_follow(&release, tick->canary);
    return judge(&release, found, arg);
}

/* True: from here on the rules follow the spec that was accepted before. */
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
 * What is refused is told once, and the spec that was accepted before is followed instead, with
 * those rules that take no step forward. Where none is known (the first one; or the CRD in the
 * cluster is Flagger's, which drops the field, and former.c finds nothing), the live one guards
 * what runs as far as it can be followed.
 */
enum verdict accept_spec(struct release *r)
{
    bool ends = r->canary->deleting || r->phase == PHASE_Terminating;
    const char *sentence;
    bool usable;
    enum verdict verdict = former_recall(r);

    if (verdict == VERDICT_GO)
        verdict = find_refusal(r, &sentence, &usable);
    if (verdict != VERDICT_GO)
        return verdict;
    r->refused = sentence;
    if (ends) {
        if (sentence || move_has_begun(r) || move_is_pending(r))
            follow_accepted(r);
        return VERDICT_GO;
    }
    if (!sentence) {
        refusal_clear(r);
        return VERDICT_GO;
    }
    if (refusal_set(r, sentence))
        release_warn(r, "%s", sentence);
    /* What another Canary works on is not touched by the spec that was accepted either. */
    if (!r->tick->barred && (follow_accepted(r) || (usable && !release_is_initialising(r))))
        return VERDICT_GO;
    if (r->tick->barred)
        finalizer_keep(r);
    release_again(r, AGAIN_NEVER);
    return VERDICT_STOP;
}

enum verdict accept_deadline(struct release *r)
{
    return refusal_expire(r);
}

/* Only another edit lets anything begin. */
enum verdict accept_nothing_new(struct release *r)
{
    release_again(r, AGAIN_NEVER);
    return VERDICT_STOP;
}

enum verdict accept_suspend(struct release *r)
{
    static const char text[] = "skipping canary run as object is suspended";

    if (!r->canary->suspend) {
        condition_clear(r, CONDITION_SUSPENDED);
        return VERDICT_GO;
    }
    if (condition_set(r, CONDITION_SUSPENDED, "Suspended", text))
        release_say(r, "%s", text);
    /* No deadline runs out meanwhile. */
    status_forget_waits(r);
    refused_write_forget(r);
    release_again(r, AGAIN_NEVER);
    return VERDICT_STOP;
}

/* For a Canary that canary_view() could not even read. */
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
