#include "edits/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "edits/invariant.h"
#include "test/health.h"

enum {
    APPS_MAX = 16,
    PENDING_MAX = 256,
    SETTLE_MS = 2000,   /* it serves for so long: it is repaired */
    EFFECT_MS = 5000,   /* an edit that takes it down has done so by then */
    REPAIR_MS = 20000,  /* and that takes at most so long, while the controller runs */
    GRACE_MS = 1000,    /* a failure is judged so much later: the machine may be to blame */
    LASTS_MS = 4000,    /* what may be seen for a moment must not last so long */
    SHARE_MS = 5000,    /* nor a share without a ready pod */
    ALLOWED_MS = 15000, /* a write that was refused is tried again within */
    EMPTIED_MS = 700,   /* a Service's endpoints follow its selector within */
    TARGET_MS = 10000,  /* a revision is known to be the analysed one after */
    OWNED_MS = 3000,    /* an autoscaler is known after */
    SAMPLES = 64,
    EMPTIED_MAX = 16,
    CHECKSUM = 64,
};

/* Ready pods of both sides, at one look. */
struct sample {
    int64_t at_ms;
    size_t primary, canary;
};

struct ward {
    const struct app *app;
    bool broken;
    bool harmed;
    int64_t harmed_ms, served_ms, healed_ms; /* began; serves since, 0: no; ended last */
    int64_t told_ms;                         /* the controller last said why it is down */
    int64_t odd_ms;                          /* weights do not add up since; 0: they do */
    bool left_name, left_route; /* the spec has named another Service, another provider */
    int unjudged;        /* 2: the analysis tells nothing; 1: it does from the next push on */
    const char *excused; /* image of the primary that a person chose */
    bool refused;        /* a policy refuses writes */
    int64_t allowed_ms;  /* ... did last */
    int64_t target_ms;   /* a person has last edited the target */
    int64_t scaler_ms;   /* ... an autoscaler */
    int64_t unready_ms;  /* until then pods of the target may not be ready */
    enum share share;    /* a side has a share and no ready pod, since: */
    int64_t share_ms;
    char admitted[CHECKSUM]; /* by confirm-rollout, last; "": not known */
    struct sample samples[SAMPLES];
    size_t n_samples;
};

/* A Service that the controller has written: looked at again when its endpoints are known. */
struct rewritten {
    struct ward *ward;
    const char *service;
    struct json_object *former;
    int64_t at_ms;
};

struct pending {
    struct ward *ward;
    int64_t sent_ms, ended_ms;
    const char *text;
};

struct judge {
    struct arena *arena;
    const struct view *view;
    const struct app *control;
    struct ward wards[APPS_MAX];
    size_t n_wards;
    struct pending pending[PENDING_MAX];
    size_t n_pending;
    struct rewritten rewritten[EMPTIED_MAX];
    size_t n_rewritten;
    struct violation violations[JUDGE_MAX];
    size_t n_violations;
    bool controller;
    int64_t controller_ms; /* runs since */
    bool leads;            /* under a lease */
    int64_t control_ms;    /* the control's last failure */
    int edits_made, moment;
    uint64_t allowed, failed, machine;
    struct judge_seen seen;
};

struct judge *judge_new(struct arena *arena, const struct view *view, const struct app *control)
{
    struct judge *judge = ARENA_NEW(arena, struct judge);
    *judge = (struct judge){.arena = arena, .view = view, .control = control};
    return judge;
}

void judge_add(struct judge *judge, const struct app *app)
{
    if (judge->n_wards < APPS_MAX)
        judge->wards[judge->n_wards++] = (struct ward){.app = app};
}

static struct ward *ward_of(const struct judge *judge, const struct app *app)
{
    for (size_t i = 0; i < judge->n_wards; i++)
        if (judge->wards[i].app == app)
            return (struct ward *)&judge->wards[i];
    return NULL;
}

