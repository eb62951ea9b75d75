/*
 * A metric backend: turns a question and a time into one HTTP request, and the reply into an
 * answer. Pure. A backend that needs several requests, for example for a short-lived token, has
 * next(). If the credentials may be those of the process, `ambient` lists its variables; the engine
 * adds their values to the question (its `ambient`) only if the Secret has none of the backend's
 * `own` keys, and then without an address: credentials of the process are never sent to a host that
 * an object names.
 */
#ifndef METRIC_BACKEND_H
#define METRIC_BACKEND_H

#include "base/json.h"
#include "metric/family.h"
#include "net/client.h"
#include "tick/need.h"
#include "tick/tick.h"

/* The part of a built-in query that is the same for all workloads, and the key of this workload. */
struct metric_group {
    const struct metric_family *family;
    enum metric_kind kind;
    const char *interval, *after; /* rendered */
    struct metric_member member;
};
/* Selects one series of a reply that contains many: by one label, or by two. */
struct metric_pick {
    const char *namespace_label,
        *namespace_; /* namespace_label is NULL if the other label is enough */
    const char *label, *value;
    struct metric_answer answer;
};

struct metric_ambient {
    const char *variable; /* environment variable; NULL ends the list */
    bool file;            /* the variable names a file that contains the value */
};

/* Destination of a request. Set by the backend, independently of the URL's text. */
enum metric_to {
    METRIC_TO_ADDRESS,  /* a host that an object names (--tenant-addresses) */
    METRIC_TO_PROVIDER, /* the provider's own host, over https */
    METRIC_TO_MACHINE,  /* a service on the machine, or an address from the environment */
    METRIC_TO_API,      /* the API server, with the rights of the controller: the URL is its path */
};
struct metric_request {
    struct http_request http;
    enum metric_to to;
};

/* The next step after a reply. */
struct metric_step {
    bool more;        /* another request; false if the reply is the last */
    int64_t pause_ms; /* delay before the next request */
    const char *late; /* error to report if there is no time left for it; NULL: a general one */
};

struct metric_backend {
    const char *type;                     /* MetricTemplate spec.provider.type */
    const struct metric_ambient *ambient; /* NULL: only the Secret's credentials are used */
    const char *const *own; /* with ambient: keys that, if the Secret has one, replace it */
    int intervals;          /* number of intervals that the request covers; 0: the query decides */
    bool own_request;       /* spec.provider sets method, path, body and timeout of the request */
    /*
     * Fills *out (in the arena). A question without a query is a probe: it checks that the backend
     * responds, which METRIC_VALUE reports. A body for the API server is JSON. ERR_INVALID with a
     * sentence if template or Secret cannot work.
     */
    enum err (*request)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                        struct metric_request *out, struct errinfo *ei);
    /* May be NULL. Handles the reply to *request: if it is the last, step->more stays false and
     * answer() is called; otherwise *request becomes the next request. An error is METRIC_ERROR. */
    enum err (*next)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                     const struct http_result *result, struct metric_request *request,
                     struct metric_step *step, struct errinfo *ei);
    /* May be NULL. Time in ms for which an intermediate reply is reused for other questions to the
     * same provider with the same credentials: next() gets it instead of a new reply. 0: not
     * reusable. */
    int64_t (*lasts)(struct arena *arena, int64_t now_ms, const struct http_result *result);
    /* May be NULL. A request to send at the end, whatever the outcome; its reply is ignored. False:
     * no such request. */
    bool (*end)(struct arena *arena, const struct metric_question *question, int64_t now_ms,
                struct metric_request *out);
    /* Reads a reply with any status. If there was no reply, the engine reports a METRIC_ERROR. */
    struct metric_answer (*answer)(struct arena *arena, const struct metric_question *question,
                                   const struct http_result *result);
};

/* MetricTemplate */
extern const struct kube_resource metric_templates;

extern const struct metric_backend *const metric_backend_table[];
const struct metric_backend *metric_backend_find(const char *type);
/* True if the credentials are those of the process: the backend supports that, and the Secret has
 * none of the backend's keys. */
bool metric_backend_is_ambient(const struct metric_backend *backend, struct json_object *secret);
/* "prometheus", for errors; owned by the arena. */
const char *metric_backend_names(struct arena *arena);

/*
 * Helpers for backends: address, keys of a Secret, headers, TLS, and replies. Pure; everything
 * lives in the arena.
 *
 * A request is built step by step in a struct backend_call. The first mistake is kept and returned
 * by backend_end(); the functions may still be called until then: a missing string is "".
 */

