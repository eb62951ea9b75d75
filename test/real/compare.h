/*
 * Sends one list of requests to two API servers, one after the other, and tells where the answers
 * differ.
 *
 * A request is {name, method, path, body, type, accept, token, save, until, stream}: path and body
 * may name what an earlier answer of the same server had, as ${name}; `save: {name: metadata.uid}`
 * keeps it. `until: CODE` asks again until that is the answer of both. `stream: true` reads one
 * JSON object a line, as a watch sends them.
 *
 * The real answers of one comparison can stand in for the real server in the next: they are kept
 * without what differs by nature.
 *
 * A difference is allowed when a row {request, path, why} fits it: both are patterns of a shell.
 * A row that fits nothing is an error too, or the list would outlive what it explains; `sometimes:
 * true` is for what depends on who is quicker.
 */
#ifndef REAL_COMPARE_H
#define REAL_COMPARE_H

#include "kube/config.h"

struct compare_options {
    const struct kube_config *sandbox, *real;
    struct json_object *requests, *allowed; /* arrays */
    struct json_object *recorded; /* array of real answers of before; NULL: real is asked */
    struct json_object *record;   /* array to add the real answers to, or NULL */
    bool verbose;                 /* also what is allowed */
};

struct compare;
/* Starts at once; ends the loop when it is through. */
struct compare *compare_new(struct loop *loop, struct http_client *http,
                            const struct compare_options *options);
/* After the loop has ended: prints the differences and the stale rows; their number. */
size_t compare_report(struct compare *compare);
void compare_free(struct compare *compare);

#endif