/* For whoever looks into it. */
static struct json_object *state_of(const struct judge *judge, const struct app *app)
{
    struct json_object *out = json_own(judge->arena, json_object_new_object());
    const char *primary = user_name(judge->arena, "NAME-primary", app->name);
    json_set(out, "canary",
             json_copy(judge->arena, view_get(judge->view, &user_canaries, app->name)));
    json_set(out, "route", json_copy(judge->arena, view_get(judge->view, &user_routes, app->name)));
    json_set(out, "apex",
             json_copy(judge->arena, view_get(judge->view, &kube_services, app->name)));
    json_set(out, "target",
             json_copy(judge->arena, view_get(judge->view, &kube_deployments, app->name)));
    json_set(out, "primary",
             json_copy(judge->arena, view_get(judge->view, &kube_deployments, primary)));
    return out;
}

void judge_break(struct judge *judge, const struct app *app, const char *kind, const char *fmt, ...)
{
    struct ward *ward = ward_of(judge, app);
    va_list args;
    if ((ward && ward->broken) || judge->n_violations == JUDGE_MAX)
        return;
    va_start(args, fmt);
    judge->violations[judge->n_violations++] =
        (struct violation){.app = app,
                           .kind = kind,
                           .text = arena_vprintf(judge->arena, fmt, args),
                           .edits = judge->edits_made,
                           .moment = judge->moment};
    va_end(args);
    if (!ward)
        return;
    ward->broken = true;
    judge->violations[judge->n_violations - 1].state = state_of(judge, app);
}

/* --- what there is to see */

static struct json_object *object_of(const struct judge *judge, const struct kube_resource *kind,
                                     const char *pattern, const struct app *app)
{
    return view_get(judge->view, kind, user_name(judge->arena, pattern, app->name));
}

static struct json_object *rules_of(const struct judge *judge, const struct app *app)
{
    return json_at(view_get(judge->view, &user_routes, app->name), "spec", "rules", NULL);
}

/* Every backend with a share has somebody who is ready, and there is one. */
static bool rule_serves(const struct judge *judge, struct json_object *rule)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);
    bool some = false;
    for (size_t i = 0; i < json_len(backends); i++) {
        struct json_object *backend = json_elem(backends, i);
        if (json_int_at(backend, 1, "weight", NULL) == 0)
            continue;
        const char *name = json_str_at(backend, "name", NULL);
        if (!name || view_ready(judge->view, name) == 0)
            return false;
        some = true;
    }
    return some;
}

/* A Service that leads to the port 1 is one that a person has broken. */
static bool leads_somewhere(const struct judge *judge, const char *service)
{
    struct json_object *ports =
        json_at(view_get(judge->view, &kube_services, service), "spec", "ports", NULL);
    return ports && json_int_at(json_elem(ports, 0), 0, "targetPort", NULL) != 1 &&
           view_ready(judge->view, service) > 0;
}

/* Requests of clients go to the Service: to its address, or by a share of the route. */
static bool is_led_to(const struct judge *judge, const struct app *app, const char *service)
{
    struct json_object *rules = rules_of(judge, app);
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

static bool serves(const struct judge *judge, const struct app *app)
{
    struct json_object *rules = rules_of(judge, app);
    if (!leads_somewhere(judge, app->name))
        return false;
    if (app->gateway && json_len(rules) == 0)
        return false;
    for (size_t i = 0; app->gateway && i < json_len(rules); i++)
        if (!rule_serves(judge, json_elem(rules, i)))
            return false;
    return true;
}

static bool canary_serves(const struct judge *judge, const struct app *app)
{
    static const char *const idle[] = {"Initialized", "Succeeded", "Failed"};
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    bool rests = false;
    for (size_t i = 0; phase && i < sizeof(idle) / sizeof(idle[0]); i++)
        rests |= strcmp(phase, idle[i]) == 0;
    if (!rests || json_int_at(canary, 0, "status", "canaryWeight", NULL) > 0)
        return true;
    struct json_object *rules = rules_of(judge, app);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        if (json_len(backends) > 1 && json_int_at(json_elem(backends, 1), 0, "weight", NULL) > 0)
            return true;
    }
    return false;
}

