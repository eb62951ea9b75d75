/* Private to common/kube and its tests. */
#ifndef KUBE_INTERNAL_H
#define KUBE_INTERNAL_H

#include "base/buf.h"
#include "base/table.h"
#include "kube/config.h"
#include "kube/kube_client.h"
#include "kube/reply.h"
#include "net/loop.h"

/* Limits how many watches of a client list at once; see watch.c. */
struct list_limiter {
    int listing;
    struct watch *first, *last;
};

struct list_limiter *kube_client_list_limiter(struct kube_client *client);

/* Opens when many requests in a row got no answer for some seconds; any answer closes it, even
 * an error. Pure. */
struct circuit_breaker {
    int failures;     /* in a row */
    int64_t since_ms; /* time of the first of them */
    bool open;
};

/* Records a request at a monotonic time. Returns true if the breaker has opened or closed. */
bool circuit_breaker_record(struct circuit_breaker *breaker, bool answered, int64_t now_ms);
bool circuit_breaker_is_answer(int status);

/* --- the HTTP request of a kube_request. Pure: results live in the arena. */
struct request_wire {
    const char *method;
    const char *url;
    const char *label;           /* "PATCH deployments/status test/podinfo", for messages */
    const char *verb, *resource; /* for /metrics: "PATCH", "deployments/status"; "" for a raw
                                  * path */
    const char *accept;
    const char *content_type; /* NULL without a body */
    const char *body;
    size_t body_len;
};

/* ERR_INVALID if a name is missing, or would change the path. Sets the label in any case. */
enum err request_build(struct arena *arena, const char *server, const struct kube_request *request,
                       struct request_wire *out, struct errinfo *ei) MUST_USE;
/* Builds the request in each version of the resource (kube_resource.also), starting with its
 * own. The resource is borrowed only for this call. *count is at least 1. */
enum err request_build_all(struct arena *arena, const char *server,
                           const struct kube_request *request, struct request_wire **out,
                           int *count, struct errinfo *ei) MUST_USE;

/* --- watch.c, for its tests and for fuzzing: the keys of reported objects, and the lines of a
 * stream */

/* Namespaces, names and uids of the objects that a watch has reported. */
struct watch_key {
    const char *namespace_; /* "" for cluster-scoped objects; all three texts follow the struct */
    const char *name;
    const char *uid;
    uint32_t round; /* number of the list that it was last seen in */
};

struct watch_keys {
    struct table table;
    uint32_t round;
};

void watch_keys_init(struct watch_keys *keys);
void watch_keys_fini(struct watch_keys *keys);
/* Begins a list: keys that are not put after this call are stale. */
void watch_keys_begin(struct watch_keys *keys);
/* Returns the replaced key if the uid differs (the caller frees it with free()), else NULL. */
struct watch_key *watch_keys_put(struct watch_keys *keys, const char *namespace_, const char *name,
                                 const char *uid);
void watch_keys_remove(struct watch_keys *keys, const char *namespace_, const char *name);
/* Removes all stale keys. Returns a heap array of heap keys, both the caller's; NULL and 0 if
 * none. */
struct watch_key **watch_keys_take_stale(struct watch_keys *keys, size_t *count);

/* Splitting a stream into lines, and reading a line as an event. The bytes come from outside,
 * within limits. */
enum { WATCH_LINE_MAX = REPLY_MAX_TEXT };

enum line_type { LINE_PUT, LINE_GONE, LINE_BOOKMARK, LINE_ERROR };

struct line_event {
    enum line_type type;
    struct json_object *object;
    /* From the object's metadata, "" if missing. For a bookmark only resource_version is set. */
    const char *namespace_, *name, *uid, *resource_version;
    bool outline; /* only an outline was read, since the object takes too much memory */
    int code;     /* LINE_ERROR: code of the Status, 0 if it has none */
    const char *message;
};

/* *out lives in the arena. ERR_INVALID if the line is not an event. */
enum err watch_line_parse(struct arena *arena, const char *line, size_t len, struct line_event *out,
                          struct errinfo *ei) MUST_USE;

/*
 * Appends bytes to the incomplete line in `rest`, and calls fn for each complete line that is not
 * empty, until it returns false. Returns false if fn did, or if a line exceeds the maximum of the
 * buffer, which is then truncated.
 */
bool watch_lines_feed(struct buf *rest, const char *data, size_t len,
                      bool (*fn)(void *arg, const char *line, size_t len), void *arg);

/*
 * --- Credentials of requests, kept fresh: a token file is read again when it has changed (checked
 * once a minute), an exec plugin is run again when its answer expires. A 401 refreshes either at
 * once.
 *
 * Belongs to the client. `changed` is called from the loop, never from one of these functions,
 * when a pending plugin has answered or failed.
 */
struct credentials;

enum credentials_state {
    CREDENTIALS_READY,   /* the view is filled */
    CREDENTIALS_PENDING, /* call again after changed() */
    CREDENTIALS_FAILED,  /* see errinfo */
};

/* Valid until the next iteration of the loop. */
struct credentials_view {
    const char *authorization; /* header value, NULL if none */
    const struct http_tls *tls;
    uint64_t generation;
};

struct credentials *credentials_new(struct loop *loop, const struct kube_config *config,
                                    void (*changed)(void *arg), void *arg);
void credentials_free(struct credentials *c); /* a running plugin is stopped */
/* Sets the interval between checks of the token file, default one minute; for tests. */
void credentials_set_check_interval(struct credentials *c, int64_t ms);
enum credentials_state credentials_get(struct credentials *c, struct credentials_view *view,
                                       struct errinfo *ei);
/* Reports a 401 for the credentials of that generation. Returns true if the request should be
 * sent again with fresh credentials. */
bool credentials_refused(struct credentials *c, uint64_t generation);

/* The protocol of exec plugins, client.authentication.k8s.io/v1 and v1beta1; for tests and
 * fuzzing. */
struct exec_credential {
    const char *token;    /* NULL if none */
    const char *cert_pem; /* NULL if none; otherwise key_pem is set too */
    const char *key_pem;
    int64_t expires_ms; /* Unix time; 0 if unknown */
};

/* The plugin's environment, NULL-ended: ours, the kubeconfig's, and KUBERNETES_EXEC_INFO. */
const char *const *config_exec_env(struct arena *arena, const struct kube_config *config);
/* Parses the output. Errors never quote it, since it is secret. */
enum err config_exec_parse(struct arena *arena, const struct kube_config *config,
                           const char *output, size_t len, struct exec_credential *out,
                           struct errinfo *ei) MUST_USE;

#endif
