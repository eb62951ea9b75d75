/*
 * The client outside: a steady stream of requests through the gateway, and what came back of each.
 */
#ifndef STORY_TRAFFIC_H
#define STORY_TRAFFIC_H

#include "net/client.h"

enum { TRAFFIC_MAX_VERSIONS = 16 };

/* One request that has ended. */
struct sample {
    int64_t at_ms; /* monotonic, when it was sent */
    int32_t elapsed_ms;
    int16_t status;  /* 0: no answer */
    int16_t version; /* index of traffic_version(); -1: the answer named none */
};

struct traffic;
/* Will send `rate` requests a second to url with the Host header. Strings are borrowed. */
struct traffic *traffic_new(struct loop *loop, struct http_client *http, const char *url,
                            const char *host, int rate);
void traffic_start(struct traffic *traffic);
/* No more requests; what is under way still ends: then there are as many samples as were sent. */
void traffic_stop(struct traffic *traffic);
size_t traffic_sent(const struct traffic *traffic);
void traffic_free(struct traffic *traffic);

/* All samples in the order they ended. */
const struct sample *traffic_samples(const struct traffic *traffic, size_t *count);
const char *traffic_version(const struct traffic *traffic, int version);

struct traffic_view {
    size_t requests;
    size_t failed; /* no answer, or an error that no version of the app made: traffic that was
                      dropped */
    size_t errors; /* 5xx that the app itself answered */
    size_t of_version;
    double success_rate; /* of the version, percent; -1 without samples */
    int p99_ms;          /* of the version; -1 without samples */
};
/* What was sent in [from, to) and has ended. version NULL: the last three fields are -1 and 0. */
struct traffic_view traffic_look(const struct traffic *traffic, int64_t from_ms, int64_t to_ms,
                                 const char *version);
/* "no answer: connection refused" and so on: the latest failure, "" if none. */
const char *traffic_last_failure(const struct traffic *traffic);

#endif
