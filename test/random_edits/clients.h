/*
 * The clients of all apps: a steady stream of requests through the gateway and through the apex
 * Service of each, with a connection for each request, so that every one is a new decision of the
 * network. A further stream goes to each canary Service, so that there is something to measure; it
 * is not counted.
 */
#ifndef EDITS_CLIENTS_H
#define EDITS_CLIENTS_H

#include "net/client.h"
#include "random_edits/view.h"

/* No answer, an answer that no version of the app gave, or a 5xx of a version that is not bad on
 * purpose ("bad8-errors100"). */
struct failure {
    const struct app *app;
    const char *via;           /* "gateway", "apex", "insider" */
    int64_t sent_ms, ended_ms; /* monotonic */
    const char *text;
    bool stranger; /* another workload has answered */
};

struct clients;

struct clients_options {
    struct loop *loop;
    struct http_client *http;
    const struct view *view;
    int gateway_port;
    int rate; /* of each stream, a second */
    void (*failed)(void *arg, const struct failure *failure);
    void *arg;
};

struct clients *clients_new(const struct clients_options *options);
void clients_add(struct clients *clients, const struct app *app);
/* From now on its requests count. */
void clients_count(struct clients *clients, const struct app *app);
/* No more requests; those under way end. */
void clients_stop(struct clients *clients);
void clients_free(struct clients *clients); /* when none is under way any more */

/* Requests that counted and have ended. */
uint64_t clients_requests(const struct clients *clients);
/* Whether all counted streams of the app got this version last. */
bool clients_all_get(const struct clients *clients, const struct app *app, const char *version);

#endif
