/* /version, /api, /apis and below: what kinds there are, for kubectl and client libraries. */
#include <string.h>

#include "api/rest.h"

struct listing {
    struct restreq *req;
    const char *group, *version;
    struct json_object *out;
    bool found;
};

static struct json_object *group_version(struct arena *arena, const struct objkind *kind,
                                         const char *version)
{
    struct json_object *obj = json_own(arena, json_object_new_object());
    json_set_str(obj, "groupVersion", objkind_api_version(arena, kind, version));
    json_set_str(obj, "version", version);
    return obj;
}

static bool has_version(struct json_object *list, const char *version)
{
    for (size_t i = 0; i < json_len(list); i++)
        if (strcmp(json_str_at(json_elem(list, i), "version", NULL), version) == 0)
            return true;
    return false;
}

/* Adds the versions of kind to its group in the list of groups. */
static void add_to_groups(void *arg, const struct objkind *kind)
{
    struct listing *listing = arg;
    struct arena *arena = listing->req->arena;
    struct json_object *group = NULL;
    if (!*kind->group || (listing->group && strcmp(listing->group, kind->group) != 0))
        return;
    for (size_t i = 0; i < json_len(listing->out) && !group; i++) {
        struct json_object *it = json_elem(listing->out, i);
        group = strcmp(json_str_at(it, "name", NULL), kind->group) == 0 ? it : NULL;
    }
    if (!group) {
        group = json_object_new_object();
        json_object_array_add(listing->out, group);
        json_set_str(group, "name", kind->group);
        json_set(group, "versions", json_own(arena, json_object_new_array()));
    }
    struct json_object *versions = json_at(group, "versions", NULL);
    for (const struct objversion *v = kind->versions; v->name; v++)
        if (v->served && !has_version(versions, v->name))
            json_object_array_add(versions, json_object_get(group_version(arena, kind, v->name)));
    if (json_len(versions) > 0)
        json_set(group, "preferredVersion", json_elem(versions, 0));
}

static void groups(struct restreq *req)
{
    struct listing listing = {.req = req};
    listing.out = json_own(req->arena, json_object_new_array());
    objstore_kinds(req->store, add_to_groups, &listing);
    struct json_object *out = json_own(req->arena, json_object_new_object());
    json_set_str(out, "kind", "APIGroupList");
    json_set_str(out, "apiVersion", "v1");
    json_set(out, "groups", listing.out);
    restreply_tree(req, 200, out);
}

static void one_group(struct restreq *req)
{
    struct listing listing = {.req = req, .group = req->path.group};
    listing.out = json_own(req->arena, json_object_new_array());
    objstore_kinds(req->store, add_to_groups, &listing);
    struct json_object *group = json_elem(listing.out, 0);
    if (!group) {
        restreply_error(req, 404, "NotFound", "the server could not find the requested resource");
        return;
    }
    struct json_object *out = json_own(req->arena, json_object_new_object());
    json_set_str(out, "kind", "APIGroup");
    json_set_str(out, "apiVersion", "v1");
    json_object_object_foreach(group, key, value)
    {
        json_set(out, key, value);
    }
    restreply_tree(req, 200, out);
}

static void core_versions(struct restreq *req)
{
    struct json_object *out = json_own(req->arena, json_object_new_object());
    struct json_object *versions = json_own(req->arena, json_object_new_array());
    struct json_object *addresses = json_own(req->arena, json_object_new_array());
    struct json_object *address = json_object_new_object();
    json_set_str(out, "kind", "APIVersions");
    json_object_array_add(versions, json_object_new_string("v1"));
    json_set(out, "versions", versions);
    json_set_str(address, "clientCIDR", "0.0.0.0/0");
    json_set_str(address, "serverAddress", http_req_header(req->http, "host") ?: "localhost");
    json_object_array_add(addresses, address);
    json_set(out, "serverAddressByClientCIDRs", addresses);
    restreply_tree(req, 200, out);
}

static struct json_object *texts(struct arena *arena, const char *const *list)
{
    struct json_object *out = json_own(arena, json_object_new_array());
    for (; *list; list++)
        json_object_array_add(out, json_object_new_string(*list));
    return out;
}

static void add_sub(struct listing *listing, const struct objkind *kind, const char *sub,
                    const char *const *verbs, const char *group, const char *version,
                    const char *as_kind)
{
    struct arena *arena = listing->req->arena;
    struct json_object *item = json_object_new_object();
    json_object_array_add(listing->out, item);
    json_set_str(item, "name", arena_printf(arena, "%s/%s", kind->plural, sub));
    json_set_str(item, "singularName", "");
    json_set_bool(item, "namespaced", objkind_namespaced(kind));
    json_set_str(item, "group", group);
    json_set_str(item, "version", version);
    json_set_str(item, "kind", as_kind);
    json_set(item, "verbs", texts(arena, verbs));
}

