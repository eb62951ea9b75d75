/*
 * An edit that moves a Canary to another target, provider, Service or autoscaler. What serves goes
 * on serving: as long as a release is under way, or the canary has traffic, such an edit is refused
 * until that is over. Otherwise it is followed. Another target gets a primary of its own first, and
 * the Services and routes move when that is ready: so the release of another target begins as that
 * of a new Canary does. status.acceptedSpec says what was there before; where it is not known,
 * former.c finds another target, and nothing else that moves is noticed.
 */
#include "decide/act/move.h"

#include <string.h>

#include "decide/release/former.h"
#include "decide/release/release.h"
#include "target/common_primary.h"

/* Kind and name that the accepted spec gave at `key`; name NULL: none. */
static struct canary_ref accepted_ref(const struct release *r, const char *key)
{
    struct json_object *ref = json_at(r->canary->status.accepted_spec, key, NULL);
    const char *kind = json_str_at(ref, "kind", NULL);
    const char *version = json_str_at(ref, "apiVersion", NULL);

    return (struct canary_ref){.api_version = version ? version : "",
                               .kind = kind ? kind : "",
                               .name = json_str_at(ref, "name", NULL)};
}

static bool is_other(const struct canary_ref *before, const struct canary_ref *now)
{
    return before->name && (!now->name || strcmp(before->name, now->name) != 0 ||
                            strcmp(before->kind, now->kind) != 0);
}

struct canary_ref move_before(const struct release *r)
{
    return accepted_ref(r, "targetRef");
}

bool move_has_begun(const struct release *r)
{
    struct canary_ref before = move_before(r);

    return is_other(&before, &r->canary->target);
}

bool move_is_pending(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    return (status->service_name && strcmp(status->service_name, r->canary->service.name) != 0) ||
           (status->provider && r->tick->provider &&
            strcmp(status->provider, r->tick->provider) != 0);
}

bool move_is_bound(const struct release *r)
{
    return release_is_analysing(r) || release_is_promoting(r) ||
           (r->canary->status.canary_weight > 0 && !release_is_initialising(r));
}

/* --- the names of routes and of the autoscaler */

/*
 * The routes of another provider, or of another name, are out of reach: going on would scale down
 * who they feed. A status of Flagger does not say what its routes are made by.
 */
static const char *refuse_provider_move(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    const char *field = r->canary->provider ? "spec.provider" : "--mesh-provider";
    const char *before = status->provider ? status->provider : "another provider";

    if (status->provider ? strcmp(status->provider, r->tick->provider) == 0
                         : r->router->weighted || status->canary_weight == 0)
        return NULL;
    if (status->canary_weight == 0)
        return arena_printf(r->tick->arena,
                            "%s: changed from %s to %s in the middle of a release; put it back "
                            "until the release is over",
                            field, before, r->tick->provider);
    return arena_printf(r->tick->arena,
                        "%s: changed to %s while %s routes %d %% of the traffic to the canary; put "
                        "it back until the release is over",
                        field, r->tick->provider, before, status->canary_weight);
}

static const char *refuse_service_move(struct release *r)
{
    const struct canary_status *status = &r->canary->status;
    const char *name = status->service_name;

    if (!name || strcmp(name, r->canary->service.name) == 0 || move_has_begun(r))
        return NULL;
    if (status->canary_weight == 0)
        return arena_printf(r->tick->arena,
                            "spec.service.name: changed from %s to %s in the middle of a release; "
                            "put it back until the release is over",
                            name, r->canary->service.name);
    return arena_printf(r->tick->arena,
                        "spec.service.name: changed from %s to %s while %d %% of the traffic goes "
                        "to the canary by routes of the old name; put it back until the release is "
                        "over",
                        name, r->canary->service.name, status->canary_weight);
}

/* Two would scale the same pods until the release is over; one that is taken out is left then
 * (leave.c). */
static const char *refuse_scaler_move(struct release *r)
{
    const struct canary_ref *now = &r->canary->autoscaler;
    struct canary_ref before = accepted_ref(r, "autoscalerRef");

    if (!now->name || !is_other(&before, now))
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.autoscalerRef: changed from %s %s to %s %s in the middle of a "
                        "release; put it back until the release is over",
                        before.kind, before.name, now->kind, now->name);
}

const char *move_refusal(struct release *r)
{
    const char *sentence = move_is_bound(r) ? refuse_provider_move(r) : NULL;

    if (!sentence && move_is_bound(r))
        sentence = refuse_service_move(r);
    return sentence || !move_is_bound(r) ? sentence : refuse_scaler_move(r);
}

/* --- the target */

/* Nobody could take over from it: it is not there, or routes in another way. */
static const char *refuse_successor(struct release *r, const struct canary_ref *before,
                                    const struct target_info *info)
{
    const struct target *old = target_find(before->api_version, before->kind);
    const struct canary_ref *now = &r->canary->target;

    if (old && !old->own_services != !r->target->own_services)
        return arena_printf(r->tick->arena,
                            "spec.targetRef: a %s cannot take the place of a %s, their Services "
                            "are made in different ways; put %s back and make a Canary of its own "
                            "for %s",
                            now->kind, before->kind, before->name, now->name);
    if (info->object)
        return NULL;
    return arena_printf(r->tick->arena,
                        "spec.targetRef: %s %s.%s does not exist; until it does, %s %s goes on "
                        "being released",
                        now->kind, now->name, r->canary->namespace_, before->kind, before->name);
}

