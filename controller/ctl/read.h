/*
 * Blocking requests to the API server with the user's own rights, and to the gate. Results live in
 * ctl->arena.
 */
#ifndef CTL_READ_H
#define CTL_READ_H

#include "base/json.h"
#include "ctl/ctl.h"

/* flagger.app/v1beta1. */
extern const struct kube_resource read_canaries;

struct read_answer {
    enum err err;
    struct errinfo info; /* "GET canaries test/podinfo: not found: ..." */
    int status;
    struct json_object *body; /* NULL if none */
};

/* Sends all requests at once and waits until the last one is done. What they point to is
 * borrowed. */
void read_calls(struct ctl *ctl, const struct kube_request *requests, struct read_answer *answers,
                size_t count);
enum err read_call(struct ctl *ctl, const struct kube_request *request, struct json_object **body,
                   struct errinfo *ei) MUST_USE;

/* Reads one object in the namespace (NULL: cluster-scoped). */
enum err read_get(struct ctl *ctl, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object **out, struct errinfo *ei) MUST_USE;

enum { READ_MOST = 20000 };
struct read_what {
    const struct kube_resource *resource;
    const char *namespace_; /* NULL: all namespaces, or cluster-scoped */
    const char *selector;   /* label selector, NULL for any */
    const char *fields;     /* field selector, NULL for any */
};
/* The objects as an array, in the server's order; more than READ_MOST is an error. */
enum err read_list(struct ctl *ctl, const struct read_what *what, struct json_object **out,
                   struct errinfo *ei) MUST_USE;

/* Reads a Canary of ctl->namespace_ into *out and returns CTL_DONE; otherwise prints a sentence and
 * returns the exit code. */
int read_canary(struct ctl *ctl, const char *name, struct json_object **out);
/* Prints the sentence for an error of such a read. Returns CTL_SERVER. */
int read_canary_fail(const struct ctl *ctl, const char *name, enum err err,
                     const struct errinfo *ei);
/* Prints the server's error and a remedy. Returns CTL_SERVER. */
int read_fail(const struct ctl *ctl, enum err err, const struct errinfo *ei);

/* Pauses while the loop runs. */
void read_pause(struct ctl *ctl, int64_t ms);

/* --- the user's name, for approvals and requests */

/*
 * The name under which the API server knows the user (SelfSubjectReview), or as_name if that is not
 * NULL. ERR_NOT_FOUND: the server cannot tell, which is the case before Kubernetes 1.28.
 */
enum err person_name(struct ctl *ctl, const char *as_name, const char **out,
                     struct errinfo *ei) MUST_USE;

/*
 * --- The gate of a Canary's confirm hooks: its address, and requests to it. A gate in the cluster
 * is reached through the API server's proxy for Services, with the user's own rights; any other
 * gate, and a gate that is named explicitly, is reached directly.
 */

struct gate {
    const char *url; /* "http://flagger-gate.flagger:80", for messages */
    /* "/api/v1/namespaces/flagger/services/flagger-gate:80/proxy"; NULL if requests go to url
     * directly. */
    const char *proxy_path;
    const char *token; /* sent to url; NULL if none */
    bool insecure;     /* certificates are not verified there */
};

/*
 * The gate that the Canary's hooks of the confirm types and of type rollback have in common; only
 * hooks with this name (NULL for any) count. ERR_NOT_FOUND: there is none; ERR_INVALID: there are
 * several.
 */
enum err gate_find(struct ctl *ctl, struct json_object *canary, const char *hook, struct gate *out,
                   struct errinfo *ei) MUST_USE;
/* The gate that a URL names. Pure except for the arena; exposed for its test. */
struct gate gate_of_url(struct arena *arena, const char *namespace_, const char *url);

/* body NULL: GET, else POST. path: "/v1/gates/test/podinfo". *out is NULL if the response is not
 * JSON. The sentence of an error is the gate's own if it sends one. */
enum err gate_call(struct ctl *ctl, const struct gate *gate, const char *path,
                   struct json_object *body, struct json_object **out, struct errinfo *ei) MUST_USE;
/* The gate's response about one Canary: {"gates": [...], "history": [...]}. */
enum err gate_read(struct ctl *ctl, const struct gate *gate, const char *namespace_,
                   const char *name, struct json_object **out, struct errinfo *ei) MUST_USE;
/* The gate of a kind in such a response, "gate" or "rollback"; NULL if none. */
struct json_object *gate_of_kind(struct json_object *answer, const char *kind);
/* True if the Canary has a hook of type rollback at this gate. */
bool gate_rolls_back(struct arena *arena, struct json_object *canary, const struct gate *gate);

#endif
