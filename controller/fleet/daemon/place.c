#include "fleet/daemon/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "fleet/daemon/run.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/inventory.h"

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
    place->owner->changed(place->owner);
}

/* The cluster's state comes first: of an unreachable one nothing else is known. */
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

/* It was made for this place. */
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
    place->owner->changed(place->owner);
    if (may_run(place) && place->state == PLACE_BACKING_OFF) {
        timer_stop(place->timer);
        place->timer = NULL;
        place_set_state(place, PLACE_RESTING);
    }
    if (place->due && may_run(place))
        place_wake(place);
    if (place->leaves)
        place->owner->wake(place->owner);
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
    static const struct run_ways ways = {
        .set_state = place_set_state, .tell = place_tell, .end = place_end};

    place->due = false;
    place_set_state(place, PLACE_LOOKING);
    run_start(place, &ways);
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
        place->owner->changed(place->owner);
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
