/* What the files of the REST layer share; nobody outside test/sandbox/api includes this. */
#ifndef SANDBOX_REST_H
#define SANDBOX_REST_H

#include "api/api.h"
#include "api/apifaults.h"
#include "api/restask.h"
#include "object/selector.h"
#include "object/table.h"

enum restverb {
    REST_GET,
    REST_LIST,
    REST_WATCH,
    REST_CREATE,
    REST_UPDATE,
    REST_PATCH,
    REST_DELETE,
    REST_DELETE_COLLECTION,
    REST_OTHER, /* a method that no resource has */
};
const char *restverb_name(enum restverb verb);

/* One request on its way. Lives in the arena of the HTTP request. */
struct restreq {
    struct api *api;
    struct objstore *store;
    struct http_conn_request *http;
    struct arena *arena;
    const char *method;
    struct restpath path;
    struct restaccept accept;
    enum table_include include; /* of Tables */
    enum restverb verb;
    /* of a resource path */
    const struct objkind *kind;
    const struct objversion *version;
    struct objcall call;
    /* for the counts */
    const char *agent, *resource;
    /* for the ring of requests and the faults */
    struct apifault fault;
    struct timer *delay;
};

struct api {
    struct loop *loop;
    struct objstore *store;
    struct http_server *http, *https;
    char *token, *readonly_token;
    char *kubeconfig;
    struct apistats *stats;
    struct json_object *faults; /* see apifaults.h */
    struct restwatch *watches;
    int64_t watch_delay_ms;
    api_pod_log_fn pod_log;
    void *pod_log_arg;
    api_request_fn on_request;
    void *on_request_arg;
};

/* ---- restreply.c ---- */
/* Answers with the call's failure as a Status. */
void restreply_fail(struct restreq *req);
/* Answers with an error; false always. */
bool restreply_error(struct restreq *req, int code, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Answers that the object of the path is not there. */
void restreply_not_found(struct restreq *req);
/* Answers with one object as the client wants it: itself, its metadata, or a Table. */
void restreply_object(struct restreq *req, int code, struct json_object *obj);
/* Answers with any tree, as JSON or YAML. */
void restreply_tree(struct restreq *req, int code, struct json_object *tree);
/* The object as the client wants it. first: Table column definitions are wanted. */
struct json_object *restreply_shape(struct restreq *req, struct arena *arena,
                                    struct json_object *obj, bool first);
/* A Table or a list of what items holds, with list metadata. */
struct json_object *restreply_list(struct restreq *req, struct json_object *items,
                                   struct json_object *metadata);
/* One of its items, which is in the version of the request, and the list of such items as texts with
 * commas between them; not for a Table. */
struct json_object *restreply_list_item(struct restreq *req, struct arena *arena,
                                        struct json_object *item);
void restreply_list_text(struct restreq *req, struct json_object *metadata,
                         const struct buf *items);

/* Counts what the client was sent: bytes of bodies, events of watches. */
void restreply_sent(struct restreq *req, size_t bytes, int events);

/* ---- restbody.c ---- */
/* The body as a tree; answers with 400 or 415 and returns false when it is none. NULL for an empty
 * body. */
bool restbody_read(struct restreq *req, struct json_object **out);
/* dryRun, fieldManager, fieldValidation; answers with 400 and returns false when one is unknown. */
bool restbody_options(struct restreq *req);

/* The selectors of a list, watch or deletecollection. */
struct restselect {
    const char *ns; /* NULL for all */
    const struct selector *labels;
    const struct fields *fields;
    const char *name; /* when only the object of this name can match */
};

/* From the query of req, into arena; answers with 400 and returns false when a selector is none. */
bool restselect_read(struct restreq *req, struct arena *arena, struct restselect *out);
bool restselect_match(const struct restselect *select, struct json_object *obj);

/* Whether the query says "true" or "1" of key. */
bool restreq_is_true(struct restreq *req, const char *key);

/* ---- the verbs ---- */
void restread_get(struct restreq *req);
void restread_list(struct restreq *req);
void restwatch_start(struct restreq *req);
void restwatch_cut_all(struct api *api);    /* ends the streams */
void restwatch_expire_all(struct api *api); /* with a 410 ERROR event */
size_t restwatch_count(const struct api *api);
void restwrite_create(struct restreq *req);
void restwrite_update(struct restreq *req);
void restpatch(struct restreq *req);
void restdelete_one(struct restreq *req);
void restdelete_collection(struct restreq *req);
void restscale(
    struct restreq *req); /* an autoscaling/v1 Scale, made of and written to its object */

/* ---- restdiscovery.c ---- */
/* /version, /api, /apis, /apis/G, /api/v1, /apis/G/V, /openapi; false when the path is none of
 * them. */
bool restdiscovery(struct restreq *req);

/* ---- apisandbox.c: /sandbox/... ---- */
bool apisandbox(struct restreq *req);

#endif
