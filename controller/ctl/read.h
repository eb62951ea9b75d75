/*
 * Blocking requests to the API server, with the person's own rights, and to the gate. Results live
 * in ctl->arena.
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

/* Sends them all at once and waits for the last one. What the requests point to is borrowed. */
void read_calls(struct ctl *ctl, const struct kube_request *requests, struct read_answer *answers,
                size_t count);
enum err read_call(struct ctl *ctl, const struct kube_request *request, struct json_object **body,
                   struct errinfo *ei) MUST_USE;

/* One object of the namespace (NULL: of the cluster). */
enum err read_get(struct ctl *ctl, const struct kube_resource *resource, const char *namespace_,
                  const char *name, struct json_object **out, struct errinfo *ei) MUST_USE;

enum { READ_MOST = 20000 };
struct read_what {
    const struct kube_resource *resource;
    const char *namespace_; /* NULL: all of them, or of the cluster */
    const char *selector;   /* of labels, NULL for any */
    const char *fields;     /* field selector, NULL for any */
};
/* The objects as an array, in the server's order; more than READ_MOST are an error. */
enum err read_list(struct ctl *ctl, const struct read_what *what, struct json_object **out,
                   struct errinfo *ei) MUST_USE;

/* Reads a Canary of ctl->namespace_ into *out and returns CTL_DONE; otherwise prints a sentence and
 * returns the exit code. */
int read_canary(struct ctl *ctl, const char *name, struct json_object **out);
/* Prints the sentence for an error of that read. Returns CTL_SERVER. */
int read_canary_fail(const struct ctl *ctl, const char *name, enum err err,
                     const struct errinfo *ei);
/* Prints the server's error and a remedy. Returns CTL_SERVER. */
int read_fail(const struct ctl *ctl, enum err err, const struct errinfo *ei);

/* Sleeps on the loop. */
void read_pause(struct ctl *ctl, int64_t ms);

/* --- the person's name, for approvals and requests */

/*
 * The name by which the API server knows the person (SelfSubjectReview), or as_name if that is not
 * NULL. ERR_NOT_FOUND: the server cannot say, which one before Kubernetes 1.28 cannot.
 */
enum err person_name(struct ctl *ctl, const char *as_name, const char **out,
                     struct errinfo *ei) MUST_USE;

/*
 * --- The gate of a Canary's confirm hooks: its address, and requests to it. A gate in the cluster
 * is reached through the API server's proxy of Services, with the person's own rights; any other
 * gate, and a named one, directly.
 */

struct gate {
    const char *url; /* "http://flagger-gate.flagger:80", for people */
    /* "/api/v1/namespaces/flagger/services/flagger-gate:80/proxy"; NULL if url is asked directly.
     */
    const char *proxy_path;
    const char *token; /* sent to the url; NULL if none */
    bool insecure;     /* no certificate is verified there */
};

/*
 * Of the Canary's hooks of the confirm types and of type rollback, those of the name (NULL for any)
 * that have their gate in common. ERR_NOT_FOUND: it has none; ERR_INVALID: there are several gates.
 */
enum err gate_find(struct ctl *ctl, struct json_object *canary, const char *hook, struct gate *out,
                   struct errinfo *ei) MUST_USE;
/* The gate that a URL names. Pure but for the arena; exposed for its test. */
struct gate gate_of_url(struct arena *arena, const char *namespace_, const char *url);

/* body NULL: GET, else POST. path: "/v1/gates/test/podinfo". *out is NULL where the answer has no
 * JSON. The sentence of an error is the gate's own where it gives one. */
enum err gate_call(struct ctl *ctl, const struct gate *gate, const char *path,
                   struct json_object *body, struct json_object **out, struct errinfo *ei) MUST_USE;
/* The gate's answer about one Canary: {"gates": [...], "history": [...]}. */
enum err gate_read(struct ctl *ctl, const struct gate *gate, const char *namespace_,
                   const char *name, struct json_object **out, struct errinfo *ei) MUST_USE;
/* Of such an answer the gate of a kind, "gate" or "rollback"; NULL if none. */
struct json_object *gate_of_kind(struct json_object *answer, const char *kind);
/* The Canary has a hook of type rollback at this gate. */
bool gate_rolls_back(struct arena *arena, struct json_object *canary, const struct gate *gate);

#endif
