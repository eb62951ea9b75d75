#include "kube/client_internal.h"

#include <string.h>

#include "base/json.h"

#define ACCEPT_JSON "application/json"
/* Servers without support for metadata only reply with whole objects, the second choice. */
#define ACCEPT_METADATA                                                                            \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
#define ACCEPT_METADATA_LIST                                                                       \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

enum need { NEEDS_NAME, NEEDS_NO_NAME };

static const struct verb {
    const char *method;
    const char *word; /* in the label */
    const char *content_type;
    enum need name;
} verbs[] = {
    [KUBE_GET] = {.method = "GET", .word = "GET", .name = NEEDS_NAME},
    [KUBE_LIST] = {.method = "GET", .word = "LIST", .name = NEEDS_NO_NAME},
    [KUBE_CREATE] = {.method = "POST",
                     .word = "POST",
                     .content_type = "application/json",
                     .name = NEEDS_NO_NAME},
    [KUBE_REPLACE] = {.method = "PUT",
                      .word = "PUT",
                      .content_type = "application/json",
                      .name = NEEDS_NAME},
    [KUBE_MERGE_PATCH] = {.method = "PATCH",
                          .word = "PATCH",
                          .content_type = "application/merge-patch+json",
                          .name = NEEDS_NAME},
    [KUBE_JSON_PATCH] = {.method = "PATCH",
                         .word = "PATCH",
                         .content_type = "application/json-patch+json",
                         .name = NEEDS_NAME},
    [KUBE_DELETE] = {.method = "DELETE",
                     .word = "DELETE",
                     .content_type = "application/json",
                     .name = NEEDS_NAME},
};

static const char *resource_of(struct arena *arena, const struct kube_request *request)
{
    if (request->raw_path)
        return "";
    return request->sub ? arena_printf(arena, "%s/%s", request->resource->plural, request->sub)
                        : request->resource->plural;
}

static const char *make_label(struct arena *arena, const struct kube_request *request)
{
    const char *word = verbs[request->verb].word;
    const struct kube_resource *resource = request->resource;

    if (request->raw_path)
        return arena_printf(arena, "%s %.*s", verbs[request->verb].method,
                            (int)strcspn(request->raw_path, "?"), request->raw_path);
    const char *what = arena_printf(arena, "%s %s", word, resource_of(arena, request));
    if (resource->cluster_scoped || !request->namespace_)
        return request->name ? arena_printf(arena, "%s %s", what, request->name) : what;
    if (!request->name)
        return arena_printf(arena, "%s in %s", what, request->namespace_);
    return arena_printf(arena, "%s %s/%s", what, request->namespace_, request->name);
}

/* Accepts a path segment that can only be taken literally, by the API server's own rule. */
static enum err check_segment(const char *what, const char *text, struct errinfo *ei)
{
    if (!text[0])
        return err_set(ei, ERR_INVALID, "the %s is empty", what);
    if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0 || strpbrk(text, "/%?#"))
        return err_set(ei, ERR_INVALID, "the %s \"%s\" cannot stand in a path", what, text);
    return ERR_OK;
}

static enum err check_names(const struct kube_request *request, struct errinfo *ei)
{
    bool named = verbs[request->verb].name == NEEDS_NAME;
    bool scoped = !request->resource->cluster_scoped;
    enum err err = ERR_OK;

    if (named && !request->name)
        return err_set(ei, ERR_INVALID, "no name is given");
    if (!named && (request->name || request->sub))
        return err_set(ei, ERR_INVALID, "a name has no place here");
    if (scoped && !request->namespace_ && request->verb != KUBE_LIST)
        return err_set(ei, ERR_INVALID, "no namespace is given");
    if (scoped && request->namespace_)
        err = check_segment("namespace", request->namespace_, ei);
    if (err == ERR_OK && request->name)
        err = check_segment("name", request->name, ei);
    return err;
}

static const char *accept_of(const struct kube_request *request)
{
    if (!request->metadata_only)
        return ACCEPT_JSON;
    /* The events of a watch are single objects. */
    return request->verb == KUBE_LIST && !request->on_data ? ACCEPT_METADATA_LIST : ACCEPT_METADATA;
}

enum err request_build(struct arena *arena, const char *server, const struct kube_request *request,
                       struct request_wire *out, struct errinfo *ei)
{
    const struct verb *verb = &verbs[request->verb];
    const char *path = request->raw_path;

    *out = (struct request_wire){.method = verb->method,
                                 .label = make_label(arena, request),
                                 .verb = request->on_data ? "WATCH" : verb->word,
                                 .resource = resource_of(arena, request),
                                 .accept = accept_of(request)};
    if (!server || !server[0])
        return err_set(ei, ERR_INVALID, "no Kubernetes API server is configured");
    if (!path) {
        enum err err = check_names(request, ei);
        if (err != ERR_OK)
            return err;
        path =
            kube_path(arena, request->resource, request->namespace_, request->name, request->sub);
    }
    out->url = arena_printf(arena, "%s%s", server, path);
    if (request->query && request->query[0])
        out->url = arena_printf(arena, "%s?%s", out->url, request->query);
    if (request->body) {
        out->body = json_text(arena, request->body);
        out->body_len = strlen(out->body);
        out->content_type = verb->content_type ? verb->content_type : "application/json";
    }
    return ERR_OK;
}

enum err request_build_all(struct arena *arena, const char *server,
                           const struct kube_request *request, struct request_wire **out,
                           int *count, struct errinfo *ei)
{
    const struct kube_version *also = request->raw_path ? NULL : request->resource->also;
    enum err err;

    *count = 1;
    while (also && also[*count - 1].group)
        ++*count;
    *out = arena_array(arena, (size_t)*count, sizeof(**out));
    err = request_build(arena, server, request, &(*out)[0], ei);
    for (int i = 1; i < *count && err == ERR_OK; i++) {
        struct kube_request one = *request;
        struct kube_resource resource = *request->resource;
        resource.group = also[i - 1].group;
        resource.version = also[i - 1].version;
        one.resource = &resource;
        one.body = json_copy(arena, request->body);
        if (json_at(one.body, "apiVersion", NULL))
            json_set_str(one.body, "apiVersion", kube_api_version(arena, &resource));
        err = request_build(arena, server, &one, &(*out)[i], ei);
    }
    return err;
}