/* --- the port of the pods */

/* The container port of the pods behind a Service with this spec: a number or a name. */
static struct json_object *pod_port(struct json_object *service)
{
    struct json_object *port = json_at(service, "targetPort", NULL);

    return port ? port : json_at(service, "port", NULL);
}

static bool declares(struct json_object *workload, struct json_object *port)
{
    struct json_object *containers =
        json_at(workload, "spec", "template", "spec", "containers", NULL);

    for (size_t i = 0; i < json_len(containers); i++) {
        struct json_object *ports = json_at(json_elem(containers, i), "ports", NULL);
        for (size_t j = 0; j < json_len(ports); j++) {
            struct json_object *number = json_at(json_elem(ports, j), "containerPort", NULL);
            struct json_object *name = json_at(json_elem(ports, j), "name", NULL);
            if ((number && json_same(number, port)) || (name && json_same(name, port)))
                return true;
        }
    }
    return false;
}

static struct json_object *accepted_port(const struct release *r)
{
    return pod_port(json_at(r->canary->status.accepted_spec, "service", NULL));
}

static bool has_other_port(const struct release *r)
{
    struct json_object *before = accepted_port(r), *now = pod_port(r->canary->service.json);

    return now && before && !json_same(now, before);
}

/* The pods that serve do not listen there, as far as can be told. */
static const char *refuse_port(struct release *r, const struct target_info *info)
{
    struct json_object *before = accepted_port(r), *now = pod_port(r->canary->service.json);

    if (!info->template || !info->primary)
        return NULL;
    if (declares(info->primary, now) && (!move_is_bound(r) || declares(info->object, now)))
        return NULL;
    if (!json_object_is_type(now, json_type_string) && !declares(info->primary, before))
        return NULL; /* nobody declares anything */
    return arena_printf(r->tick->arena,
                        "spec.service.%s: the pods of %s that serve declare no port %s; put it "
                        "back, release a revision that declares both, and change it then",
                        json_at(r->canary->service.json, "targetPort", NULL) ? "targetPort"
                                                                             : "port",
                        primary_name(r->tick), json_object_get_string(now));
}

/* In the middle of a release, and what it was accepted with is not known. */
static enum verdict refuse_unknown_move(struct release *r, const char **sentence)
{
    enum former former = FORMER_SAME;
    enum verdict verdict = move_is_bound(r) ? former_look(r, &former) : VERDICT_GO;

    if (former == FORMER_TARGET)
        *sentence =
            arena_printf(r->tick->arena,
                         "spec.targetRef: changed to %s %s, which has neither a primary nor "
                         "Services, in the middle of a release; put it back until the "
                         "release is over",
                         r->canary->target.kind, r->canary->target.name);
    if (former == FORMER_SERVICE && r->router->weighted)
        *sentence = arena_printf(r->tick->arena,
                                 "spec.service.name: changed to %s, of which there is no Service "
                                 "and no route, in the middle of a release; put it back until the "
                                 "release is over",
                                 r->canary->service.name);
    return verdict == VERDICT_STOP ? VERDICT_GO : verdict;
}

/* Neither the target nor its primary is there any more: nobody serves, nothing can be ended. */
static enum verdict is_deserted(struct release *r, const struct canary_ref *before, bool *deserted)
{
    const struct target *old = target_find(before->api_version, before->kind);
    const char *primary = arena_printf(r->tick->arena, "%s-primary", before->name);
    struct json_object *objects[2];

    *deserted = false;
    if (!old)
        return VERDICT_GO;
    bool known =
        need_object(r->tick, old->resource, r->canary->namespace_, before->name, &objects[0]);
    if (!need_object(r->tick, old->resource, r->canary->namespace_, primary, &objects[1]) || !known)
        return VERDICT_NEED_FACTS;
    *deserted = !objects[0] && !objects[1];
    return VERDICT_GO;
}

enum verdict move_refusal_of_target(struct release *r, const char **sentence)
{
    struct canary_ref before = move_before(r);
    struct target_info info = {0};
    bool moved = is_other(&before, &r->canary->target);

    *sentence = NULL;
    if (!moved && !has_other_port(r))
        return refuse_unknown_move(r, sentence);
    bool deserted = false;
    enum verdict verdict =
        moved && move_is_bound(r) ? is_deserted(r, &before, &deserted) : VERDICT_GO;
    if (verdict != VERDICT_GO)
        return verdict;
    if (moved && move_is_bound(r) && !deserted) {
        *sentence =
            arena_printf(r->tick->arena,
                         "spec.targetRef: changed from %s %s to %s %s in the middle of a "
                         "release; put it back until the release is over",
                         before.kind, before.name, r->canary->target.kind, r->canary->target.name);
        return VERDICT_GO;
    }
    verdict = r->target->find(r->tick, &info);
    if (verdict != VERDICT_GO)
        return verdict;
    *sentence = moved ? refuse_successor(r, &before, &info) : refuse_port(r, &info);
    return VERDICT_GO;
}
