/* /version, /api, /apis and below: what kinds there are, for kubectl and client libraries. */
#include <string.h>

#include "api/rest.h"
#include "object/form.h"
#include "object/meta.h"

struct listing {
    struct restreq *req;
    const char *group, *version;
    struct json_object *out;
};

static void not_found(struct restreq *req)
{
    restreply_error(req, 404, "NotFound", "the server could not find the requested resource");
}

/* Adds the versions of kind to its group in the list of groups. */
static void add_to_groups(void *arg, const struct objkind *kind)
{
    struct listing *listing = arg;
    struct arena *arena = listing->req->arena;
    if (!*kind->group || (listing->group && strcmp(listing->group, kind->group) != 0))
        return;
    struct json_object *group = meta_item(listing->out, "name", kind->group);
    if (!group) {
        group = form(arena, "{name: %s, versions: []}", kind->group);
        form_add(listing->out, group);
    }
    struct json_object *versions = json_at(group, "versions", NULL);
    for (const struct objversion *v = kind->versions; v->name; v++)
        if (v->served && !meta_item(versions, "version", v->name))
            form_add(versions, form(arena, "{groupVersion: %s, version: %s}",
                                    objkind_api_version(arena, kind, v->name), v->name));
    if (json_len(versions) > 0)
        json_set(group, "preferredVersion", json_elem(versions, 0));
}

static void groups(struct restreq *req)
{
    struct listing listing = {.req = req, .group = req->path.group, .out = form(req->arena, "[]")};
    objstore_kinds(req->store, add_to_groups, &listing);
    if (!listing.group) {
        restreply_tree(
            req, 200,
            form(req->arena, "{kind: APIGroupList, apiVersion: v1, groups: %p}", listing.out));
    } else if (json_len(listing.out) > 0) {
        struct json_object *group = json_elem(listing.out, 0);
        json_set_str(group, "kind", "APIGroup");
        json_set_str(group, "apiVersion", "v1");
        restreply_tree(req, 200, group);
    } else {
        not_found(req);
    }
}

static void core_versions(struct restreq *req)
{
    restreply_tree(req, 200,
                   form(req->arena,
                        "{kind: APIVersions, versions: [v1], serverAddressByClientCIDRs: "
                        "[{clientCIDR: 0.0.0.0/0, serverAddress: %s}]}",
                        http_req_header(req->http, "host") ?: "localhost"));
}

static struct json_object *texts(struct arena *arena, const char *const *list)
{
    struct json_object *out = *list ? form(arena, "[]") : NULL;
    for (; *list; list++)
        json_object_array_add(out, json_object_new_string(*list));
    return out;
}

static void add_sub(struct listing *listing, const struct objkind *kind, const char *sub,
                    const char *group, const char *version, const char *as_kind)
{
    struct arena *arena = listing->req->arena;
    struct json_object *verbs = strcmp(sub, "log") == 0 ? form(arena, "[get]")
                                : strcmp(sub, "eviction") == 0
                                    ? form(arena, "[create]")
                                    : form(arena, "[get, patch, update]");
    form_add(listing->out,
             form(arena,
                  "{name: %s, singularName: '', namespaced: %i, group: %s, version: %s, kind: %s, "
                  "verbs: %p}",
                  arena_printf(arena, "%s/%s", kind->plural, sub), objkind_namespaced(kind), group,
                  version, as_kind, verbs));
}

static void add_resource(void *arg, const struct objkind *kind)
{
    struct listing *listing = arg;
    struct arena *arena = listing->req->arena;
    const struct objversion *version = objkind_version(kind, listing->version);
    if (strcmp(kind->group, listing->group) != 0 || !version || !version->served)
        return;
    form_add(listing->out,
             form(arena,
                  "{name: %s, singularName: %s, namespaced: %i, kind: %s, verbs: [create, delete, "
                  "deletecollection, get, list, patch, update, watch], shortNames: %p, "
                  "categories: %p}",
                  kind->plural, kind->singular, objkind_namespaced(kind), kind->kind,
                  texts(arena, kind->short_names), texts(arena, kind->categories)));
    if (version->flags & OBJKIND_STATUS)
        add_sub(listing, kind, "status", NULL, NULL, kind->kind);
    if (version->scale.spec_replicas)
        add_sub(listing, kind, "scale", "autoscaling", "v1", "Scale");
    if (strcmp(kind->kind, "Pod") != 0 || *kind->group)
        return;
    add_sub(listing, kind, "log", NULL, NULL, "Pod");
    add_sub(listing, kind, "eviction", "policy", "v1", "Eviction");
}

static void resources(struct restreq *req)
{
    const char *group = req->path.group, *version = req->path.version;
    struct listing listing = {
        .req = req, .group = group, .version = version, .out = form(req->arena, "[]")};
    objstore_kinds(req->store, add_resource, &listing);
    if (json_len(listing.out) == 0)
        not_found(req);
    else
        restreply_tree(
            req, 200,
            form(req->arena,
                 "{kind: APIResourceList, apiVersion: v1, groupVersion: %s, resources: %p}",
                 *group ? arena_printf(req->arena, "%s/%s", group, version) : version,
                 listing.out));
}

static void version(struct restreq *req)
{
    restreply_tree(
        req, 200,
        form(req->arena,
             "{major: '1', minor: '32', gitVersion: v1.32.0-sandbox, gitCommit: "
             "'0000000000000000000000000000000000000000', gitTreeState: clean, buildDate: "
             "'2025-01-01T00:00:00Z', goVersion: none, compiler: cc, platform: linux/amd64}"));
}

/* A document without a schema: kubectl then leaves it to the server what an object may hold. In
 * protobuf, the one form that kubectl asks for: swagger "2.0". */
static void openapi(struct restreq *req)
{
    static const char document[] = "\x0a\x03"
                                   "2.0";
    http_reply(req->http, 200, "application/octet-stream", document, sizeof(document) - 1);
}

bool restdiscovery(struct restreq *req)
{
    const struct restpath *path = &req->path;
    bool health = strcmp(path->full, "/healthz") == 0 || strcmp(path->full, "/livez") == 0 ||
                  strcmp(path->full, "/readyz") == 0;
    if (health) {
        http_reply_text(req->http, 200, "ok");
    } else if (strcmp(path->full, "/version") == 0) {
        version(req);
    } else if (strcmp(path->full, "/api") == 0) {
        core_versions(req);
    } else if (strcmp(path->full, "/apis") == 0 || (path->group && !path->version)) {
        groups(req);
    } else if (strcmp(path->full, "/openapi/v2") == 0) {
        openapi(req);
    } else if (path->group && !path->plural) {
        resources(req);
    } else {
        return false;
    }
    return true;
}
