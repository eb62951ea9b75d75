/*
 * Answers of the API: parsed into trees within memory limits, and errors turned into enum err.
 *
 * Clients that may write objects must not decide how much memory it takes to read them. A tree that
 * is dropped before the next answer is read has only a limit of its own. Trees kept while a run
 * waits, or from one run to the next, also share a limit, since many objects could each be of the
 * maximum size. Large trees have a separate part of that limit, which they cannot exceed: they
 * never prevent objects of ordinary size from being read.
 */
#ifndef KUBE_REPLY_H
#define KUBE_REPLY_H

#include "base/json.h"

/*
 * A tree takes about 20 times its text: an object of up to 800 KB can be read. Copies and patches
 * made by the rules take about twice that again. A list with a larger tree is read in smaller
 * pages.
 */
enum {
    REPLY_MAX_TEXT = 8 * 1024 * 1024,
    REPLY_MAX_TREE = 16 * 1024 * 1024,
    REPLY_SMALL_TREE = 512 * 1024,
    REPLY_MAX_LARGE = 16 * 1024 * 1024, /* all kept trees that are not small */
    REPLY_MAX_KEPT = 40 * 1024 * 1024,  /* all kept trees */
};

enum reply_use {
    REPLY_TRANSIENT,    /* the tree is dropped before another is read */
    REPLY_KEPT,         /* the tree is kept and counted */
    REPLY_KEPT_IF_ROOM, /* likewise, but read only if there is room */
};

enum reply_shape {
    REPLY_WHOLE,
    /* Takes more memory than REPLY_MAX_TREE: only an outline was read (json_parse_within()),
     * with the kind of each object and the plain values of its metadata. */
    REPLY_TOO_LARGE,
    REPLY_NO_ROOM, /* the same, because of other kept trees: may be retried */
};

enum err reply_parse(struct arena *arena, const char *text, size_t len, enum reply_use use,
                     struct json_object **out, enum reply_shape *shape,
                     struct errinfo *ei) MUST_USE;

/*
 * Parses a list and calls item() for each of its items, which is then dropped (as in struct
 * json_bounds). *out is the list without them.
 */
enum err reply_items(struct arena *arena, const char *text, size_t len,
                     bool (*item)(void *arg, struct json_object *item, bool whole), void *arg,
                     struct json_object **out, struct errinfo *ei) MUST_USE;

/* Bytes of all kept trees. */
size_t reply_kept_bytes(void);

/* The error of an HTTP status, see kube/kube_client.h for the table. ERR_OK for 2xx. */
enum err kube_status_err(int status);

/*
 * Fills *ei from a reply that is not 2xx and returns its error: "<what>: <err name>: <message of
 * the Status object>". If body is NULL or not a Status, the message is the first line of text, else
 * the HTTP status. retry_after_ms comes from the header (0 if none), or from
 * details.retryAfterSeconds.
 */
enum err kube_status_fill(struct errinfo *ei, const char *what, int status,
                          struct json_object *body, const char *text, int64_t retry_after_ms);

/*
 * Returns true if the API server does not serve the resource: its CRD is not installed, or not in
 * this version. That is a 404 without a Status that names an object.
 */
bool kube_status_unserved(int status, struct json_object *body);
/* Returns true if the client is authenticated but not authorised (403). To a write, an admission
 * controller may give the same reply. */
bool kube_status_forbidden(const struct errinfo *info);
/* Returns true if a write was rejected for its content (by a schema, a validation, an admission
 * controller or a policy), not for missing permission. The same write will be rejected again. */
bool kube_status_refused(const struct errinfo *info);

#endif
