/*
 * A metric backend: turns a question and a time into one HTTP request, and the reply into an
 * answer. Pure. Some need a few requests, such as for a token that is short-lived; those have next().
 * Where the credentials may be those of the process, `ambient` says which of its variables are
 * looked at; the engine gives them with the question (its `ambient`), only when the Secret has none of
 * the backend's `own` keys, and then without an address: what the process has been given never meets
 * a host that an object names.
 */
#ifndef METRIC_BACKEND_H
#define METRIC_BACKEND_H

#include "metric/family.h"
#include "net/client.h"
#include "tick/tick.h"

/* What of a built-in query is the same for all workloads, and whose this one is. */
struct metric_group {
    const struct metric_family *family;
    enum metric_kind kind;
    const char *interval, *after; /* rendered */
    struct metric_member member;
};
/* One series of an answer that has many: by one label, or two. */
struct metric_pick {
    const char *namespace_label, *namespace_; /* the former NULL: by the other alone */
    const char *label, *value;
    struct metric_answer answer;
};

struct metric_ambient {
    const char *variable; /* of the environment; NULL ends the list */
    bool file;            /* the variable names a file that holds it */
};

/* Where a request goes. The backend says it; the text of the URL decides nothing. */
enum metric_to {
    METRIC_TO_ADDRESS,  /* a host that an object names (--tenant-addresses) */
    METRIC_TO_PROVIDER, /* the provider's own host, by https */
    METRIC_TO_MACHINE,  /* a service of the machine, or an address of the environment */
    METRIC_TO_API,      /* the API server, with the rights of the controller: the URL is its path */
};
struct metric_request {
    struct http_request http;
    enum metric_to to;
};

/* What comes after a reply. */
struct metric_step {
    bool more;        /* another request; false: the reply is the last */
    int64_t pause_ms; /* before it */
    const char *late; /* what is told when there is no time left for it; NULL: in general words */
};

struct metric_backend {
    const char *type;                     /* MetricTemplate spec.provider.type */
    const struct metric_ambient *ambient; /* NULL: the Secret alone */
    const char *const *own;               /* with ambient: keys of the Secret that take its place */
    int intervals; /* of the metric that its request looks back; 0: the query says that */
    /*
     * Fills *out (everything in the arena). A question without a query is a probe: whether the
     * backend answers (step 7), which METRIC_VALUE says. A body for the API
     * server is JSON. ERR_INVALID: the template or secret cannot work, with the sentence.
     */
    enum err (*request)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                        struct metric_request *out, struct errinfo *ei);
    /* May be NULL. Looks at the reply to *request: it is the last (step->more false, as it was
     * before, and answer() is asked), or the next is *request from now on. An error is
     * METRIC_ERROR. */
    enum err (*next)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                     const struct http_result *result, struct metric_request *request,
                     struct metric_step *step, struct errinfo *ei);
    /* May be NULL. For how long a reply that is not the last serves other questions of the same
     * provider with the same credentials, in ms: next() is given it again instead of asking. 0: it
     * serves none. */
    int64_t (*lasts)(struct arena *arena, int64_t now_ms, const struct http_result *result);
    /* May be NULL. What is sent when all is over, however it ended; its answer is not waited for.
     * False: nothing. */
    bool (*end)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                struct metric_request *out);
    /* Reads a reply of any status. A call without a reply is the engine's METRIC_ERROR. */
    struct metric_answer (*answer)(struct arena *arena, const struct metric_question *question,
                                   const struct http_result *result);
};

/* MetricTemplate */
extern const struct kube_resource metric_templates;

extern const struct metric_backend *const metric_backend_table[];
const struct metric_backend *metric_backend_find(const char *type);
/* The credentials are those of the process: the backend knows such, and the Secret has none of its own. */
bool metric_backend_is_ambient(const struct metric_backend *backend, struct json_object *secret);
/* "prometheus", for errors; owned by the arena. */
const char *metric_backend_names(struct arena *arena);

#endif
