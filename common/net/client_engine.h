/*
 * One curl multi handle on the event loop: a pool of connections and the transfers that use it.
 *
 * engine_add() hands an easy handle over until on_done reported it or engine_remove() took it back;
 * the handle stays the caller's. Neither may be called while engine_busy(), that is from inside one
 * of curl's own callbacks. on_done is called from the loop, never from inside curl, and may add,
 * remove, and free the engine.
 *
 * Answers get 5 ms of a turn of the loop. The connections that have more to say wait for the next
 * turn, in the order of their coming, so that many long answers at once do not keep a probe
 * waiting.
 */
#ifndef NET_CLIENT_ENGINE_H
#define NET_CLIENT_ENGINE_H

#include <curl/curl.h>
#include <stdbool.h>

#include "net/loop.h"

struct engine;
typedef void (*engine_done_fn)(void *arg, CURL *easy, CURLcode code);

/* max_per_host and max_total count connections; 0 is no limit. max_idle connections are kept for
 * reuse. */
struct engine *client_engine_new(struct loop *loop, long max_per_host, long max_total,
                                 long max_idle, engine_done_fn on_done, void *arg);
void client_engine_free(struct engine *engine); /* every handle must have been removed */
void engine_add(struct engine *engine, CURL *easy);
void engine_remove(struct engine *engine, CURL *easy);
bool engine_busy(const struct engine *engine);

#endif
