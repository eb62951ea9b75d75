#include "engine/peer_controllers.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/table.h"
#include "engine/controller_metrics.h"
#include "kube/lease.h"
#include "kube/resource.h"

struct peer {
    struct peers *peers;
    char *lease;
    struct lease_probe *look;
    int held; /* number of Canaries */
    int left; /* Canaries left to this controller */
    /* Its part of the cluster, from the annotations of its lease. */
    struct arena *arena; /* NULL if unknown, or if it manages the whole cluster */
    const char *namespaces;
    const struct selector *selector; /* NULL: any labels */
};

struct peers {
    struct engine_context *context;
    struct table all; /* by lease */
    void (*seen)(void *arg, const struct peer *peer, bool changed);
    void *arg;
};

static void peer_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct peer *)item)->lease;
    *second = NULL;
}

struct peers *peers_new(struct engine_context *context,
                        void (*seen)(void *arg, const struct peer *peer, bool changed), void *arg)
{
    struct peers *peers = heap_alloc(sizeof(*peers));

    *peers = (struct peers){.context = context, .seen = seen, .arg = arg};
    table_init(&peers->all, peer_key);
    return peers;
}

void peers_free(struct peers *peers)
{
    table_fini(&peers->all);
    free(peers);
}

enum peer_state peer_state(const struct peer *peer)
{
    static const enum peer_state states[] = {[LEASE_LIFE_UNKNOWN] = PEER_UNKNOWN,
                                             [LEASE_LIFE_ALIVE] = PEER_LIVES,
                                             [LEASE_LIFE_GONE] = PEER_GONE};

    return states[lease_probe_life(peer->look)];
}

static bool same_text(const char *one, const char *peer)
{
    return one == peer || (one && peer && strcmp(one, peer) == 0);
}

/* An unreadable selector may match any Canary. */
static void learn_part(struct peer *peer, struct json_object *lease)
{
    struct json_object *notes = json_at(lease, "metadata", "annotations", NULL);
    const char *namespaces = json_str_at(notes, PEER_NAMESPACES, NULL);
    const char *labels = json_str_at(notes, PEER_SELECTOR, NULL);
    const char *known = peer->selector ? selector_text(peer->selector) : NULL;

    if (!lease ||
        (peer->arena && same_text(peer->namespaces, namespaces) && same_text(known, labels)))
        return;
    arena_free(peer->arena);
    peer->arena = arena_new();
    peer->namespaces = arena_strdup(peer->arena, namespaces);
    peer->selector = NULL;
    if (labels && selector_parse(peer->arena, labels, &peer->selector, NULL) != ERR_OK)
        peer->selector = NULL;
}

static bool names(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; *at; at += strspn(at, ", ")) {
        size_t found = strcspn(at, ", ");
        if (found == len && strncmp(at, name, len) == 0)
            return true;
        at += found;
    }
    return false;
}

bool peer_covers(const struct peer *peer, const char *namespace_, struct json_object *labels)
{
    return (!peer->namespaces || names(peer->namespaces, namespace_)) &&
           (!peer->selector || selector_match(peer->selector, labels));
}

void peer_count_left(struct peer *peer, int delta)
{
    peer->left += delta;
    controller_metrics_other(peer->lease, peer->left);
    if (delta > 0 && peer->left == 1)
        log_warn("controllers_overlap", NULL,
                 "another controller drives Canaries that this one looks after as well; they are "
                 "left to it",
                 LOG_STR("lease", peer->lease));
    else if (peer->left == 0)
        log_info("controllers_apart", NULL, "no Canary is left to the other controller any more",
                 LOG_STR("lease", peer->lease));
}

static void on_seen(void *arg, struct json_object *lease, bool changed)
{
    struct peer *peer = arg;

    learn_part(peer, lease);
    peer->peers->seen(peer->peers->arg, peer, changed);
}

static struct peer *peer_new(struct peers *peers, const char *lease)
{
    const char *slash = strchr(lease, '/');

    if (!slash || slash == lease || !slash[1] || strchr(slash + 1, '/'))
        return NULL;
    struct peer *peer = heap_alloc(sizeof(*peer));
    char *namespace_ = heap_printf("%.*s", (int)(slash - lease), lease);
    *peer = (struct peer){.peers = peers, .lease = heap_strdup(lease)};
    const struct engine_context *context = peers->context;
    peer->look =
        lease_probe_new(context->loop, context->kube,
                        &(struct lease_probe_spec){.namespace_ = namespace_,
                                                   .name = slash + 1,
                                                   .look_ms = context->peer_probe_ms,
                                                   .patience_ms = context->peer_patience_ms,
                                                   .seen = on_seen,
                                                   .arg = peer});
    free(namespace_);
    (void)table_put(&peers->all, peer);
    return peer;
}

struct peer *peers_hold(struct peers *peers, const char *lease)
{
    struct peer *peer = table_get(&peers->all, lease, NULL);

    if (!peer)
        peer = peer_new(peers, lease);
    if (!peer)
        return NULL;
    peer->held++;
    return peer;
}

void peers_let_go(struct peers *peers, struct peer *peer)
{
    if (!peer)
        return;
    if (--peer->held > 0)
        return;
    (void)table_take(&peers->all, peer->lease, NULL);
    controller_metrics_other(peer->lease, -1);
    lease_probe_free(peer->look);
    arena_free(peer->arena);
    free(peer->lease);
    free(peer);
}

const char *peer_lease(const struct peer *peer)
{
    return peer->lease;
}

const char *peer_trouble(const struct peer *peer)
{
    return lease_probe_trouble(peer->look);
}

int64_t peer_next_probe(const struct peer *peer)
{
    return lease_probe_begun(peer->look) + 1;
}

bool peer_was_probed(const struct peer *peer, int64_t look)
{
    return lease_probe_answered(peer->look) >= look;
}
