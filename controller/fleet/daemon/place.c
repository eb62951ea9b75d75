#include "fleet/daemon/app.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/record.h"
#include "kube/reply.h"

enum { RETRY_MAX_MS = 60000 };
enum { KEY_WORKLOAD, KEY_SERVICE, KEY_LOADER, KEY_NAMESPACE };

static const struct machine_state states[] = {
    [PLACE_RESTING] = {.name = "resting", .next = 1u << PLACE_QUEUED},
    [PLACE_QUEUED] = {.name = "queued", .next = 1u << PLACE_LOOKING | 1u << PLACE_RESTING},
    [PLACE_LOOKING] = {.name = "looking",
                       .next = 1u << PLACE_RECORDING | 1u << PLACE_CLAIMING | 1u << PLACE_WRITING |
                               1u << PLACE_RESTING | 1u << PLACE_BACKING_OFF},
    [PLACE_RECORDING] = {.name = "recording",
                         .next = 1u << PLACE_LOOKING | 1u << PLACE_CLAIMING | 1u << PLACE_WRITING |
                                 1u << PLACE_RESTING | 1u << PLACE_BACKING_OFF},
    [PLACE_CLAIMING] = {.name = "claiming",
                        .next =
                            1u << PLACE_WRITING | 1u << PLACE_RESTING | 1u << PLACE_BACKING_OFF},
    [PLACE_WRITING] = {.name = "writing",
                       .next = 1u << PLACE_LOOKING | 1u << PLACE_RESTING | 1u << PLACE_BACKING_OFF},
    [PLACE_BACKING_OFF] = {.name = "backing off", .next = 1u << PLACE_QUEUED | 1u << PLACE_RESTING},
};
static const struct machine machine = {MACHINE_STATES(states), .event = "fleet_place"};

const char *place_state_name(enum place_state state)
{
    return machine_name(&machine, (int)state);
}

static void place_set_state(struct place *place, enum place_state state)
{
    machine_step(&machine, place->state, state, NULL, "a policy on a cluster",
                 LOG_STR("application", place->owner->label), LOG_STR("policy", place->policy),
                 LOG_STR("cluster", place->cluster));
    place->state = state;
}

/* --- the report */

static void place_tell(struct place *place, enum report_state told, const char *says)
{
    const char *was = place->says ? place->says : "";

    if (place->told == told && strcmp(was, says ? says : "") == 0)
        return;
    char *copy = heap_strdup(says);
    free(place->says);
    place->says = copy;
    place->told = told;
    place_owner_changed(place->owner);
}

/* The cluster's state comes first: if it is unreachable, nothing else is known. */
static enum report_state state_of(const struct place *place, const char **says)
{
    const struct member *member = place->member;

    *says = place->says;
    if (place->mistake) {
        *says = place->mistake;
        return REPORT_Refused;
    }
    if (member && !member_is_reached(member) && member->why) {
        *says = member->why;
        return member->state == MEMBER_BARRED ? REPORT_Refused : REPORT_Unreachable;
    }
    if (place->leaves)
        return REPORT_Leaving;
    return place->told;
}

void place_report(const struct place *place, struct report_row *out)
{
    const struct member_cache *cache = place->member ? place->member->cache : NULL;
    const struct member_canary *canary =
        cache && *place->name ? member_cache_canary(cache, place->namespace_, place->name) : NULL;

    *out = (struct report_row){.policy = place->policy,
                               .cluster = place->cluster,
                               .namespace_ = *place->name ? place->namespace_ : NULL,
                               .name = *place->name ? place->name : NULL,
                               .contact_ms = place->member ? place->member->heard_ms : 0,
                               .applied = "",
                               .promoted = "",
                               .transition = ""};
    out->state = state_of(place, &out->says);
    if (!canary || canary->phase == PHASE_NONE)
        return;
    out->seen = true;
    out->phase = canary->phase;
    out->weight = canary->weight;
    out->failed_checks = canary->failed_checks;
    out->iterations = canary->iterations;
    out->applied = canary->applied;
    out->promoted = canary->promoted;
    out->transition = canary->transition;
}

/* --- dependencies */

