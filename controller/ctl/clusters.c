#include "ctl/clusters.h"

#include <string.h>

#include "ctl/read.h"
#include "fleet/rules/select.h"
#include "kube/reply.h"

enum { PATIENCE_MS = 10000 };

/* The objects of a namespace with Applications. */
struct place_of_fleets {
    struct place_of_fleets *next;
    const char *namespace_;
    struct fleet_known known;
};

/* A cluster with a usable kubeconfig. */
struct connection {
    struct connection *next;
    const char *namespace_, *secret, *key; /* secret NULL: the cluster of the Applications */
    struct kube_client *kube;              /* NULL: see trouble */
    const char *trouble;
    struct kube_config config;
};

struct reading {
    struct ctl *ctl;
    struct place_of_fleets *namespaces;
    struct connection *connections;
    int left; /* pending answers */
};

/* --- the cluster of the Applications */

/* A kind that is not served has no objects. */
static enum err list(struct ctl *ctl, const struct kube_resource *resource, const char *namespace_,
                     const char *selector, struct json_object **out, struct errinfo *ei)
{
    const struct read_what what = {
        .resource = resource, .namespace_ = namespace_, .selector = selector};
    enum err err = read_list(ctl, &what, out, ei);

    if (err != ERR_NOT_FOUND)
        return err;
    *out = NULL;
    return ERR_OK;
}

static enum err know(struct reading *r, const char *namespace_, const struct fleet_known **out,
                     struct errinfo *ei)
{
    struct ctl *ctl = r->ctl;

    for (const struct place_of_fleets *at = r->namespaces; at; at = at->next)
        if (strcmp(at->namespace_, namespace_) == 0) {
            *out = &at->known;
            return ERR_OK;
        }
    struct place_of_fleets *new = ARENA_NEW(ctl->arena, struct place_of_fleets);
    *new = (struct place_of_fleets){.next = r->namespaces, .namespace_ = namespace_};
    struct fleet_known *known = &new->known;
    enum err err = list(ctl, &fleet_fleets, namespace_, NULL, &known->fleets, ei);
    if (err == ERR_OK)
        err = list(ctl, &fleet_attached, namespace_, NULL, &known->attached, ei);
    if (err == ERR_OK)
        err = list(ctl, &fleet_clusters, namespace_, NULL, &known->clusters, ei);
    if (err == ERR_OK)
        err = list(ctl, &kube_secrets, namespace_, FLEET_CLUSTER_LABEL, &known->secrets, ei);
    r->namespaces = new;
    *out = known;
    return err;
}

/* --- connections */

static void connect_to(struct reading *r, struct connection *to)
{
    struct ctl *ctl = r->ctl;
    struct json_object *secret;
    struct errinfo ei = {0};
    const char *text;

    if (read_get(ctl, &kube_secrets, to->namespace_, to->secret, &secret, &ei) != ERR_OK ||
        fleet_kubeconfig(ctl->arena, secret, to->key, &text, &to->config, &ei) != ERR_OK) {
        to->trouble = arena_strdup(ctl->arena, ei.text);
        return;
    }
    to->kube = kube_client_new(
        ctl->loop, ctl->http, &to->config,
        &(struct kube_client_options){.user_agent = "kubectl-canary", .reads_only = true});
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct connection *connection_of(struct reading *r, const char *namespace_,
                                        const struct fleet_member *member)
{
    const char *secret = member ? member->secret : NULL, *key = member ? member->key : NULL;

    for (struct connection *at = r->connections; at; at = at->next)
        if (same(at->secret, secret) && same(at->key, key) &&
            (!secret || strcmp(at->namespace_, namespace_) == 0))
            return at;
    struct connection *new = ARENA_NEW(r->ctl->arena, struct connection);
    *new = (struct connection){
        .next = r->connections, .namespace_ = namespace_, .secret = secret, .key = key};
    r->connections = new;
    if (secret)
        connect_to(r, new);
    else
        new->kube = r->ctl->kube;
    return new;
}

/* --- Canaries */

struct asked {
    struct reading *reading;
    struct clusters_place *place;
};

static void on_canary(void *arg, const struct kube_result *result)
{
    struct asked *asked = arg;
    struct arena *arena = asked->reading->ctl->arena;

    asked->reading->left--;
    if (result->err == ERR_OK)
        asked->place->canary = json_own(arena, json_object_get(result->body));
    else if (result->err != ERR_NOT_FOUND)
        asked->place->trouble = arena_strdup(arena, result->info->text);
    else if (kube_status_unserved(result->status, result->body))
        asked->place->trouble = "serves no Canaries: their CRD is not installed";
}

static void ask(struct reading *r, struct kube_client *kube, const struct rollout *rollout,
                struct clusters_place *place)
{
    struct asked *asked = ARENA_NEW(r->ctl->arena, struct asked);
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = &read_canaries,
                                         .namespace_ = rollout->workload.namespace_,
                                         .name = rollout->workload.name,
                                         .timeout_ms = r->ctl->timeout_ms > 0 ? r->ctl->timeout_ms
                                                                              : PATIENCE_MS};

    *asked = (struct asked){.reading = r, .place = place};
    r->left++;
    (void)kube_send(kube, &request, on_canary, asked);
}

