#include "random_edits/judge_parts.h"

#include <string.h>

#include "base/clock.h"
#include "proto/weight.h"

/* --- what there is to see */

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

static bool serves(const struct judge *judge, const struct app *app)
{
    struct json_object *rules = judge_rules(judge, app);
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
    struct json_object *rules = judge_rules(judge, app);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        if (json_len(backends) > 1 && json_int_at(json_elem(backends, 1), 0, "weight", NULL) > 0)
            return true;
    }
    return false;
}

/* Its Service leads to the pods of the target, and to none of the primary: as after a Canary that was
 * deleted and had another name when it came back. */
static bool target_serves(const struct judge *judge, const struct app *app)
{
    struct json_object *selector =
        json_at(view_get(judge->view, &kube_services, app->name), "spec", "selector", NULL);
    struct json_object *target =
        json_at(view_get(judge->view, &kube_deployments, app->name), "spec", "template", NULL);
    struct json_object *primary = json_at(
        judge_object(judge, &kube_deployments, "NAME-primary", app), "spec", "template", NULL);

    return selector && target && view_selects(selector, target) &&
           !(primary && view_selects(selector, primary));
}

bool judge_says_why(const struct judge *judge, const struct app *app, int64_t since_ms)
{
    static const char *const standing[] = {
        "Accepted",   "Approved",          "Reverted",       "TargetFound", "PrimaryFound",
        "Configured", "PrimaryConfigured", "WritesAccepted", "PodsOwned",   "AutoscalerFound"};
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

/* --- what happens */

void judge_harm(struct judge *judge, const struct app *app)
{
    struct ward *ward = judge_ward(judge, app);

    if (!ward)
        return;
    ward->harmed = true;
    ward->harmed_ms = clock_monotonic_ms();
    ward->served_ms = 0;
}

void judge_allow(struct judge *judge, const struct app *app)
{
    struct ward *ward = judge_ward(judge, app);
    ward->refused = false;
    ward->allowed_ms = clock_monotonic_ms();
}

void judge_edit(struct judge *judge, const struct line *line, int edits_made)
{
    struct ward *ward = line->app ? judge_ward(judge, line->app) : NULL;
    judge->edits_made = edits_made;
    if (!ward)
        return;
    if (line->edit->unjudged)
        ward->unjudged = 2;
    else if (line->edit->kind == EDIT_RESTORE && ward->unjudged == 2)
        ward->unjudged = 1;
    else if (line->edit->kind == EDIT_PUSH && ward->unjudged == 1)
        ward->unjudged = 0;
    judge_note_edit(ward, line->edit);
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
        const char *at = made_at(judge_object(judge, &user_routes, left[i], app));
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
    struct json_object *service = judge_object(judge, &kube_services, "NAME-primary", ward->app);
    struct json_object *ports = json_at(service, "spec", "ports", NULL);
    struct json_object *backends =
        json_at(json_elem(judge_rules(judge, ward->app), 0), "backendRefs", NULL);
    bool gone = !canary || json_at(canary, "metadata", "deletionTimestamp", NULL) ||
                !json_at(canary, "status", "serviceName", NULL);
    if ((ward->left_name && gone) || (by_route && has_left_route(judge, ward->app)))
        return true;
    /* nor can a route be led to another port that may not be written */
    bool stays = ward->left_name || ward->left_route || ward->refused;
    return by_route && stays &&
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
    struct ward *ward = judge_ward(judge, failure->app);
    if (!ward || ward->broken)
        return;
    if (failure->stranger) {
        judge_break(judge, ward->app, "stranger", "%s: %s", failure->via, failure->text);
        return;
    }
    look_at_names(judge, ward, clock_monotonic_ms()); /* of what the view knows by now */
    bool unready = failure->sent_ms < ward->unready_ms &&
                   (canary_serves(judge, ward->app) || target_serves(judge, ward->app));
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
        !judge_object(judge, &kube_deployments, "NAME", app))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct json_object *it = judge_object(judge, &kube_deployments, names[i], app);
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
    if (!judge_is_driven(judge, canary) || ward->left_name ||
        (ward->left_route && ward->app->gateway))
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
    struct json_object *rules = judge_rules(judge, ward->app);
    int64_t worst = 100;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        int64_t sum = 0;
        for (size_t k = 0; k < json_len(backends); k++)
            sum += json_int_at(json_elem(backends, k), 1, "weight", NULL);
        if (json_len(backends) > 1 && sum != 100 && sum != 1000 && sum != WEIGHT_ALL)
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
    struct json_object *primary = judge_object(judge, &kube_deployments, "NAME-primary", ward->app);
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

void judge_add_sample(struct judge *judge)
{
    int64_t now = clock_monotonic_ms();
    look_at_pending(judge, now);
    judge_look_at_written(judge, now);
    for (size_t i = 0; i < judge->n_wards; i++) {
        struct ward *ward = &judge->wards[i];
        if (ward->broken)
            continue;
        look_at_names(judge, ward, now);
        look_at_harm(judge, ward, now);
        look_at_weights(judge, ward, now);
        look_at_primary(judge, ward);
        judge_look_at_workload(judge, ward, now);
    }
}

void judge_rest(struct judge *judge, const struct app *app)
{
    struct json_object *canary = view_get(judge->view, &user_canaries, app->name);
    struct json_object *rules = judge_rules(judge, app);
    const char *provider = json_str_at(canary, "spec", "provider", NULL);
    const char *service = json_str_at(canary, "status", "serviceName", NULL);
    int said = weight_of_status(json_at(canary, "status", NULL));
    struct json_object *backends = json_at(json_elem(rules, 0), "backendRefs", NULL);
    judge_look_at_copies(judge, app);
    if (!canary || !provider || strncmp(provider, "gatewayapi", 10) != 0 || !service ||
        strcmp(service, app->name) != 0 || json_len(backends) < 2 ||
        judge_says_why(judge, app, INT64_MAX))
        return;
    int64_t canary_has = json_int_at(json_elem(backends, 1), 0, "weight", NULL);
    int64_t primary_has = json_int_at(json_elem(backends, 0), 0, "weight", NULL);
    int routed = weight_of_total(canary_has, canary_has + primary_has);
    if (routed != said)
        judge_break(judge, app, "status", "the status says %s %%, the route gives the canary %s %%",
                    weight_text(judge->arena, said), weight_text(judge->arena, routed));
}

bool judge_broken(const struct judge *judge, const struct app *app)
{
    const struct ward *ward = judge_ward(judge, app);
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