static void set_text(char **at, const char *text)
{
    char *copy = heap_strdup(text);

    free(*at);
    *at = copy;
}

void place_aim(struct place *place, const struct rollout *rollout)
{
    memset(place->keys, 0, sizeof(place->keys));
    if (!rollout)
        return;
    char *loader = heap_printf("%s-testloader", rollout->workload.name);
    const char *in = rollout->workload.namespace_;
    set_text(&place->namespace_, in);
    set_text(&place->name, rollout->workload.name);
    place->keys[KEY_WORKLOAD] = name_hash(in, rollout->workload.name);
    place->keys[KEY_SERVICE] = name_hash(in, rollout->service_name);
    place->keys[KEY_LOADER] = name_hash(in, loader);
    place->keys[KEY_NAMESPACE] = name_hash("", in);
    free(loader);
    if (!place->member)
        return;
    member_need(place->member, &fleet_namespaces);
    member_need(place->member, &kube_services);
    if (rollout->loader)
        member_need(place->member, &kube_deployments);
    if (rollout->provider->ingress_class)
        member_need(place->member, &fleet_ingresses);
    for (int i = 0; i < rollout->analysis.n_metrics; i++)
        if (rollout->analysis.metrics[i].custom)
            member_need(place->member, &fleet_templates);
}

/* True if the object was created for this place. */
static bool is_listed(const struct place *place, const char *kind, const char *namespace_,
                      const char *name)
{
    char line[600];

    if (!*place->objects)
        return false;
    int len = snprintf(line, sizeof(line), "%s %s/%s", kind, namespace_, name);
    return len < (int)sizeof(line) && inventory_has(place->objects, line);
}

bool place_concerns(const struct place *place, const struct kube_resource *resource,
                    const char *namespace_, const char *name)
{
    uint64_t key = name_hash(namespace_, name);
    bool same_namespace =
        place->keys[KEY_NAMESPACE] && name_hash("", namespace_) == place->keys[KEY_NAMESPACE];

    if (resource == &fleet_namespaces)
        return key == place->keys[KEY_NAMESPACE];
    if (same_namespace && (resource == &fleet_templates || resource == &fleet_ingresses))
        return true;
    if (key == place->keys[KEY_WORKLOAD] && resource == &fleet_canaries)
        return true;
    if (key == place->keys[KEY_SERVICE] && resource == &kube_services)
        return true;
    if (key == place->keys[KEY_LOADER] &&
        (resource == &kube_services || resource == &kube_deployments))
        return true;
    return is_listed(place, resource->kind, namespace_, name);
}

/*
 * --- a run: reads, plans, records the inventory, carries the plan out, and reads again until
 * nothing is left to do
 */

/* Ends a run, with a failure or without (NULL), and frees it. */
static void place_end(struct place *place, const struct errinfo *failure);

enum {
    PATIENCE_MS = 60000, /* limit for a whole run; each request gets less */
    MAX_ROUNDS = 24,     /* a plan that is not finished after so many rounds is recreated later */
    MAX_CONFLICTS = 3,
};

/* An object that was read because it is not watched. */
struct fact {
    struct fact *next;
    const struct kube_resource *resource;
    const char *namespace_, *name;
    struct json_object *object; /* NULL if there is none */
    bool known;
    struct run *run;
    struct tracked_request *ask;
};

struct run {
    struct place *place;
    struct arena *arena;
    struct view *view; /* NULL for a place that leaves */
    struct application app;
    struct application_policy policy;
    struct fleet_place spec;
    struct fact *facts;
    int left; /* reads under way */
    struct fleet_plan *plan;
    struct fleet_step *step;
    struct tracked_request *ask;
    struct claim_wait wait;
    struct timer *deadline;
    int rounds, conflicts;
    bool distrusts;  /* distrusts the watches: reads everything */
    enum err failed; /* error of a read; ERR_OK: none */
    struct errinfo failure;
};

static void look(struct run *run);