static void add_resource(void *arg, const struct objkind *kind)
{
    static const char *const all[] = {
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch", NULL};
    static const char *const on_sub[] = {"get", "patch", "update", NULL};
    static const char *const only_get[] = {"get", NULL};
    struct listing *listing = arg;
    struct arena *arena = listing->req->arena;
    const struct objversion *version = objkind_version(kind, listing->version);
    if (strcmp(kind->group, listing->group) != 0 || !version || !version->served)
        return;
    listing->found = true;
    struct json_object *item = json_object_new_object();
    json_object_array_add(listing->out, item);
    json_set_str(item, "name", kind->plural);
    json_set_str(item, "singularName", kind->singular);
    json_set_bool(item, "namespaced", objkind_namespaced(kind));
    json_set_str(item, "kind", kind->kind);
    json_set(item, "verbs", texts(arena, all));
    if (kind->short_names[0])
        json_set(item, "shortNames", texts(arena, kind->short_names));
    if (kind->categories[0])
        json_set(item, "categories", texts(arena, kind->categories));
    if (version->flags & OBJKIND_STATUS)
        add_sub(listing, kind, "status", on_sub, NULL, NULL, kind->kind);
    if (version->scale.spec_replicas)
        add_sub(listing, kind, "scale", on_sub, "autoscaling", "v1", "Scale");
    if (strcmp(kind->kind, "Pod") == 0 && !*kind->group)
        add_sub(listing, kind, "log", only_get, NULL, NULL, "Pod");
}

static void resources(struct restreq *req)
{
    struct listing listing = {.req = req, .group = req->path.group, .version = req->path.version};
    listing.out = json_own(req->arena, json_object_new_array());
    objstore_kinds(req->store, add_resource, &listing);
    if (!listing.found) {
        restreply_error(req, 404, "NotFound", "the server could not find the requested resource");
        return;
    }
    struct json_object *out = json_own(req->arena, json_object_new_object());
    json_set_str(out, "kind", "APIResourceList");
    json_set_str(out, "apiVersion", "v1");
    json_set_str(out, "groupVersion",
                 *req->path.group
                     ? arena_printf(req->arena, "%s/%s", req->path.group, req->path.version)
                     : req->path.version);
    json_set(out, "resources", listing.out);
    restreply_tree(req, 200, out);
}

static void version(struct restreq *req)
{
    static const char *const info[][2] = {
        {"major", "1"},
        {"minor", "32"},
        {"gitVersion", "v1.32.0-sandbox"},
        {"gitCommit", "0000000000000000000000000000000000000000"},
        {"gitTreeState", "clean"},
        {"buildDate", "2025-01-01T00:00:00Z"},
        {"goVersion", "none"},
        {"compiler", "cc"},
        {"platform", "linux/amd64"},
    };
    struct json_object *out = json_own(req->arena, json_object_new_object());
    for (size_t i = 0; i < sizeof(info) / sizeof(info[0]); i++)
        json_set_str(out, info[i][0], info[i][1]);
    restreply_tree(req, 200, out);
}

/* A document without a schema: kubectl then leaves it to the server what an object may hold. In
 * protobuf, the one form that kubectl asks for: swagger "2.0". */
static void openapi(struct restreq *req)
{
    static const char document[] = "\x0a\x03"
                                   "2.0";
    restreply_done(req, 200);
    http_reply(req->http, 200, "application/octet-stream", document, sizeof(document) - 1);
}

bool restdiscovery(struct restreq *req)
{
    const struct restpath *path = &req->path;
    bool health = strcmp(path->full, "/healthz") == 0 || strcmp(path->full, "/livez") == 0 ||
                  strcmp(path->full, "/readyz") == 0;
    if (health) {
        restreply_done(req, 200);
        http_reply_text(req->http, 200, "ok");
    } else if (strcmp(path->full, "/version") == 0) {
        version(req);
    } else if (strcmp(path->full, "/api") == 0) {
        core_versions(req);
    } else if (strcmp(path->full, "/apis") == 0) {
        groups(req);
    } else if (strcmp(path->full, "/openapi/v2") == 0) {
        openapi(req);
    } else if (path->group && !path->version) {
        one_group(req);
    } else if (path->group && !path->plural) {
        resources(req);
    } else {
        return false;
    }
    return true;
}