bool judge_says_why(const struct judge *judge, const struct app *app, int64_t since_ms)
{
    static const char *const standing[] = {"Accepted",          "Approved",       "Reverted",
                                           "TargetFound",       "PrimaryFound",   "Configured",
                                           "PrimaryConfigured", "WritesAccepted", "PodsOwned"};
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    struct json_object *conditions = json_at(canary, "status", "conditions", NULL);
    if (!canary || json_bool_at(canary, false, "spec", "suspend", NULL))
        return true; /* nobody looks after it */
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    if ((phase && strncmp(phase, "Waiting", 7) == 0) || json_at(canary, "status", "paused", NULL))
        return true; /* for an approval, or for somebody to resume it */
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        for (size_t k = 0; type && status && k < sizeof(standing) / sizeof(standing[0]); k++)
            if (strcmp(type, standing[k]) == 0 && strcmp(status, "False") == 0)
                return true;
    }
    /* A Warning is told once; a failed check, at every check. */
    const struct warning *warning = view_warning(judge->view, app->name);
    return warning && (warning->at_ms > since_ms ||
                       (warning->last && strncmp(warning->message, "Halt", 4) != 0));
}

/* Deleting the Canary when its target is gone leaves nobody to hand over to. */
static bool deletes_all(const struct judge *judge, const struct line *line)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, line->app->name);
    const char *accepted = json_str_at(canary, "status", "acceptedSpec", "targetRef", "name", NULL);
    const char *target = accepted ? accepted : line->app->name;
    bool deletes = line->edit->kind == EDIT_DELETE || line->edit->kind == EDIT_RECREATE;
    return deletes && kube_resource_same(line->edit->resource, &user_canaries) &&
           strcmp(line->edit->object, "NAME") == 0 &&
           !view_get(judge->view, &kube_deployments, target) &&
           !view_get(judge->view, &kube_deployments, line->app->name);
}

/* The one that has no lease waits for a while before it takes a Canary over from one that had. */
static bool is_driven(const struct judge *judge, struct json_object *canary)
{
    const char *driver = json_str_at(canary, "status", "controller", NULL);
    return canary && judge->controller && (judge->leads || !driver || !*driver);
}

/* --- what happens */

void judge_harm(struct judge *judge, const struct app *app)
{
    struct ward *ward = ward_of(judge, app);

    if (!ward)
        return;
    ward->harmed = true;
    ward->harmed_ms = clock_monotonic_ms();
    ward->served_ms = 0;
}

static void note_edit(struct ward *ward, const struct edit *edit)
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

void judge_allow(struct judge *judge, const struct app *app)
{
    struct ward *ward = ward_of(judge, app);
    ward->refused = false;
    ward->allowed_ms = clock_monotonic_ms();
}

void judge_edit(struct judge *judge, const struct line *line, int edits_made)
{
    struct ward *ward = line->app ? ward_of(judge, line->app) : NULL;
    judge->edits_made = edits_made;
    if (!ward)
        return;
    if (line->edit->unjudged)
        ward->unjudged = 2;
    else if (line->edit->kind == EDIT_RESTORE && ward->unjudged == 2)
        ward->unjudged = 1;
    else if (line->edit->kind == EDIT_PUSH && ward->unjudged == 1)
        ward->unjudged = 0;
    note_edit(ward, line->edit);
    bool harms = line->edit->harm && (!line->edit->mid || canary_serves(judge, line->app));
    if (harms || deletes_all(judge, line))
        judge_harm(judge, line->app);
}

void judge_moment(struct judge *judge, int moment)
{
    judge->moment = moment;
}

void judge_controller(struct judge *judge, bool runs, bool leads)
{
    judge->controller = runs;
    judge->leads = leads;
    judge->controller_ms = clock_monotonic_ms();
}

static const char *made_at(struct json_object *object)
{
    return json_str_at(object, "metadata", "creationTimestamp", NULL);
}

/* A route of a name that the Canary had for a while: older than its own, it has the requests. */
static bool has_left_route(const struct judge *judge, const struct app *app)
{
    static const char *const left[] = {"NAME-apex", "NAME-two", "bystander"};
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    const char *name = json_str_at(canary, "status", "serviceName", NULL);
    const char *own = made_at(view_get(judge->view, &user_routes, app->name));
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        const char *at = made_at(object_of(judge, &user_routes, left[i], app));
        bool used = name && strcmp(name, user_name(judge->arena, left[i], app->name)) == 0;
        if (at && !used && (!own || strcmp(at, own) <= 0))
            return true;
    }
    return false;
}

/* What the Canary made before it was given another name or provider stays, but nobody looks after
 * it: it goes with the Canary, and keeps the port it had. */