static void run_free(struct run *run)
{
    if (!run)
        return;
    for (struct fact *fact = run->facts; fact; fact = fact->next)
        tracked_free(fact->ask);
    tracked_free(run->ask);
    if (run->place->member && run->place->member->claim)
        claim_leave(run->place->member->claim, &run->wait);
    timer_stop(run->deadline);
    view_drop(run->view);
    arena_free(run->arena);
    free(run);
}

static void fail(struct run *run, enum err err, const struct errinfo *info)
{
    struct place *place = run->place;
    struct errinfo own = *info;

    log_warn("fleet_place_failed", NULL, own.text, LOG_STR("application", place->owner->label),
             LOG_STR("policy", place->policy), LOG_STR("cluster", place->cluster));
    place_tell(place, err == ERR_DENIED ? REPORT_Refused : REPORT_Failing, own.text);
    place_end(place, &own);
    /* There was no reply at all: others need not find that out one by one. */
    if (err == ERR_RETRY && own.status == 0 && place->member)
        member_doubt(place->member, own.text);
}

static void on_deadline(void *arg)
{
    struct run *run = arg;
    struct errinfo info = {0};

    run->deadline = NULL;
    err_set(&info, ERR_CANCELLED, "what is to be done there took longer than %d s",
            PATIENCE_MS / 1000);
    fail(run, ERR_CANCELLED, &info);
}

/* Nothing is left to do for now. */
static void rest(struct run *run)
{
    struct place *place = run->place;
    const struct fleet_plan *plan = run->plan;
    const char *objects = inventory_objects(run->arena, plan->inventory);
    enum report_state told = plan->refused ? REPORT_Refused
                             : plan->waits ? REPORT_Waiting
                                           : REPORT_Ready;

    if (plan->denied && plan->refused && (!place->says || strcmp(place->says, plan->refused) != 0))
        place_owner_warn(place->owner, "NamespaceNotGranted",
                         arena_printf(run->arena, "cluster %s: %s", place->cluster, plan->refused));
    place_tell(place, told, plan->refused ? plan->refused : plan->waits);
    place->marked = place->marked && (plan->refused || plan->waits);
    if (strcmp(objects, place->objects) != 0) {
        free(place->records);
        place->records = heap_strdup(objects);
        place_owner_record(place->owner);
    }
    place_end(place, NULL);
}

static struct fact *fact_of(struct run *run, const struct kube_resource *resource,
                            const char *namespace_, const char *name)
{
    struct fact *fact;

    for (fact = run->facts; fact; fact = fact->next)
        if (fact->resource == resource && strcmp(fact->namespace_, namespace_) == 0 &&
            strcmp(fact->name, name) == 0)
            return fact;
    fact = ARENA_NEW(run->arena, struct fact);
    *fact = (struct fact){.next = run->facts,
                          .resource = resource,
                          .namespace_ = arena_strdup(run->arena, namespace_),
                          .name = arena_strdup(run->arena, name),
                          .run = run};
    run->facts = fact;
    return fact;
}

static bool see(void *arg, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object **out)
{
    struct run *run = arg;
    struct fact *fact = fact_of(run, resource, namespace_, name);

    if (!fact->known && !run->distrusts)
        fact->known = member_cache_find(run->place->member->cache, run->arena, resource, namespace_,
                                        name, &fact->object);
    *out = fact->object;
    return fact->known;
}

static void on_read(void *arg, const struct kube_result *result)
{
    struct fact *fact = arg;
    struct run *run = fact->run;
    bool missing =
        result->err == ERR_NOT_FOUND && !kube_status_unserved(result->status, result->body);

    fact->ask = NULL;
    if (result->err == ERR_OK) {
        fact->object = json_own(run->arena, json_object_get(result->body));
        run->place->learns = true;
        member_cache_learn(run->place->member->cache, fact->resource, result->body);
        run->place->learns = false;
    }
    fact->known = result->err == ERR_OK || missing;
    if (!fact->known && run->failed == ERR_OK) {
        run->failed = result->err;
        run->failure = *result->info;
    }
    if (--run->left > 0)
        return;
    if (run->failed != ERR_OK)
        fail(run, run->failed, &run->failure);
    else
        look(run);
}

