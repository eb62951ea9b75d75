#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "api/rest.h"
#include "base/buf.h"
#include "base/encoding.h"

void restread_get(struct restreq *req)
{
    struct json_object *obj = objstore_get(req->store, req->kind, req->path.ns, req->path.name);
    if (!obj) {
        restreply_not_found(req);
        return;
    }
    restreply_object(req, 200, obj);
}

/* One page of a list. */
struct page {
    struct restselect select;
    uint64_t version;
    size_t limit;      /* 0 for all */
    const char *start; /* key to begin with; NULL: the first */
    const char *next;  /* key of the next page; NULL: this was the last */
    size_t count, remaining;
    struct buf text;           /* the items */
    struct json_object *items; /* of a Table */
};

/* A continue token is "VERSION:KEY" in base64url; to clients it means nothing. */
static const char *make_token(struct arena *arena, uint64_t version, const char *key)
{
    const char *text = arena_printf(arena, "%" PRIu64 ":%s", version, key);
    return base64url_encode(arena, text, strlen(text));
}

static bool read_token(struct arena *arena, const char *token, struct page *page)
{
    char *text, *key;
    size_t len;
    if (base64url_decode(arena, token, strlen(token), &text, &len, NULL) != ERR_OK)
        return false;
    page->version = strtoull(text, &key, 10);
    page->start = key + 1;
    return *key == ':';
}

static bool read_page(struct restreq *req, struct page *page)
{
    const char *limit = http_req_param(req->http, "limit");
    const char *token = http_req_param(req->http, "continue");
    page->version = objstore_version(req->store);
    if (limit && *limit) {
        char *end;
        errno = 0;
        long long value = strtoll(limit, &end, 10);
        if (errno != 0 || *end || value < 0)
            return restreply_error(req, 400, "BadRequest", "limit: expected a number, found \"%s\"",
                                   limit);
        page->limit = (size_t)value;
    }
    if (!restselect_read(req, req->arena, &page->select))
        return false;
    if (!token || !*token)
        return true;
    if (!read_token(req->arena, token, page))
        return restreply_error(req, 400, "BadRequest", "continue key is not valid: %s", token);
    if (page->version < objstore_oldest_version(req->store))
        return restreply_error(
            req, 410, "Expired",
            "The provided continue parameter is too old to display a consistent list "
            "result. You can start a new list without the continue parameter.");
    return true;
}

/* A list at a version: what is newer is not known yet, what is older is not known any more. */
static bool check_version(struct restreq *req)
{
    const char *text = http_req_param(req->http, "resourceVersion");
    const char *match = http_req_param(req->http, "resourceVersionMatch");
    if (!text || !*text)
        return true;
    char *end;
    uint64_t wanted = strtoull(text, &end, 10);
    uint64_t now = objstore_version(req->store);
    if (*end || *text == '-')
        return restreply_error(
            req, 400, "BadRequest",
            "Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid syntax", text, text);
    if (wanted > now) {
        req->call.fail.retry_after_s = 1;
        restreply_error(req, 504, "Timeout",
                        "Timeout: Too large resource version: %" PRIu64 ", current: %" PRIu64,
                        wanted, now);
        return false;
    }
    if (match && strcmp(match, "Exact") == 0 && wanted != now)
        return restreply_error(req, 410, "Expired",
                               "The resourceVersion for the provided list is too old.");
    return true;
}

/* The text as it stands in a list: items of built-in kinds do not say their kind. NULL: it has to be
 * made from the tree. */
static const char *stored_text(struct restreq *req, struct arena *arena, struct objstate *state,
                               size_t *len)
{
    const char *api_version = objkind_api_version(arena, req->kind, req->version->name);
    const char *begin = arena_printf(arena, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",", api_version,
                                     req->kind->kind);
    size_t skip = strlen(begin);
    const char *text = objstate_text(state, len);
    if (req->accept.as != REST_AS_ITSELF || strncmp(text, begin, skip) != 0)
        return NULL;
    if (req->kind->custom)
        return text;
    *len -= skip;
    return text + skip;
}

static void add_item(struct restreq *req, struct page *page, struct objstate *state)
{
    struct arena *arena = arena_new();
    size_t len;
    const char *text =
        req->accept.as == REST_AS_TABLE ? NULL : stored_text(req, arena, state, &len);
    page->count++;
    if (!text) {
        struct json_object *obj = objstore_as_version(
            req->arena, req->kind, objstate_tree(req->store, state), req->version->name);
        if (req->accept.as == REST_AS_TABLE) {
            json_object_array_add(page->items, json_object_get(obj));
            arena_free(arena);
            return;
        }
        text = json_text(arena, restreply_list_item(req, arena, obj));
        len = strlen(text);
    }
    buf_printf(&page->text, "%s%s", page->count > 1 ? "," : "", *text == '{' ? "" : "{");
    buf_add(&page->text, text, len);
    arena_free(arena);
}

/* Whether the object may be selected, as far as its key tells. */
static bool may_match(const struct restselect *select, const char *key)
{
    const char *slash = strchr(key, '/');
    return !select->name || strcmp(slash ? slash + 1 : key, select->name) == 0;
}

static void fill_page(struct restreq *req, struct page *page)
{
    struct objset *set = objset_of_kind(req->store, req->kind);
    bool all = !page->select.labels && !page->select.fields;
    size_t begin, end;
    objset_range(set, page->select.ns, &begin, &end);
    if (page->start) {
        bool found;
        size_t at = objset_find(set, page->start, &found);
        begin = at > begin ? at : begin;
    }
    for (size_t i = begin; i < end; i++) {
        struct objrecord *record = set->records[i];
        if (!all && (!may_match(&page->select, record->key) ||
                     !restselect_match(&page->select, objstate_tree(req->store, record->state))))
            continue;
        if (page->limit > 0 && page->count == page->limit) {
            page->next = record->key;
            page->remaining = end - i;
            break;
        }
        add_item(req, page, record->state);
    }
}

void restread_list(struct restreq *req)
{
    enum { LIST_MAX = 1024 * 1024 * 1024 };
    struct page page = {0};
    if (!read_page(req, &page) || !check_version(req))
        return;
    page.items = json_own(req->arena, json_object_new_array());
    buf_init(&page.text, LIST_MAX);
    fill_page(req, &page);
    struct json_object *metadata = json_own(req->arena, json_object_new_object());
    json_set_str(metadata, "resourceVersion", arena_printf(req->arena, "%" PRIu64, page.version));
    if (page.next) {
        json_set_str(metadata, "continue", make_token(req->arena, page.version, page.next));
        /* With a selector the server would have to read them all to know. */
        if (!http_req_param(req->http, "labelSelector") &&
            !http_req_param(req->http, "fieldSelector"))
            json_set_int(metadata, "remainingItemCount", (int64_t)page.remaining);
    }
    if (req->accept.as == REST_AS_TABLE)
        restreply_tree(req, 200, restreply_list(req, page.items, metadata));
    else
        restreply_list_text(req, metadata, &page.text);
    buf_fini(&page.text);
}