static bool is_left_behind(const struct judge *judge, const struct ward *ward, bool by_route)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    struct json_object *service = object_of(judge, &kube_services, "NAME-primary", ward->app);
    struct json_object *ports = json_at(service, "spec", "ports", NULL);
    struct json_object *backends =
        json_at(json_elem(rules_of(judge, ward->app), 0), "backendRefs", NULL);
    bool gone = !canary || json_at(canary, "metadata", "deletionTimestamp", NULL) ||
                !json_at(canary, "status", "serviceName", NULL);
    if ((ward->left_name && gone) || (by_route && has_left_route(judge, ward->app)))
        return true;
    return by_route && (ward->left_name || ward->left_route) &&
           (gone || json_int_at(json_elem(backends, 0), 0, "port", NULL) !=
                        json_int_at(json_elem(ports, 0), 0, "port", NULL));
}

static void look_at_names(struct judge *judge, struct ward *ward, int64_t now)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    const char *name = json_str_at(canary, "status", "serviceName", NULL);
    const char *provider = json_str_at(canary, "status", "provider", NULL);
    if (!name || !provider)
        return;
    bool left_name = strcmp(name, ward->app->name) != 0;
    bool left_route = strncmp(provider, "gatewayapi", 10) != 0;
    if ((ward->left_name && !left_name) || (ward->left_route && !left_route))
        ward->healed_ms = now + SETTLE_MS; /* what was left behind is taken up again */
    ward->left_name = left_name;
    ward->left_route = left_route;
}

void judge_failure(struct judge *judge, const struct failure *failure)
{
    if (failure->app == judge->control) {
        judge->control_ms = failure->ended_ms;
        return;
    }
    struct ward *ward = ward_of(judge, failure->app);
    if (!ward || ward->broken)
        return;
    if (failure->stranger) {
        judge_break(judge, ward->app, "stranger", "%s: %s", failure->via, failure->text);
        return;
    }
    look_at_names(judge, ward, clock_monotonic_ms()); /* of what the view knows by now */
    bool unready = failure->sent_ms < ward->unready_ms && canary_serves(judge, ward->app);
    if (ward->harmed || failure->sent_ms < ward->healed_ms || unready ||
        is_left_behind(judge, ward, strcmp(failure->via, "apex") != 0)) {
        judge->allowed++;
        return;
    }
    judge->failed++;
    if (judge->n_pending == PENDING_MAX)
        return;
    judge->pending[judge->n_pending++] =
        (struct pending){.ward = ward,
                         .sent_ms = failure->sent_ms,
                         .ended_ms = failure->ended_ms,
                         .text = arena_printf(judge->arena, "%s: %s", failure->via, failure->text)};
}

static void look_at_pending(struct judge *judge, int64_t now)
{
    size_t kept = 0;
    char at[CLOCK_TEXT];
    for (size_t i = 0; i < judge->n_pending; i++) {
        const struct pending *it = &judge->pending[i];
        if (now - it->ended_ms < GRACE_MS) {
            judge->pending[kept++] = *it;
        } else if (judge->control_ms > it->sent_ms - GRACE_MS) {
            judge->machine++;
            judge->failed--;
        } else {
            judge_break(judge, it->ward->app, "failed", "%s (at %s)", it->text,
                        clock_rfc3339_micro(clock_wall_ms() - (now - it->sent_ms), at) + 11);
        }
    }
    judge->n_pending = kept;
}

/* Pods that are to go are still there, or a Canary without a target to hand over to: what somebody
 * has done has not come to pass yet. */
static bool goes_down(const struct judge *judge, const struct app *app)
{
    static const char *const names[] = {"NAME", "NAME-primary"};
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    if (json_at(canary, "metadata", "deletionTimestamp", NULL) &&
        !object_of(judge, &kube_deployments, "NAME", app))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct json_object *it = object_of(judge, &kube_deployments, names[i], app);
        if (it && json_int_at(it, 1, "spec", "replicas", NULL) == 0 &&
            json_int_at(it, 0, "status", "replicas", NULL) > 0)
            return true;
    }
    return false;
}

