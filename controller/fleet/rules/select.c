#include "fleet/rules/select.h"

#include <string.h>

#include "base/encoding.h"
#include "base/option.h"
#include "kube/resource.h"

#define KURATOR_APPS    "apps.kurator.dev"
#define KURATOR_FLEET   "fleet.kurator.dev"
#define KURATOR_CLUSTER "cluster.kurator.dev"

const struct kube_resource fleet_applications = {
    .group = KURATOR_APPS, .version = "v1alpha1", .plural = "applications", .kind = "Application"};
const struct kube_resource fleet_fleets = {
    .group = KURATOR_FLEET, .version = "v1alpha1", .plural = "fleets", .kind = "Fleet"};
const struct kube_resource fleet_attached = {.group = KURATOR_CLUSTER,
                                             .version = "v1alpha1",
                                             .plural = "attachedclusters",
                                             .kind = "AttachedCluster"};
const struct kube_resource fleet_clusters = {
    .group = KURATOR_CLUSTER, .version = "v1alpha1", .plural = "clusters", .kind = "Cluster"};

const struct kube_resource fleet_release_plans = {
    .group = "flagger.app", .version = "v1alpha1", .plural = "releaseplans", .kind = "ReleasePlan"};

static struct json_object *find(struct json_object *list, const char *name)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *own = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (own && strcmp(own, name) == 0)
            return json_elem(list, i);
    }
    return NULL;
}

/* True if it has all these labels. */
static bool has_labels(struct json_object *object, struct json_object *labels)
{
    if (!labels)
        return true;
    json_object_object_foreach(labels, key, value)
    {
        const char *own = json_str_at(object, "metadata", "labels", key, NULL);
        if (!own || strcmp(own, json_object_get_string(value)) != 0)
            return false;
    }
    return true;
}

static struct fleet_member *add(struct fleet_choice *out, const char *name)
{
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->members[i].name, name) == 0)
            return NULL;
    struct fleet_member *member = &out->members[out->count++];
    *member = (struct fleet_member){.name = name};
    return member;
}

/* Finds the Secret with the kubeconfig of an AttachedCluster or a Cluster. */
static void read_cluster(struct arena *arena, const char *kind, struct json_object *object,
                         struct fleet_member *out)
{
    bool attached = strcmp(kind, fleet_attached.kind) == 0;

    if (!object) {
        out->mistake = arena_printf(arena, "there is no %s %s", kind, out->name);
        return;
    }
    out->secret = attached ? json_str_at(object, "spec", "kubeconfig", "name", NULL)
                           : json_str_at(object, "status", "kubeconfigSecretRef", NULL);
    out->key = attached ? json_str_at(object, "spec", "kubeconfig", "key", NULL) : NULL;
    if (!out->secret || !*out->secret) {
        out->secret = NULL;
        out->mistake = arena_printf(
            arena, "%s %s: %s: expected the name of a Secret, found none", kind, out->name,
            attached ? "spec.kubeconfig.name" : "status.kubeconfigSecretRef");
    }
}

/* Adds one element of spec.clusters of a Fleet; `number` is its number in messages. */
static void add_listed(struct arena *arena, const struct application_destination *destination,
                       const struct fleet_known *known, struct json_object *entry, size_t number,
                       struct fleet_choice *out)
{
    const char *name = json_str_at(entry, "name", NULL), *kind = json_str_at(entry, "kind", NULL);

    if (!name || !*name) {
        out->mistake = arena_printf(
            arena, "Fleet %s: spec.clusters[%zu].name: expected the name of a cluster, found none",
            destination->fleet, number);
        return;
    }
    kind = kind && *kind ? kind : fleet_attached.kind;
    bool attached = strcmp(kind, fleet_attached.kind) == 0;
    bool is_known = attached || strcmp(kind, fleet_clusters.kind) == 0;
    struct json_object *object =
        is_known ? find(attached ? known->attached : known->clusters, name) : NULL;
    /* A missing cluster has unknown labels: it is reported rather than skipped. */
    if (object && !has_labels(object, destination->labels))
        return;
    struct fleet_member *member = add(out, name);
    if (!member)
        return;
    member->labels = json_at(object, "metadata", "labels", NULL);
    if (is_known)
        read_cluster(arena, kind, object, member);
    else
        member->mistake = arena_printf(
            arena,
            "Fleet %s: spec.clusters[%zu].kind: expected AttachedCluster or Cluster, found "
            "\"%.60s\"",
            destination->fleet, number, kind);
}

static void add_secret(const struct application_destination *destination,
                       struct json_object *secret, struct fleet_choice *out)
{
    struct json_object *labels = json_at(secret, "metadata", "labels", NULL);
    const char *cluster = json_str_at(labels, FLEET_CLUSTER_LABEL, NULL);
    const char *fleet = json_str_at(labels, FLEET_FLEET_LABEL, NULL);
    const char *name = json_str_at(secret, "metadata", "name", NULL);

    if (!cluster || !*cluster || !name || (fleet && strcmp(fleet, destination->fleet) != 0))
        return;
    out->lost = false;
    struct fleet_member *member =
        has_labels(secret, destination->labels) ? add(out, cluster) : NULL;
    if (!member)
        return;
    member->secret = name;
    member->labels = labels;
}

