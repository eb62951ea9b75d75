/* The tables of situations in their order, what all of them share, and the last table: phases. */
#include <string.h>

#include "base/clock.h"
#include "ctl/state.h"
#include "ctl/why/parts.h"
#include "ctl/why/why.h"
#include "decide/waiting.h"
#include "fleet/rules/waves.h"

static const struct why_situation *const tables[] = {
    why_control, why_spec, why_verdicts, why_objects, why_gates, why_pods, why_checks, why_phases};
enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

const char *const *why_situations(struct arena *arena)
{
    enum { MOST = 64 };
    const char **names = arena_array(arena, MOST, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; i < TABLES; i++)
        for (const struct why_situation *row = tables[i]; row->name && n < MOST - 1; row++)
            names[n++] = row->name;
    return names;
}

void why_of(struct arena *arena, const char *program, const struct facts *facts,
            struct why_answer *out)
{
    struct why w = {.arena = arena,
                    .program = program,
                    .facts = facts,
                    .spec = json_at(facts->canary, "spec", NULL),
                    .status = json_at(facts->canary, "status", NULL),
                    .name = why_text(json_str_at(facts->canary, "metadata", "name", NULL)),
                    .namespace_ = json_str_at(facts->canary, "metadata", "namespace", NULL),
                    .out = out};

    if (!w.namespace_)
        w.namespace_ = "default";
    w.phase = phase_parse(json_str_at(w.status, "phase", NULL));
    *out = (struct why_answer){.situation = "unknown", .text = ""};
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct why_situation *row = tables[i]; row->name; row++) {
            if (!row->holds(&w))
                continue;
            out->situation = row->name;
            return;
        }
    }
}

const char *why_text(const char *text)
{
    return text ? text : "";
}