static void read_missing(struct run *run)
{
    for (struct fact *fact = run->facts; fact; fact = fact->next)
        run->left += !fact->known;
    for (struct fact *fact = run->facts; fact; fact = fact->next) {
        const struct kube_request request = {
            .verb = KUBE_GET,
            .resource = fact->resource,
            .namespace_ = fact->resource->cluster_scoped ? NULL : fact->namespace_,
            .name = fact->name};
        if (!fact->known)
            fact->ask = tracked_send(&run->place->owner->fleet->context, run->place->member->kube,
                                     &request, on_read, fact);
    }
}

static void next_step(struct run *run);

static void look_again(struct run *run, bool distrusts)
{
    for (struct fact *fact = run->facts; fact; fact = fact->next)
        tracked_free(fact->ask);
    run->facts = NULL;
    run->distrusts = distrusts;
    place_set_state(run->place, PLACE_LOOKING);
    look(run);
}

static void learn(struct run *run, const struct kube_result *result)
{
    const struct fleet_step *step = run->step;
    struct place *place = run->place;
    bool gone = step->verb == FLEET_DELETE &&
                (result->err != ERR_OK || !json_at(result->body, "metadata", "uid", NULL));

    place->learns = true;
    if (gone)
        member_cache_learn_gone(place->member->cache, step->resource, step->namespace_, step->name,
                                json_str_at(step->body, "preconditions", "uid", NULL));
    else if (result->body)
        member_cache_learn(place->member->cache, step->resource, result->body);
    place->learns = false;
}

static void on_step(void *arg, const struct kube_result *result)
{
    struct run *run = arg;
    const struct fleet_step *step = run->step;
    bool is_gone = step->verb == FLEET_DELETE && result->err == ERR_NOT_FOUND;
    bool is_other =
        result->err == ERR_CONFLICT || (result->err == ERR_NOT_FOUND && step->verb == FLEET_PATCH);

    run->ask = NULL;
    if (result->err == ERR_OK || is_gone) {
        learn(run, result);
        run->step = step->next;
        next_step(run);
    } else if (is_other && ++run->conflicts <= MAX_CONFLICTS) {
        look_again(run, true); /* a conflict, so everything is read again */
    } else {
        fail(run, result->err, result->info);
    }
}

static void next_step(struct run *run)
{
    static const enum kube_verb verbs[] = {[FLEET_CREATE] = KUBE_CREATE,
                                           [FLEET_PATCH] = KUBE_MERGE_PATCH,
                                           [FLEET_DELETE] = KUBE_DELETE};
    const struct fleet_step *step = run->step;

    if (!step) {
        look_again(run, false);
        return;
    }
    const struct kube_request request = {
        .verb = verbs[step->verb],
        .resource = step->resource,
        .namespace_ = step->resource->cluster_scoped ? NULL : step->namespace_,
        .name = step->verb == FLEET_CREATE ? NULL : step->name,
        .body = step->body};
    log_info("fleet_step", NULL,
             step->verb == FLEET_CREATE  ? "makes an object"
             : step->verb == FLEET_PATCH ? "changes an object"
                                         : "deletes an object",
             LOG_STR("application", run->place->owner->label),
             LOG_STR("cluster", run->place->cluster), LOG_STR("kind", step->resource->kind),
             LOG_STR("namespace", step->namespace_), LOG_STR("name", step->name));
    run->ask = tracked_send(&run->place->owner->fleet->context, run->place->member->kube, &request,
                            on_step, run);
}

static void carry_out(struct run *run)
{
    place_set_state(run->place, PLACE_WRITING);
    place_tell(run->place, REPORT_Working, NULL);
    run->step = run->plan->first;
    next_step(run);
}

static void on_claimed(void *arg, enum err err, const struct errinfo *info)
{
    struct run *run = arg;

    if (err == ERR_OK)
        carry_out(run);
    else
        fail(run, err, info);
}

static void claim(struct run *run)
{
    run->wait.done = on_claimed;
    run->wait.arg = run;
    if (claim_enter(run->place->member->claim, &run->wait))
        carry_out(run);
    else
        place_set_state(run->place, PLACE_CLAIMING);
}