void fleet_select(struct arena *arena, const struct application_destination *destination,
                  const struct fleet_known *known, struct fleet_choice *out)
{
    *out = (struct fleet_choice){.host = false};
    if (!destination->fleet) {
        out->host = true;
        return;
    }
    struct json_object *fleet = find(known->fleets, destination->fleet);
    struct json_object *listed = json_at(fleet, "spec", "clusters", NULL);
    out->lost = !fleet;
    out->members =
        arena_array(arena, json_len(listed) + json_len(known->secrets), sizeof(*out->members));
    for (size_t i = 0; i < json_len(listed); i++)
        add_listed(arena, destination, known, json_elem(listed, i), i, out);
    for (size_t i = 0; i < json_len(known->secrets); i++)
        add_secret(destination, json_elem(known->secrets, i), out);
    if (out->count > 0 || out->mistake)
        return;
    if (!out->lost)
        out->mistake = arena_printf(arena, "no cluster of fleet %s %s", destination->fleet,
                                    destination->labels ? "has the labels of clusterSelector"
                                                        : "is there: its list is empty");
    else
        out->mistake = arena_printf(
            arena,
            "there is neither a Fleet %s nor a Secret with the label " FLEET_CLUSTER_LABEL
            " for it",
            destination->fleet);
}

/* --- the kubeconfig of a member */

enum err fleet_kubeconfig(struct arena *arena, struct json_object *secret, const char *key,
                          const char **text, struct kube_config *out, struct errinfo *ei)
{
    const char *label =
        arena_printf(arena, "Secret %s/%s", json_str_at(secret, "metadata", "namespace", NULL),
                     json_str_at(secret, "metadata", "name", NULL));
    const char *coded = json_str_at(secret, "data", key ? key : "value", NULL);
    char *plain;
    size_t len;

    if (!coded && !key)
        coded = json_str_at(secret, "data", "kubeconfig", NULL);
    if (!coded)
        return err_set(ei, ERR_INVALID, "%s: expected a kubeconfig in the key %s, found none",
                       label, key ? key : "value or kubeconfig");
    enum err err = base64_decode(arena, coded, &plain, &len, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "%s", label);
    *text = plain;
    return kube_config_read(arena, label, plain, len, out, ei);
}

/* --- namespaces that an Application may act in */

static const char *const any_pairs[] = {"*:*", NULL};
static const char *const none[] = {NULL};
/* Namespaces that every cluster has. */
static const char *const of_system[] = {"kube-system", "kube-public", "kube-node-lease", NULL};

const struct grants grants_any = {.pairs = any_pairs, .closed = none};

static bool is_part(const char *text, size_t len)
{
    char name[64];

    if (len == 1 && *text == '*')
        return true;
    if (len >= sizeof(name))
        return false;
    memcpy(name, text, len);
    name[len] = '\0';
    return kube_is_label(name);
}

static bool is_pair(const char *text)
{
    const char *colon = strchr(text, ':');

    return colon && is_part(text, (size_t)(colon - text)) && is_part(colon + 1, strlen(colon + 1));
}

enum err grants_read(struct arena *arena, const char *pairs, const char *closed, struct grants *out,
                     struct errinfo *ei)
{
    *out =
        (struct grants){.pairs = option_split(arena, pairs), .closed = option_split(arena, closed)};
    for (const char *const *at = out->pairs; *at; at++)
        if (!is_pair(*at))
            return err_set(
                ei, ERR_INVALID,
                "--allow-namespaces: expected FROM:IN, the name of a namespace here or *, "
                "and that of one on the members or *, found \"%.140s\"",
                *at);
    for (const char *const *at = out->closed; *at; at++)
        if (!kube_is_label(*at))
            return err_set(ei, ERR_INVALID,
                           "--system-namespaces: expected the name of a namespace, found \"%.80s\"",
                           *at);
    return ERR_OK;
}

/* --- answers */

static bool has(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool fits(const char *part, size_t len, const char *name)
{
    return (len == 1 && *part == '*') || (strlen(name) == len && memcmp(part, name, len) == 0);
}

static bool is_allowed(const struct grants *grants, const char *from, const char *in)
{
    for (const char *const *at = grants->pairs; *at; at++) {
        const char *colon = strchr(*at, ':');
        if (fits(*at, (size_t)(colon - *at), from) && fits(colon + 1, strlen(colon + 1), in))
            return true;
    }
    return false;
}

bool grants_is_closed(const struct grants *grants, const char *in)
{
    return has(of_system, in) || has(grants->closed, in);
}

bool grants_is_settled(const struct grants *grants, const char *from, const char *in)
{
    return grants_is_closed(grants, in) || strcmp(from, in) == 0 || is_allowed(grants, from, in);
}

static bool is_noted(struct arena *arena, struct json_object *namespace_, const char *from)
{
    const char *text = json_str_at(namespace_, "metadata", "annotations", GRANTS_NOTE, NULL);

    return text && has(option_split(arena, text), from);
}

const char *grants_refusal(struct arena *arena, const struct grants *grants, const char *field,
                           const char *from, const char *in, struct json_object *namespace_)
{
    if (grants_is_closed(grants, in))
        return arena_printf(arena,
                            "%s: expected no namespace of the system or of the fleet itself, found "
                            "%s, which nothing opens",
                            field, in);
    if (grants_is_settled(grants, from, in) || is_noted(arena, namespace_, from))
        return NULL;
    return arena_printf(
        arena,
        "%s: expected %s, the namespace that it lies in itself, or one that grants "
        "it, found %s, whose Namespace on the cluster has no annotation " GRANTS_NOTE
        ": %s (--allow-namespaces %s:%s of the fleet allows it as "
        "well)",
        field, from, in, from, from, in);
}