static void visit(struct reading *r, const struct application *app,
                  const struct clusters_rollout *rollout, const struct fleet_member *member,
                  struct clusters_place *place)
{
    *place = (struct clusters_place){.cluster = member ? member->name : FLEET_HOST,
                                     .trouble = member ? member->mistake : NULL};
    if (place->trouble)
        return;
    const struct connection *to = connection_of(r, app->namespace_, member);
    place->trouble = to->trouble;
    if (to->kube)
        ask(r, to->kube, rollout->policy->rollout, place);
}

static enum err visit_rollout(struct reading *r, const struct application *app,
                              struct clusters_rollout *out, struct errinfo *ei)
{
    const struct fleet_known none = {0}, *known = &none;
    struct fleet_choice choice;
    enum err err = out->policy->destination.fleet ? know(r, app->namespace_, &known, ei) : ERR_OK;

    if (err != ERR_OK)
        return err;
    fleet_select(r->ctl->arena, &out->policy->destination, known, &choice);
    out->mistake = choice.mistake;
    out->count = choice.host ? 1 : choice.count;
    out->places = arena_array(r->ctl->arena, out->count, sizeof(*out->places));
    for (size_t i = 0; i < out->count; i++)
        visit(r, app, out, choice.host ? NULL : &choice.members[i], &out->places[i]);
    return ERR_OK;
}

static enum err visit_application(struct reading *r, struct json_object *object,
                                  struct clusters_app *out, struct errinfo *ei)
{
    struct arena *arena = r->ctl->arena;
    struct errinfo mistake;
    enum err err = ERR_OK;

    if (application_view(arena, object, &out->app, &mistake) != ERR_OK) {
        out->mistake = arena_strdup(arena, mistake.text);
        out->app =
            (struct application){.name = json_str_at(object, "metadata", "name", NULL),
                                 .namespace_ = json_str_at(object, "metadata", "namespace", NULL)};
        return ERR_OK;
    }
    out->rollouts = arena_array(arena, (size_t)out->app.n_policies, sizeof(*out->rollouts));
    for (int i = 0; err == ERR_OK && i < out->app.n_policies; i++) {
        if (!out->app.policies[i].rollout)
            continue;
        struct clusters_rollout *rollout = &out->rollouts[out->count++];
        rollout->policy = &out->app.policies[i];
        err = visit_rollout(r, &out->app, rollout, ei);
    }
    return err;
}

enum err clusters_read(struct ctl *ctl, struct json_object *applications, struct clusters_app **out,
                       struct errinfo *ei)
{
    struct reading r = {.ctl = ctl};
    size_t count = json_len(applications);
    enum err err = ERR_OK;

    *out = arena_array(ctl->arena, count, sizeof(**out));
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = visit_application(&r, json_elem(applications, i), &(*out)[i], ei);
    while (r.left > 0)
        uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
    for (struct connection *at = r.connections; at; at = at->next)
        if (at->kube != ctl->kube)
            kube_client_free(at->kube);
    return err;
}