/* Records the plan's objects in the inventory before they are created. */
static void record(struct run *run)
{
    struct place *place = run->place;
    const char *objects = inventory_objects(run->arena, run->plan->inventory);

    if (inventory_has(place->objects, objects)) {
        claim(run);
        return;
    }
    free(place->records);
    place->records = heap_strdup(inventory_join(run->arena, place->objects, objects));
    place_set_state(place, PLACE_RECORDING);
    place_owner_record(place->owner);
}

static void run_recorded(struct run *run, const struct errinfo *failure)
{
    if (failure)
        fail(run, ERR_INVALID, failure);
    else
        claim(run);
}

static void add_marked(void *arg, const struct kube_resource *resource, const struct digest *digest)
{
    struct json_object *entry = json_object_new_object();

    json_object_array_add(arg, entry);
    json_set_str(entry, "kind", resource->kind);
    json_set_str(entry, "namespace", digest->namespace_);
    json_set_str(entry, "name", digest->name);
}

/* Includes the objects there that have our mark, if the inventory was lost. */
static struct json_object *inventory_before(struct run *run)
{
    struct place *place = run->place;
    struct json_object *list = inventory_list(run->arena, place->objects);
    const char *mark = arena_printf(run->arena, "%s/%s", place->owner->label, place->policy);

    if (place->marked)
        member_cache_marked(place->member->cache, member_cache_mark(mark), add_marked, list);
    return list;
}

static void look(struct run *run)
{
    const struct fleet_eyes eyes = {.look = see, .arg = run};
    struct errinfo info = {0};

    if (++run->rounds > MAX_ROUNDS) {
        err_set(&info, ERR_CONFLICT,
                "after %d rounds something is still to be done: somebody else changes it as well",
                MAX_ROUNDS);
        fail(run, ERR_CONFLICT, &info);
        return;
    }
    run->plan = fleet_plan(run->arena, &run->spec, inventory_before(run), &eyes);
    if (run->plan->unknown)
        read_missing(run);
    else if (run->plan->count > 0)
        record(run);
    else
        rest(run);
}

static const struct application_policy *policy_of(const struct application *app, const char *name)
{
    for (int i = 0; i < app->n_policies; i++)
        if (strcmp(app->policies[i].name, name) == 0)
            return &app->policies[i];
    return NULL;
}

/* False if its rollout cannot be read or no longer exists; the Application then looks at it
 * again. */
static bool aim(struct run *run)
{
    struct place *place = run->place;
    const struct members_context *context = &place->owner->fleet->context;

    run->app =
        (struct application){.namespace_ = place->owner->namespace_, .name = place->owner->name};
    run->policy = (struct application_policy){.name = place->policy};
    run->spec = (struct fleet_place){.app = &run->app,
                                     .policy = &run->policy,
                                     .manager = context->identity,
                                     .leaves = place->leaves,
                                     .loader_image = context->settings->loader_image,
                                     .grants = context->settings->grants};
    if (place->leaves)
        return true;
    run->view = place_owner_view(place->owner);
    const struct application_policy *policy =
        run->view ? policy_of(&run->view->app, place->policy) : NULL;
    if (!policy || !policy->rollout)
        return false;
    run->spec.app = &run->view->app;
    run->spec.policy = policy;
    return true;
}

static void run_start(struct place *place)
{
    struct run *run = heap_alloc(sizeof(*run));

    *run = (struct run){.place = place, .arena = arena_new()};
    place->run = run;
    if (!aim(run)) {
        place_end(place, NULL);
        return;
    }
    run->deadline =
        timer_start(place->owner->fleet->context.loop, PATIENCE_MS, 0, on_deadline, run);
    look(run);
}

/* --- turns */

static bool may_run(const struct place *place)
{
    return place->member && !place->mistake && member_is_reached(place->member);
}

void place_wake(struct place *place)
{
    if (place->learns)
        return;
    place->due = true;
    if (place->state != PLACE_RESTING || !may_run(place))
        return;
    place_set_state(place, PLACE_QUEUED);
    fleet_daemon_wake_place(place->owner->fleet, place);
}

