/*
 * One answer for many. A list that is long to make may be asked for by many clients in one turn of
 * the loop; those who wait for their turn all get the text that was made when the first of them
 * had his. It is never older than their question, so nobody misses what was done before he asked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "net/server/server_internal.h"

static void free_text(void *ptr)
{
    buf_fini(ptr);
}

static void forget(struct server_shared *shared)
{
    if (shared->text)
        h2o_mem_release_shared(shared->text);
    free(shared->key);
    free(shared->type);
    *shared = (struct server_shared){.key = NULL};
}

void server_share_forget(struct http_server *server)
{
    for (int i = 0; i < SERVER_SHARED; i++)
        forget(&server->shared[i]);
}

static struct server_shared *find(struct http_server *server, const char *key)
{
    for (int i = 0; i < SERVER_SHARED; i++) {
        if (server->shared[i].key && strcmp(server->shared[i].key, key) == 0)
            return &server->shared[i];
    }
    return NULL;
}

const struct server_shared *server_share_find(const struct http_conn_request *r, const char *key)
{
    const struct server_shared *shared = find(r->server, key);

    return shared && shared->last >= r->number ? shared : NULL;
}

const struct server_shared *server_share_put(struct http_conn_request *r, const char *key,
                                             const char *type, struct buf *text)
{
    struct http_server *server = r->server;
    struct server_shared *shared = find(server, key);

    if (!shared)
        shared = &server->shared[server->next_shared++ % SERVER_SHARED];
    forget(shared);
    *shared = (struct server_shared){.key = heap_strdup(key),
                                     .type = heap_strdup(type),
                                     .text = h2o_mem_alloc_shared(NULL, sizeof(*text), free_text),
                                     .last = server->last_number};
    *shared->text = *text;
    buf_init(text, text->max);
    return shared;
}