static void look_at_harm(struct judge *judge, struct ward *ward, int64_t now)
{
    if (!ward->harmed)
        return;
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    if (!is_driven(judge, canary) || ward->left_name || (ward->left_route && ward->app->gateway))
        ward->harmed_ms = now; /* nobody looks after it */
    int64_t began = ward->harmed_ms;
    if (now - began < EFFECT_MS || goes_down(judge, ward->app) || !serves(judge, ward->app))
        ward->served_ms = 0;
    else if (ward->served_ms == 0)
        ward->served_ms = now;
    if (ward->served_ms > 0 && now - ward->served_ms >= SETTLE_MS) {
        ward->harmed = false;
        ward->healed_ms = now;
        return;
    }
    if (judge->controller_ms > began)
        began = judge->controller_ms;
    if (judge_says_why(judge, ward->app, ward->harmed_ms))
        ward->told_ms = now;
    if (ward->told_ms > began)
        began = ward->told_ms;
    if (judge->controller && now - began > REPAIR_MS && ward->served_ms == 0)
        judge_break(judge, ward->app, "unrepaired",
                    "%d s after somebody took it down, and nothing says why", REPAIR_MS / 1000);
}

static void look_at_weights(struct judge *judge, struct ward *ward, int64_t now)
{
    struct json_object *rules = rules_of(judge, ward->app);
    int64_t worst = 100;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        int64_t sum = 0;
        for (size_t k = 0; k < json_len(backends); k++)
            sum += json_int_at(json_elem(backends, k), 1, "weight", NULL);
        if (json_len(backends) > 1 && sum != 100)
            worst = sum;
    }
    if (worst == 100 || !judge->controller)
        ward->odd_ms = 0;
    else if (ward->odd_ms == 0)
        ward->odd_ms = now;
    else if (now - ward->odd_ms > LASTS_MS)
        judge_break(judge, ward->app, "weights", "the weights of the route add up to %d",
                    (int)worst);
}

/* What a Canary is made over is not analysed. */
static bool is_first(const struct judge *judge, const struct app *app)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    return !phase || strcmp(phase, "Initializing") == 0 || strcmp(phase, "Initialized") == 0;
}

static void look_at_primary(struct judge *judge, struct ward *ward)
{
    struct json_object *primary = object_of(judge, &kube_deployments, "NAME-primary", ward->app);
    struct json_object *containers =
        json_at(primary, "spec", "template", "spec", "containers", NULL);
    const char *image = json_str_at(json_elem(containers, 0), "image", NULL);
    if (!image)
        return;
    if (ward->unjudged > 0 || is_first(judge, ward->app)) {
        if (!ward->excused || strcmp(ward->excused, image) != 0)
            ward->excused = arena_strdup(judge->arena, image);
        return;
    }
    const char *version = strchr(image, ':');
    bool bad = version && (strncmp(version, ":bad", 4) == 0 || strncmp(version, ":stuck", 6) == 0);
    if (bad && (!ward->excused || strcmp(ward->excused, image) != 0))
        judge_break(judge, ward->app, "unanalysed",
                    "the primary runs %s, which no analysis can have passed", image);
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

static bool is_by_controller(struct json_object *before, struct json_object *now)
{
    const char *writer = view_writer(before, now);
    return writer && strcmp(writer, "flagger-controller") == 0;
}

/* Whether its Canary is there and in the hands of a controller that may write. */
static bool is_cared_for(const struct judge *judge, const struct ward *ward, int64_t now)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, ward->app->name);
    return is_driven(judge, canary) && now - judge->controller_ms > SHARE_MS &&
           !json_at(canary, "metadata", "deletionTimestamp", NULL) &&
           !json_bool_at(canary, false, "spec", "suspend", NULL) && !ward->left_name &&
           !ward->left_route && !ward->refused && now - ward->allowed_ms > ALLOWED_MS;
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
        !is_by_controller(before, now))
        return;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct ward *ward = ward_named(judge, patterns[i], name);
        if (!ward || judge->n_rewritten == EMPTIED_MAX)
            continue;
        judge->seen.services++;
        judge->rewritten[judge->n_rewritten++] =
            (struct rewritten){.ward = ward,
                               .service = arena_strdup(judge->arena, name),
                               .former = json_copy(judge->arena, former),
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

static bool wants_any_capacity(const struct judge *judge, const struct app *app)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    return json_at(canary, "spec", "analysis", "capacity", NULL) ||
           json_at(canary, "status", "acceptedSpec", "analysis", "capacity", NULL) ||
           json_bool_at(canary, false, "spec", "skipAnalysis", NULL) ||
           json_bool_at(canary, false, "status", "acceptedSpec", "skipAnalysis", NULL);
}