void place_turned(struct place *place)
{
    place_owner_changed(place->owner);
    if (may_run(place) && place->state == PLACE_BACKING_OFF) {
        timer_stop(place->timer);
        place->timer = NULL;
        place_set_state(place, PLACE_RESTING);
    }
    if (place->due && may_run(place))
        place_wake(place);
    if (place->leaves)
        place_owner_wake(place->owner);
}

static void on_retry(void *arg)
{
    struct place *place = arg;

    place->timer = NULL;
    place_set_state(place, PLACE_RESTING);
    place->due = true;
    if (may_run(place))
        place_wake(place);
}

static void leave_run(struct place *place)
{
    run_free(place->run);
    place->run = NULL;
    fleet_daemon_drop_place(place->owner->fleet, place);
}

static void place_end(struct place *place, const struct errinfo *failure)
{
    leave_run(place);
    if (failure) {
        place->due = true;
        place_set_state(place, PLACE_BACKING_OFF);
        place->timer =
            timer_start(place->owner->fleet->context.loop,
                        backoff_next(&place->backoff, failure->retry_after_ms), 0, on_retry, place);
        return;
    }
    backoff_reset(&place->backoff);
    place_set_state(place, PLACE_RESTING);
    if (place->due)
        place_wake(place);
}

void place_run(struct place *place)
{
    place->due = false;
    place_set_state(place, PLACE_LOOKING);
    run_start(place);
}

void place_recorded(struct place *place, const struct errinfo *failure)
{
    if (place->state == PLACE_RECORDING)
        run_recorded(place->run, failure);
}

void place_abort(struct place *place)
{
    place->due = true;
    if (place->state == PLACE_RESTING)
        return;
    leave_run(place);
    timer_stop(place->timer);
    place->timer = NULL;
    place_set_state(place, PLACE_RESTING);
}

/* --- life */

struct place *place_new(struct place_owner *owner, const char *policy, const char *cluster)
{
    struct place *place = heap_alloc(sizeof(*place));

    *place = (struct place){
        .owner = owner,
        .policy = heap_strdup(policy),
        .cluster = heap_strdup(cluster),
        .namespace_ = heap_strdup(""),
        .name = heap_strdup(""),
        .objects = heap_strdup(""),
        .backoff = {.min_ms = members_retry_ms(&owner->fleet->context), .max_ms = RETRY_MAX_MS}};
    return place;
}

static void drop_member(struct place *place)
{
    if (!place->member)
        return;
    place_abort(place);
    TAILQ_REMOVE(&place->member->places, place, link);
    fleet_daemon_let_go(place->owner->fleet, place->member);
    place->member = NULL;
}

void place_reach(struct place *place, const char *access, const char *mistake)
{
    const char *was = place->mistake ? place->mistake : "";

    if (strcmp(was, mistake ? mistake : "") != 0) {
        set_text(&place->mistake, mistake);
        place_owner_changed(place->owner);
    }
    if (!access || (place->access && strcmp(place->access, access) == 0))
        return;
    drop_member(place);
    set_text(&place->access, access);
    struct fleet_daemon *fleet = place->owner->fleet;
    place->member = fleet_daemon_member(fleet, *access ? place->owner->namespace_ : "", access);
    TAILQ_INSERT_TAIL(&place->member->places, place, link);
    place->due = true;
}

void place_free(struct place *place)
{
    if (!place)
        return;
    drop_member(place);
    free(place->policy);
    free(place->cluster);
    free(place->access);
    free(place->namespace_);
    free(place->name);
    free(place->objects);
    free(place->records);
    free(place->sent);
    free(place->mistake);
    free(place->says);
    free(place);
}

enum err view_new(struct json_object *tree, struct view **out, struct errinfo *ei)
{
    struct view *view = heap_alloc(sizeof(*view));

    *view = (struct view){.uses = 1, .arena = arena_new()};
    enum err err = application_view(view->arena, json_copy(view->arena, tree), &view->app, ei);
    *out = view;
    if (err == ERR_OK)
        return ERR_OK;
    view_drop(view);
    *out = NULL;
    return err;
}

void view_drop(struct view *view)
{
    if (!view || --view->uses > 0)
        return;
    arena_free(view->arena);
    free(view);
}
