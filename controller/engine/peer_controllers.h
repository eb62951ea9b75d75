/*
 * Other controllers that drive some of our Canaries, according to their status (decide/takeover.h),
 * and their liveness. Each lease is checked as long as a Canary refers to it, once for all
 * Canaries.
 */
#ifndef ENGINE_PEER_CONTROLLERS_H
#define ENGINE_PEER_CONTROLLERS_H

#include "engine/context.h"

/* Annotations of a lease: the part of the cluster that its controller manages. */
#define PEER_NAMESPACES "flagger.app/namespaces"
#define PEER_SELECTOR   "flagger.app/watch-selector"

struct peers;
struct peer;

/* seen: called from the loop after each check of a lease; changed: true if the state of the peer
 * has changed.
 */
struct peers *peers_new(struct engine_context *context,
                        void (*seen)(void *arg, const struct peer *peer, bool changed), void *arg);
void peers_free(struct peers *peers); /* all must have been released */

/* lease: "NAMESPACE/NAME"; returns NULL if the text has another form. */
struct peer *peers_hold(struct peers *peers, const char *lease);
void peers_let_go(struct peers *peers, struct peer *peer); /* NULL is allowed */

const char *peer_lease(const struct peer *peer);
/* True if, as far as known, the peer manages a Canary of that namespace with these labels. */
bool peer_covers(const struct peer *peer, const char *namespace_, struct json_object *labels);
/* One more Canary is left to the peer; or, with -1, one less. */
void peer_count_left(struct peer *peer, int delta);
const char *peer_trouble(const struct peer *peer);
enum peer_state peer_state(const struct peer *peer);
/* The number of the next check; true if that check was answered. */
int64_t peer_next_probe(const struct peer *peer);
bool peer_was_probed(const struct peer *peer, int64_t look);

#endif
