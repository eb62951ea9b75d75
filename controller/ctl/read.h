/*
 * Blocking requests to the API server, with the person's own rights. Results live in ctl->arena.
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

#endif