enum {
    BACKEND_TIMEOUT_MS = 5000,
    BACKEND_MAX_ANSWER = 256 * 1024,
    BACKEND_SAID_MAX = 300,
    BACKEND_WINDOW = 10
};

struct backend_call {
    struct arena *arena;
    const struct metric_question *question;
    struct metric_request *out;
    struct errinfo *ei;
    enum err err;
    const char *base; /* address without trailing slashes */
    int headers;
};

/* A GET of the address, with the headers in spec.provider. if_none: the provider's own host, used
 * if the template has no address or the credentials are those of the process; NULL if an address is
 * required. */
struct backend_call backend_begin(struct arena *arena, const struct metric_question *question,
                                  const char *if_none, struct metric_request *out,
                                  struct errinfo *ei);
enum err backend_end(struct backend_call *call) MUST_USE;
void backend_fail(struct backend_call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends path and query to the address. */
void backend_url(struct backend_call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);
void backend_header(struct backend_call *call, const char *name, const char *value);
/* --no-cross-namespace-refs: true if the question may read objects in this namespace with the
 * rights of the controller; otherwise *ei has the reason. */
bool backend_may_read(const struct metric_question *question, const char *namespace_,
                      struct errinfo *ei);
/* Turns the request into a POST. type: its Content-Type. */
void backend_body(struct backend_call *call, const char *type, const char *body);
/* "Basic ..." from the Secret's username and password; false if one of them is missing. */
bool backend_basic(struct backend_call *call);
/* Value of a required key of the Secret. */
const char *backend_secret(struct backend_call *call, const char *key);
/* Start of the range: now minus BACKEND_WINDOW intervals, as in Flagger. The metric must have an
 * interval. */
int64_t backend_from_ms(struct backend_call *call, int64_t now_ms);

/* A sentence if spec.provider sets a header that must not be set (net/client.h), else NULL. */
const char *backend_headers_refusal(struct arena *arena, struct json_object *spec);
/* A key of the Secret as text; NULL if missing. */
const char *backend_secret_or(struct arena *arena, struct json_object *secret, const char *key);
/* Value of a variable in metric_backend.ambient; NULL if it is unset, or if the Secret replaces
 * it. */
const char *backend_ambient(const struct metric_question *question, const char *variable);
/* Collapses white space, so that a query written over several lines becomes one line. Comments,
 * which start with this text outside quotes and extend to the end of the line, are left out, since
 * they would hide the rest; NULL: the language has no comments. */
const char *backend_one_line(struct arena *arena, const char *query, const char *comment);
/* A copy of the text in which the `from` at its start and the first one after it are replaced. */
const char *backend_replace_first(struct arena *arena, const char *text, const char *from,
                                  const char *to);

/* --- replies */

struct metric_answer backend_failure(const char *text);
/* note: what was found instead, or NULL. */
struct metric_answer backend_no_values(const char *note);
/* The answer with a note such as "the last of 3 series"; without a note if there is only one. */
struct metric_answer backend_chosen(struct arena *arena, struct metric_answer answer,
                                    const char *which, size_t n, const char *of);
/* For a reply that lacks the list that the backend's API specifies. */
struct metric_answer backend_unlike(struct arena *arena, const struct metric_question *question,
                                    const char *list);
/* A JSON number, or a number in a string; null and NaN count as no value. */
struct metric_answer backend_number(struct arena *arena, const struct metric_question *question,
                                    struct json_object *number);
struct metric_answer backend_number_text(struct arena *arena,
                                         const struct metric_question *question, const char *text);
/* A JSON time in units of `unit_ms`, converted to ms; 0 if it is not a time. */
int64_t backend_time_ms(struct json_object *time, int unit_ms);
/* "error response: ..." with the beginning of the body, or with its status. */
struct metric_answer backend_refused(struct arena *arena, const struct http_result *result);

typedef struct metric_answer (*backend_read_fn)(struct arena *arena,
                                                const struct metric_question *question,
                                                struct json_object *reply);
/* Parses a JSON reply; the tree is freed at once, since the arena lives as long as the tick. Any
 * status other than 2xx is an error. The answer to a probe is a value. */
struct metric_answer backend_read_json(struct arena *arena, const struct metric_question *question,
                                       const struct http_result *result, backend_read_fn read);

#endif
