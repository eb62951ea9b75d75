#include "api/restopenapi.h"

#include <string.h>

#include "base/buf.h"

enum { DOCUMENT_MAX = 4 << 20, HEAD_MAX = 11 };

/* The numbers of the fields, by the message that they are in. */
enum {
    DOCUMENT_SWAGGER = 1,
    DOCUMENT_PATHS = 8,
    PATHS_PATH = 2,
    NAMED_NAME = 1,
    NAMED_VALUE = 2,
    PATH_ITEM_PATCH = 8,
    OPERATION_PARAMETERS = 8,
    OPERATION_EXTENSION = 13,
    PARAMETERS_ITEM_PARAMETER = 1,
    PARAMETER_NON_BODY = 2,
    NON_BODY_QUERY = 3,
    QUERY_IN = 2,
    QUERY_NAME = 4,
    ANY_YAML = 2,
};

/* Appends one field of bytes: a text, or a message. */
static void add(struct buf *out, unsigned number, const void *data, size_t len)
{
    unsigned char head[HEAD_MAX] = {(unsigned char)(number << 3 | 2)};
    size_t used = 1, rest = len;
    do {
        head[used++] = (unsigned char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        rest >>= 7;
    } while (rest > 0);
    buf_add(out, head, used);
    buf_add(out, data, len);
}

static void add_text(struct buf *out, unsigned number, const char *text)
{
    add(out, number, text, strlen(text));
}

/* Makes the message in buf the only field of a message around it. */
static void wrap(struct buf *buf, unsigned number)
{
    struct buf outer;
    buf_init(&outer, buf->max);
    add(&outer, number, buf->data, buf->len);
    buf_fini(buf);
    *buf = outer;
}

static void add_parameter(struct buf *operation, const char *name)
{
    struct buf it;
    buf_init(&it, DOCUMENT_MAX);
    add_text(&it, QUERY_IN, "query");
    add_text(&it, QUERY_NAME, name);
    wrap(&it, NON_BODY_QUERY);
    wrap(&it, PARAMETER_NON_BODY);
    wrap(&it, PARAMETERS_ITEM_PARAMETER);
    add(operation, OPERATION_PARAMETERS, it.data, it.len);
    buf_fini(&it);
}

/* Says which kind the operation is of. */
static void add_kind(struct buf *operation, const struct objkind *kind, const char *version)
{
    struct buf any, named;
    buf_init(&any, DOCUMENT_MAX);
    buf_init(&named, DOCUMENT_MAX);
    buf_printf(&any, "{group: \"%s\", version: \"%s\", kind: \"%s\"}", kind->group, version,
               kind->kind);
    wrap(&any, ANY_YAML);
    add_text(&named, NAMED_NAME, "x-kubernetes-group-version-kind");
    add(&named, NAMED_VALUE, any.data, any.len);
    add(operation, OPERATION_EXTENSION, named.data, named.len);
    buf_fini(&any);
    buf_fini(&named);
}

static void add_path(struct restreq *req, struct buf *paths, const struct objkind *kind,
                     const char *version)
{
    struct buf operation, named;
    buf_init(&operation, DOCUMENT_MAX);
    buf_init(&named, DOCUMENT_MAX);
    add_parameter(&operation, "dryRun");
    add_parameter(&operation, "fieldValidation");
    add_kind(&operation, kind, version);
    wrap(&operation, PATH_ITEM_PATCH);
    add_text(&named, NAMED_NAME,
             arena_printf(req->arena, "/%s/%s/%s%s/{name}", *kind->group ? "apis" : "api",
                          objkind_api_version(req->arena, kind, version),
                          objkind_namespaced(kind) ? "namespaces/{namespace}/" : "", kind->plural));
    add(&named, NAMED_VALUE, operation.data, operation.len);
    add(paths, PATHS_PATH, named.data, named.len);
    buf_fini(&operation);
    buf_fini(&named);
}

struct writing {
    struct restreq *req;
    struct buf paths;
};

static void add_versions(void *arg, const struct objkind *kind)
{
    struct writing *writing = arg;
    if (kind->flags & OBJKIND_REVIEW)
        return; /* only created, never patched */
    for (const struct objversion *v = kind->versions; v->name; v++)
        if (v->served)
            add_path(writing->req, &writing->paths, kind, v->name);
}

void restopenapi(struct restreq *req)
{
    struct writing writing = {.req = req};
    struct buf document;
    buf_init(&writing.paths, DOCUMENT_MAX);
    buf_init(&document, DOCUMENT_MAX);
    objstore_kinds(req->store, add_versions, &writing);
    add_text(&document, DOCUMENT_SWAGGER, "2.0");
    add(&document, DOCUMENT_PATHS, writing.paths.data, writing.paths.len);
    restreply_done(req, 200);
    http_reply(req->http, 200, "application/octet-stream", document.data, document.len);
    buf_fini(&writing.paths);
    buf_fini(&document);
}