bool why_is(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

bool why_say(struct why *w, const char *next, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    w->out->text = arena_vprintf(w->arena, fmt, args);
    va_end(args);
    w->out->next = next;
    return true;
}

const char *why_kubectl(struct why *w, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(w->arena, fmt, args);
    va_end(args);
    return arena_printf(w->arena, "kubectl -n %s %s", w->namespace_, text);
}

const char *why_ctl(struct why *w, const char *verb)
{
    return arena_printf(w->arena, "%s %s %s -n %s", w->program, verb, w->name, w->namespace_);
}

struct json_object *why_condition(const struct why *w, const char *type, const char *status)
{
    struct json_object *condition = glance_condition(w->facts->canary, type);

    return why_is(json_str_at(condition, "status", NULL), status) ? condition : NULL;
}

const char *why_message(struct why *w, struct json_object *condition)
{
    const char *text = print_clean(w->arena, json_str_at(condition, "message", NULL));
    size_t len = strlen(text);

    return len > 0 && text[len - 1] == '.' ? arena_strndup(w->arena, text, len - 1) : text;
}

const char *why_since(struct why *w, struct json_object *condition)
{
    return print_age(w->arena, json_str_at(condition, "lastTransitionTime", NULL),
                     w->facts->now_ms);
}

bool why_under_way(const struct why *w)
{
    return w->phase != PHASE_Initialized && w->phase != PHASE_Succeeded &&
           w->phase != PHASE_Failed && w->phase != PHASE_NONE;
}

/* --- phases: nothing is in the way; the state of the release, and the next step */

static const char *since(struct why *w)
{
    return print_age(w->arena, json_str_at(w->status, "lastTransitionTime", NULL),
                     w->facts->now_ms);
}

/* True if the target's pods get no requests. */
static bool target_idle(struct why *w)
{
    struct json_object *condition = why_condition(w, "TargetIdle", "False");

    if (!condition || (w->phase != PHASE_Succeeded && w->phase != PHASE_Initialized))
        return false;
    return why_say(w, why_kubectl(w, "get deployment,hpa"), "Nothing is released, for %s: %s",
                   why_since(w, condition), why_message(w, condition));
}

static bool failed(struct why *w)
{
    const char *reason =
        json_str_at(json_elem(json_at(w->status, "history", NULL), 0), "reason", NULL);
    const char *revision = why_text(json_str_at(w->status, "lastAppliedSpec", NULL));
    const char *idle = why_message(w, why_condition(w, "TargetIdle", "False"));

    if (w->phase != PHASE_Failed || (w->facts->live && strcmp(w->facts->live, revision) != 0))
        return false;
    if (!reason)
        reason = why_message(w, why_condition(w, "ChecksPassed", "False"));
    return why_say(w, why_ctl(w, "restart"),
                   "Revision %s of %s was rolled back %s ago%s%s. All traffic is on the primary; "
                   "push another revision, or have this one analysed again%s%s",
                   revision, w->name, since(w), *reason ? ": " : "", print_clean(w->arena, reason),
                   *idle ? ". Also: " : "", idle);
}

/* Explains why a step of the primary waits. */
static bool primary_waits(struct why *w)
{
    static const char *const types[] = {"PrimaryWhole", "PrimaryScaled", "PrimaryServes",
                                        "PortsFollowed", "PrimaryRenewed"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct json_object *condition = why_condition(w, types[i], "False");
        if (condition)
            return why_say(w, why_kubectl(w, "get pods"), "%s waits, for %s: %s", w->name,
                           why_since(w, condition), why_message(w, condition));
    }
    return false;
}

/* The next step waits for pods of the canary. */
static bool share_waits(struct why *w)
{
    struct json_object *condition = why_condition(w, "CanaryScaled", "False");

    return condition &&
           why_say(w, why_kubectl(w, "get pods"), "The next step of %s waits for pods, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

/* Shares by number of pods are not possible. */
static bool share_impossible(struct why *w)
{
    struct json_object *condition = why_condition(w, "SharePossible", "False");

    return condition &&
           why_say(w, why_kubectl(w, "get pods --show-labels"),
                   "The canary of %s gets no share of the pods behind its Service, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool not_begun(struct why *w)
{
    const char *applied = why_text(json_str_at(w->status, "lastAppliedSpec", NULL));

    if (why_under_way(w) || !w->facts->live || !*applied || strcmp(w->facts->live, applied) == 0)
        return false;
    return why_say(w, why_ctl(w, "get"),
                   "The target of %s has revision %s, and the release of it has not begun: the "
                   "controller has not come to it yet, or waits for the primary",
                   w->name, w->facts->live);
}

/* Approvals of the current release, or else of the last one. */
static const char *approvals(struct why *w)
{
    struct json_object *release = json_at(w->status, "release", NULL);
    const char *text;

    if (!release)
        release = json_elem(json_at(w->status, "history", NULL), 0);
    text = glance_approvals(w->arena, release);
    return *text ? arena_printf(w->arena, ". At its gates: %s", text) : "";
}

static bool at_rest(struct why *w)
{
    if (w->phase != PHASE_Succeeded && w->phase != PHASE_Initialized)
        return false;
    return why_say(w, NULL,
                   "Nothing holds %s: revision %s is promoted, for %s, and a new one begins a "
                   "release%s",
                   w->name, why_text(json_str_at(w->status, "lastAppliedSpec", NULL)), since(w),
                   w->phase == PHASE_Succeeded ? approvals(w) : "");
}

/* The time by which the analysis must have ended; "" if there is no limit. */
static const char *limit(struct why *w)
{
    const char *most = json_str_at(w->spec, "analysis", "maxDuration", NULL);
    const char *began = json_str_at(w->status, "release", "analysisBegan", NULL);

    if (!most || !began || (w->phase != PHASE_Progressing && w->phase != PHASE_WaitingPromotion))
        return "";
    return arena_printf(w->arena, ", at most for %s since %s (maxDuration)", most, began);
}

/* The running step, if its time is not over; otherwise "". */
static const char *stays(struct why *w)
{
    size_t index;
    struct json_object *step = waiting_step(w->facts->canary, &index);
    const char *since = json_str_at(w->status, "step", "since", NULL);
    const char *text = json_str_at(step, "for", NULL);
    int64_t began, time;
    char until[CLOCK_TEXT];

    if (!since || !text || clock_parse(since, &began, NULL) != ERR_OK ||
        duration_parse_ms(text, &time, NULL) != ERR_OK || began + time <= w->facts->now_ms)
        return "";
    return arena_printf(w->arena, ", not before %s (spec.analysis.steps[%zu].for)",
                        clock_rfc3339(began + time, until), index);
}

/* The share of the canary: "at 20 percent". */
static const char *share_text(struct why *w)
{
    int weight = weight_of_status(w->status);
    int64_t copied = json_int_at(w->status, 0, "step", "mirror", NULL);

    if (weight == 0 && copied > 0)
        return arena_printf(w->arena, "with a copy of %lld percent", (long long)copied);
    return arena_printf(w->arena, "at %s percent%s", weight_text(w->arena, weight),
                        weight > 0 && json_bool_at(w->status, false, "step", "match", NULL) &&
                                !json_str_at(w->status, "canaryServes", NULL)
                            ? " of the requests that match"
                            : "");
}

static bool bakes(struct why *w)
{
    struct json_object *condition = why_condition(w, "Baked", "False");

    if (!condition)
        return false;
    return why_say(
        w, why_ctl(w, "abort"),
        "Nothing holds %s: its new version bakes, for %s: %s. The former version is back "
        "at once with abort, or with its push",
        w->name, why_since(w, condition), why_message(w, condition));
}

static bool under_way(struct why *w)
{
    const char *interval = json_str_at(w->spec, "analysis", "interval", NULL);

    if (w->phase == PHASE_NONE)
        return why_say(w, NULL, "%s is new: a controller has not looked at it yet", w->name);
    return why_say(
        w, arena_printf(w->arena, "%s get %s -n %s -w", w->program, w->name, w->namespace_),
        "Nothing holds %s: it is %s %s, its last change was %s ago, and it goes on every %s%s%s%s",
        w->name, phase_name(w->phase), share_text(w), since(w), interval ? interval : "1m",
        stays(w), limit(w), approvals(w));
}

static bool companions_unfit(struct why *w)
{
    struct json_object *condition = why_condition(w, "CompanionsFit", "False");

    if (!condition || why_under_way(w))
        return false;
    return why_say(w, why_kubectl(w, "get poddisruptionbudgets,networkpolicies"),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool companion_uncopied(struct why *w)
{
    struct json_object *condition = why_condition(w, "CompanionsCopied", "False");

    if (!condition || why_under_way(w))
        return false;
    return why_say(w, why_kubectl(w, "edit canary %s", w->name),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool route_contested(struct why *w)
{
    struct json_object *condition = why_condition(w, "RouteFirst", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.service}'", w->name),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

/* Only for a serving primary; before it exists, the same condition blocks everything. */
static bool labels_shared(struct why *w)
{
    struct json_object *condition = why_condition(w, "PodsOwned", "False");
    const char *reason = json_str_at(condition, "reason", NULL);
    bool by_pods = reason && strcmp(reason, "PodsOfOthers") == 0;

    if (!condition || why_under_way(w))
        return false;
    return why_say(w,
                   by_pods ? why_kubectl(w, "get pods --show-labels") : why_ctl(w, "renew-primary"),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

/* A hook that could end the release at once gives no signal. */
static bool rollback_unasked(struct why *w)
{
    struct json_object *condition = why_condition(w, "RollbackAsked", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get secrets"),
                   "Nothing holds %s up, but it cannot be rolled back by its hook, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool outrun(struct why *w)
{
    struct json_object *condition = why_condition(w, "Outrun", "True");

    if (!condition)
        return false;
    return why_say(
        w, arena_printf(w->arena, "%s history %s -n %s", w->program, w->name, w->namespace_),
        "Nothing holds %s up, but no release of it has come to its end, for %s: %s", w->name,
        why_since(w, condition), why_message(w, condition));
}

static bool superseded(struct why *w)
{
    struct json_object *condition = why_condition(w, "Superseded", "True");

    if (!condition)
        return false;
    return why_say(w,
                   arena_printf(w->arena, "%s abort %s -n %s", w->program, w->name, w->namespace_),
                   "What was pushed for %s meanwhile waits, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

const struct why_situation why_phases[] = {{"failed", failed},
                                           {"share-waits", share_waits},
                                           {"share-impossible", share_impossible},
                                           {"outrun", outrun},
                                           {"primary-waits", primary_waits},
                                           {"superseded", superseded},
                                           {"not-begun", not_begun},
                                           {"rollback-unasked", rollback_unasked},
                                           {"target-idle", target_idle},
                                           {"labels-shared", labels_shared},
                                           {"companion-uncopied", companion_uncopied},
                                           {"route-contested", route_contested},
                                           {"companions-unfit", companions_unfit},
                                           {"bakes", bakes},
                                           {"at-rest", at_rest},
                                           {"under-way", under_way},
                                           {0}};

/* --- control: the lease, a deletion, a pause */

static bool deleting(struct why *w)
{
    struct json_object *condition = glance_condition(w->facts->canary, "Reverted");

    if (!json_at(w->facts->canary, "metadata", "deletionTimestamp", NULL))
        return false;
    if (!condition)
        return why_say(
            w, why_kubectl(w, "get canary %s -o jsonpath='{.metadata.finalizers}'", w->name),
            "%s is being deleted, and waits for its finalizers", w->name);
    return why_say(w, why_kubectl(w, "describe canary %s", w->name),
                   "%s is being deleted; for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

/* Milliseconds since the Lease expired; -1 if it is valid. */
static int64_t stale_ms(const struct why *w)
{
    enum { USUAL_S = 15, PATIENCE = 3 };
    struct json_object *lease = w->facts->lease;
    const char *renewed = json_str_at(lease, "spec", "renewTime", NULL);
    int64_t lasts = json_int_at(lease, USUAL_S, "spec", "leaseDurationSeconds", NULL) * 1000, at;

    if (!renewed || clock_parse(renewed, &at, NULL) != ERR_OK)
        return -1;
    return w->facts->now_ms - at > lasts * PATIENCE ? w->facts->now_ms - at : -1;
}

static const char *logs(struct why *w)
{
    return arena_printf(w->arena, "kubectl get pods -A -l app.kubernetes.io/name=flagger");
}

static bool lease_lost(struct why *w)
{
    int64_t stale = stale_ms(w);
    const char *holder = json_str_at(w->facts->lease, "spec", "holderIdentity", NULL);

    if (stale < 0)
        return false;
    return why_say(w, logs(w),
                   "No controller works on %s: its lease %s/%s was last renewed %s ago%s%s, so "
                   "nothing moves, and the traffic stays where it is. Look whether the controller "
                   "runs",
                   w->name, why_text(json_str_at(w->facts->lease, "metadata", "namespace", NULL)),
                   why_text(json_str_at(w->facts->lease, "metadata", "name", NULL)),
                   print_span(w->arena, stale), holder && *holder ? " by " : "", why_text(holder));
}

static bool no_controller(struct why *w)
{
    enum { PATIENCE_MS = 10000 };
    const char *made = json_str_at(w->facts->canary, "metadata", "creationTimestamp", NULL);
    const char *named = json_str_at(w->status, "controller", NULL);
    int64_t at;

    if (named && w->facts->no_lease)
        return why_say(w, logs(w),
                       "No controller works on %s: the lease %s of the one that drove it is gone. "
                       "Look whether a controller runs",
                       w->name, named);
    if (w->phase != PHASE_NONE || json_len(json_at(w->status, "conditions", NULL)) > 0)
        return false;
    if (!made || clock_parse(made, &at, NULL) != ERR_OK || w->facts->now_ms - at < PATIENCE_MS)
        return false;
    return why_say(w, logs(w),
                   "No controller has looked at %s since it was made %s ago: none runs, or none "
                   "looks after the namespace %s",
                   w->name, print_age(w->arena, made, w->facts->now_ms), w->namespace_);
}

/* The plan is in another cluster, which the reader may not know. */
static bool held_by_plan(struct why *w)
{
    struct json_object *notes = json_at(w->facts->canary, "metadata", "annotations", NULL);
    const char *plan = print_clean(w->arena, json_str_at(notes, WAVES_HELD_BY, NULL));
    const char *slash = strchr(plan, '/');

    if (!slash || !json_bool_at(w->spec, false, "suspend", NULL))
        return false;
    return why_say(
        w,
        arena_printf(w->arena, "%s why plan/%s -n %.*s", w->program, slash + 1, (int)(slash - plan),
                     plan),
        "%s is held by the ReleasePlan %s of the management cluster of its fleet: its turn has not "
        "come, and nothing begins here before. It goes on by itself when the waves before its own "
        "have promoted their revision, with what soaks and gates are between them; asked there, "
        "with the kubeconfig of that cluster, why says what they wait for. To clear spec.suspend "
        "here does not help: the plan holds it again",
        w->name, plan);
}

static bool suspended(struct why *w)
{
    struct json_object *condition = why_condition(w, "Suspended", "True");

    if (!json_bool_at(w->spec, false, "suspend", NULL))
        return false;
    return why_say(
        w,
        why_kubectl(w, "patch canary %s --type merge -p '{\"spec\":{\"suspend\":false}}'", w->name),
        "%s is suspended%s%s: spec.suspend is true, so no release begins or goes on", w->name,
        condition ? ", for " : "", condition ? why_since(w, condition) : "");
}

static bool paused(struct why *w)
{
    struct json_object *paused_ = json_at(w->status, "paused", NULL);
    const char *reason = json_str_at(paused_, "why", NULL);

    if (!paused_)
        return false;
    if (json_bool_at(paused_, false, "gate", NULL))
        return why_say(w, why_ctl(w, "resume"),
                       "%s has come to %s, %s ago: no step is made until a person resumes it, "
                       "while its checks go on",
                       w->name, print_clean(w->arena, json_str_at(paused_, "by", NULL)),
                       print_age(w->arena, json_str_at(paused_, "since", NULL), w->facts->now_ms));
    return why_say(
        w, why_ctl(w, "resume"),
        "%s has paused the release of %s, %s ago%s%s: no step is made, while its checks go on",
        print_clean(w->arena, json_str_at(paused_, "by", NULL)), w->name,
        print_age(w->arena, json_str_at(paused_, "since", NULL), w->facts->now_ms),
        reason && *reason ? ", saying " : "", print_clean(w->arena, reason));
}

const struct why_situation why_control[] = {{"deleting", deleting},
                                            {"lease-lost", lease_lost},
                                            {"no-controller", no_controller},
                                            {"held-by-plan", held_by_plan},
                                            {"suspended", suspended},
                                            {"paused", paused},
                                            {0}};