static void see_route(struct judge *judge, struct json_object *before, struct json_object *now)
{
    struct ward *ward = ward_named(judge, "NAME", text_of(now, "name"));
    if (!ward || ward->n_samples == 0 || !before || !is_by_controller(before, now) ||
        wants_any_capacity(judge, ward->app))
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

static void see_deployment(struct judge *judge, struct json_object *before, struct json_object *now)
{
    const char *name = text_of(now, "name");
    struct ward *primary = ward_named(judge, "NAME-primary", name);
    struct ward *ward = primary ? primary : ward_named(judge, "NAME", name);
    if (!ward || clock_monotonic_ms() - ward->scaler_ms < OWNED_MS)
        return;
    const char *own = ward->app->scaler ? user_name(judge->arena, primary ? "NAME-primary" : "NAME",
                                                    ward->app->name)
                                        : NULL;
    judge->seen.numbers++;
    const char *text = invariant_number(judge->arena, judge->view, own, before, now);
    if (text)
        judge_break(judge, ward->app, "number", "%s", text);
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

/* What began without a gate has passed none. */
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
    struct json_object *target = object_of(judge, &kube_deployments, "NAME", ward->app);
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

static void look_at_rewritten(struct judge *judge, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < judge->n_rewritten; i++) {
        const struct rewritten it = judge->rewritten[i];
        if (now - it.at_ms < EMPTIED_MS) {
            judge->rewritten[kept++] = it;
            continue;
        }
        const char *text = invariant_emptied(judge->arena, judge->view, it.service, it.former);
        if (text && is_led_to(judge, it.ward->app, it.service))
            judge_break(judge, it.ward->app, "emptied", "%s", text);
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

void judge_look(struct judge *judge)
{
    int64_t now = clock_monotonic_ms();
    look_at_pending(judge, now);
    look_at_rewritten(judge, now);
    for (size_t i = 0; i < judge->n_wards; i++) {
        struct ward *ward = &judge->wards[i];
        if (ward->broken)
            continue;
        look_at_names(judge, ward, now);
        look_at_harm(judge, ward, now);
        look_at_weights(judge, ward, now);
        look_at_primary(judge, ward);
        take_sample(judge, ward, now);
        look_at_strangers(judge, ward);
        look_at_share(judge, ward, now);
        look_at_gate(judge, ward);
        look_at_told(judge, ward, now);
    }
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

void judge_rest(struct judge *judge, const struct app *app)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    struct json_object *rules = rules_of(judge, app);
    const char *provider = json_str_at(canary, "spec", "provider", NULL);
    const char *service = json_str_at(canary, "status", "serviceName", NULL);
    int64_t said = json_int_at(canary, 0, "status", "canaryWeight", NULL);
    struct json_object *backends = json_at(json_elem(rules, 0), "backendRefs", NULL);
    const char *copy = app->hashed && is_promoted(canary)
                           ? invariant_copies(judge->arena, judge->view, app)
                           : NULL;
    if (copy)
        judge_break(judge, app, "copies", "%s", copy);
    if (!canary || !provider || strncmp(provider, "gatewayapi", 10) != 0 || !service ||
        strcmp(service, app->name) != 0 || json_len(backends) < 2 ||
        judge_says_why(judge, app, INT64_MAX))
        return;
    int64_t routed = json_int_at(json_elem(backends, 1), 0, "weight", NULL);
    if (routed != said)
        judge_break(judge, app, "status", "the status says %d %%, the route gives the canary %d %%",
                    (int)said, (int)routed);
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

bool judge_broken(const struct judge *judge, const struct app *app)
{
    const struct ward *ward = ward_of(judge, app);
    return ward && ward->broken;
}

const struct violation *judge_violations(const struct judge *judge, size_t *count)
{
    *count = judge->n_violations;
    return judge->violations;
}

uint64_t judge_allowed(const struct judge *judge)
{
    return judge->allowed;
}

uint64_t judge_failed(const struct judge *judge)
{
    return judge->failed;
}

uint64_t judge_machine(const struct judge *judge)
{
    return judge->machine;
}
