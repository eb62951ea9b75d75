#include <stdarg.h>
#include <string.h>

#include "api/apistats.h"
#include "api/objinternal.h"
#include "api/rest.h"
#include "base/clock.h"
#include "object/form.h"
#include "object/table.h"

const char *restverb_name(enum restverb verb)
{
    static const char *const names[] = {
        [REST_GET] = "get",       [REST_LIST] = "list",
        [REST_WATCH] = "watch",   [REST_CREATE] = "create",
        [REST_UPDATE] = "update", [REST_PATCH] = "patch",
        [REST_DELETE] = "delete", [REST_DELETE_COLLECTION] = "deletecollection",
        [REST_OTHER] = "other",
    };
    return names[verb];
}

void restreply_sent(struct restreq *req, size_t bytes, int events)
{
    apistats_sent(req->api->stats, req->agent, restverb_name(req->verb), req->resource, bytes,
                  events);
}

/* A header value in quotes: what would end it is escaped, control characters are left out. */
static const char *quoted(struct arena *arena, const char *text)
{
    char *out = arena_alloc(arena, strlen(text) * 2 + 3);
    char *to = out;
    *to++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *to++ = '\\';
        if ((unsigned char)*text >= ' ')
            *to++ = *text;
    }
    *to++ = '"';
    *to = '\0';
    return out;
}

static void warn(struct restreq *req, const char *text)
{
    http_reply_header(req->http, "Warning",
                      arena_printf(req->arena, "299 - %s", quoted(req->arena, text)));
}

static void add_warnings(struct restreq *req)
{
    enum { WARNINGS_MAX = 20 };
    struct json_object *list = req->call.warnings;
    for (size_t i = 0; i < json_len(list) && i < WARNINGS_MAX; i++)
        warn(req, json_object_get_string(json_elem(list, i)));
    if (req->version && req->version->deprecation)
        warn(req, req->version->deprecation);
}

static void reply(struct restreq *req, int code, const char *text, size_t len)
{
    add_warnings(req);
    http_reply_header(req->http, "Cache-Control", "no-cache, private");
    restreply_sent(req, len, 0);
    http_reply(req->http, code, "application/json", text, len);
}

void restreply_tree(struct restreq *req, int code, struct json_object *tree)
{
    const char *text = json_text(req->arena, tree);
    reply(req, code, text, strlen(text));
}

void restreply_fail(struct restreq *req)
{
    struct objfail *fail = &req->call.fail;
    if (fail->retry_after_s > 0)
        http_reply_header(req->http, "Retry-After",
                          arena_printf(req->arena, "%d", fail->retry_after_s));
    restreply_tree(req, fail->code, objfail_status(fail));
}

bool restreply_error(struct restreq *req, int code, const char *reason, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = arena_vprintf(req->arena, fmt, args);
    va_end(args);
    req->call.fail.arena = req->arena;
    (void)!objfail_set(&req->call.fail, code, reason, "%s", text);
    restreply_fail(req);
    return false;
}

void restreply_not_found(struct restreq *req)
{
    objmeta_describe(&req->call.fail, req->kind, req->path.name);
    restreply_error(req, 404, "NotFound", "%s \"%s\" not found",
                    objkind_resource(req->arena, req->kind), req->path.name);
}

static struct json_object *partial_of(struct arena *arena, struct json_object *obj)
{
    return form(arena, "{kind: PartialObjectMetadata, apiVersion: meta.k8s.io/v1, metadata: %p}",
                json_at(obj, "metadata", NULL));
}

static const struct table_column *columns_of(const struct restreq *req)
{
    return req->version->columns ? req->version->columns : table_age_alone;
}

static struct table_request table_request(const struct restreq *req)
{
    return (struct table_request){
        .version = req->accept.version, .include = req->include, .now_ms = clock_wall_ms()};
}

struct json_object *restreply_shape(struct restreq *req, struct arena *arena,
                                    struct json_object *obj, bool first)
{
    obj = objstore_as_version(arena, req->kind, obj, req->version->name);
    if (req->accept.as == REST_AS_PARTIAL)
        return partial_of(arena, obj);
    if (req->accept.as != REST_AS_TABLE)
        return obj;
    struct table_request request = table_request(req);
    request.no_definitions = !first;
    return table_render(arena, columns_of(req), &request, form(arena, "[%p]", obj),
                        form(arena, "{resourceVersion: %s}",
                             json_str_at(obj, "metadata", "resourceVersion", NULL)));
}

void restreply_object(struct restreq *req, int code, struct json_object *obj)
{
    restreply_tree(req, code, restreply_shape(req, req->arena, obj, true));
}

/* The items of a list of a built-in kind do not say their kind. */
struct json_object *restreply_list_item(struct restreq *req, struct arena *arena,
                                        struct json_object *item)
{
    if (req->accept.as == REST_AS_PARTIAL)
        return partial_of(arena, item);
    if (req->kind->custom)
        return item;
    struct json_object *out = json_own(arena, json_object_new_object());
    json_object_object_foreach(item, key, value)
    {
        if (strcmp(key, "apiVersion") != 0 && strcmp(key, "kind") != 0)
            json_set(out, key, value);
    }
    return out;
}

static struct json_object *list_head(struct restreq *req, struct json_object *metadata)
{
    bool partial = req->accept.as == REST_AS_PARTIAL;
    return form(req->arena, "{kind: %s, apiVersion: %s, metadata: %p}",
                partial ? "PartialObjectMetadataList" : req->kind->list_kind,
                partial ? "meta.k8s.io/v1"
                        : objkind_api_version(req->arena, req->kind, req->version->name),
                metadata);
}

struct json_object *restreply_list(struct restreq *req, struct json_object *items,
                                   struct json_object *metadata)
{
    struct arena *arena = req->arena;
    if (req->accept.as == REST_AS_TABLE) {
        struct table_request request = table_request(req);
        return table_render(arena, columns_of(req), &request, items, metadata);
    }
    struct json_object *list = list_head(req, metadata);
    for (size_t i = 0; i < json_len(items); i++) {
        struct json_object *item = restreply_list_item(req, arena, json_elem(items, i));
        json_object_array_put_idx(items, i, json_object_get(item));
    }
    json_set(list, "items", items);
    return list;
}

void restreply_list_text(struct restreq *req, struct json_object *metadata, const struct buf *items)
{
    struct buf text;
    const char *head = json_text(req->arena, list_head(req, metadata));
    buf_init(&text, items->len + strlen(head) + sizeof(",'items':[]}"));
    buf_add(&text, head, strlen(head) - 1);
    buf_puts(&text, ",\"items\":[");
    buf_add(&text, items->data, items->len);
    buf_puts(&text, "]}");
    reply(req, 200, text.data, text.len);
    buf_fini(&text);
}
