/* Who asks, by his token; and what a ServiceAccount may do, by the rules of RBAC. */
#include "api/apiauth.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "object/form.h"
#include "object/meta.h"

static const char rbac_group[] = "rbac.authorization.k8s.io";

/* ---- tokens ---- */

/* A ServiceAccount; name NULL: somebody else. */
struct account {
    const char *ns, *name;
};

static bool is_token(const char *given, const char *token)
{
    size_t len = strlen(token);
    return strlen(given) == len && CRYPTO_memcmp(given, token, len) == 0;
}

/* "NAMESPACE/NAME/UID.SIGNATURE": to clients it means nothing. */
static const char *make_token(struct restreq *req, const char *ns, const char *name)
{
    const struct objkind *kind = objstore_kind(req->store, "", "serviceaccounts");
    struct json_object *account = objstore_get(req->store, kind, ns, name);
    if (!account)
        return NULL;
    const char *text = arena_printf(req->arena, "%s/%s/%s", ns, name, meta_uid(account));
    unsigned char code[EVP_MAX_MD_SIZE];
    char hex[2 * sizeof(code) + 1] = "";
    unsigned len = 0;
    HMAC(EVP_sha256(), req->api->token, (int)strlen(req->api->token), (const unsigned char *)text,
         strlen(text), code, &len);
    for (unsigned i = 0; i < len; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", code[i]);
    return arena_printf(req->arena, "%s.%s", text, hex);
}

static struct account account_of(struct restreq *req, const char *given)
{
    const char *ns_end = strchr(given, '/');
    const char *name_end = ns_end ? strchr(ns_end + 1, '/') : NULL;
    if (!name_end)
        return (struct account){0};
    struct account out = {
        .ns = arena_strndup(req->arena, given, (size_t)(ns_end - given)),
        .name = arena_strndup(req->arena, ns_end + 1, (size_t)(name_end - ns_end - 1)),
    };
    const char *token = make_token(req, out.ns, out.name);
    return token && is_token(given, token) ? out : (struct account){0};
}

void apiauth_token(struct restreq *req)
{
    enum { LIFE_S = 3600 };
    const char *token = make_token(req, req->path.ns, req->path.name);
    if (!token) {
        restreply_not_found(req);
        return;
    }
    restreply_tree(
        req, 201,
        form(req->arena,
             "{kind: TokenRequest, apiVersion: authentication.k8s.io/v1, metadata: {name: %s, "
             "namespace: %s}, spec: {expirationSeconds: %d}, status: {token: %s, "
             "expirationTimestamp: %s}}",
             req->path.name, req->path.ns, LIFE_S, token,
             meta_time(req->arena, clock_wall_ms() + 1000LL * LIFE_S)));
}

/* ---- RBAC ---- */

static bool lists(struct json_object *list, const char *text)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_elem(list, i));
        if (one && (strcmp(one, "*") == 0 || strcmp(one, text) == 0))
            return true;
    }
    return false;
}

static bool rule_fits(const struct restreq *req, struct json_object *rule)
{
    const struct restpath *path = &req->path;
    struct json_object *resources = json_at(rule, "resources", NULL);
    struct json_object *names = json_at(rule, "resourceNames", NULL);
    const char *resource =
        path->sub ? arena_printf(req->arena, "%s/%s", path->plural, path->sub) : path->plural;
    const char *of_all = path->sub ? arena_printf(req->arena, "*/%s", path->sub) : resource;
    return lists(json_at(rule, "apiGroups", NULL), path->group) &&
           (lists(resources, resource) || lists(resources, of_all)) &&
           lists(json_at(rule, "verbs", NULL), restverb_name(req->verb)) &&
           (json_len(names) == 0 || (path->name && lists(names, path->name)));
}

static bool is_subject(const struct restreq *req, struct account who, struct json_object *subject)
{
    const char *kind = json_str_at(subject, "kind", NULL),
               *ns = json_str_at(subject, "namespace", NULL);
    const char *name = json_str_at(subject, "name", NULL);
    if (!kind || !name)
        return false;
    if (strcmp(kind, "ServiceAccount") == 0)
        return ns && strcmp(ns, who.ns) == 0 && strcmp(name, who.name) == 0;
    if (strcmp(kind, "User") == 0)
        return strcmp(name, arena_printf(req->arena, "system:serviceaccount:%s:%s", who.ns,
                                         who.name)) == 0;
    return strcmp(kind, "Group") == 0 &&
           (strcmp(name, "system:authenticated") == 0 ||
            strcmp(name, "system:serviceaccounts") == 0 ||
            strcmp(name, arena_printf(req->arena, "system:serviceaccounts:%s", who.ns)) == 0);
}

/* Whether a binding, which is in that namespace or in none, gives him the right to what is asked. */
static bool binding_allows(const struct restreq *req, struct account who,
                           struct json_object *binding, const char *ns)
{
    struct json_object *subjects = json_at(binding, "subjects", NULL);
    const char *kind = json_str_at(binding, "roleRef", "kind", NULL);
    const char *name = json_str_at(binding, "roleRef", "name", NULL);
    bool bound = false;
    for (size_t i = 0; i < json_len(subjects) && !bound; i++)
        bound = is_subject(req, who, json_elem(subjects, i));
    if (!bound || !kind || !name)
        return false;
    bool wide = strcmp(kind, "ClusterRole") == 0;
    struct json_object *role = objstore_get(
        req->store, objstore_kind(req->store, rbac_group, wide ? "clusterroles" : "roles"),
        wide ? NULL : ns, name);
    struct json_object *rules = json_at(role, "rules", NULL);
    for (size_t i = 0; i < json_len(rules); i++)
        if (rule_fits(req, json_elem(rules, i)))
            return true;
    return false;
}

static bool bindings_allow(const struct restreq *req, struct account who, const char *plural,
                           const char *ns)
{
    struct json_object **items;
    size_t count = objstore_list(req->store, req->arena,
                                 objstore_kind(req->store, rbac_group, plural), ns, &items);
    for (size_t i = 0; i < count; i++)
        if (binding_allows(req, who, items[i], ns))
            return true;
    return false;
}

static bool is_read(const struct restreq *req)
{
    return req->verb == REST_GET || req->verb == REST_LIST || req->verb == REST_WATCH;
}

/* What is no resource is discovery, which every account may read. */
static bool account_may(const struct restreq *req, struct account who)
{
    if (!req->path.resource || !req->path.plural)
        return is_read(req) && strncmp(req->path.full, "/sandbox/", 9) != 0;
    /* A Namespace lies in itself. */
    bool itself = !req->path.ns && !*req->path.group && strcmp(req->path.plural, "namespaces") == 0;
    const char *ns = itself ? req->path.name : req->path.ns;
    return bindings_allow(req, who, "clusterrolebindings", NULL) ||
           (ns && bindings_allow(req, who, "rolebindings", ns));
}

/* ---- the answer ---- */

static bool forbid(struct restreq *req, const char *user)
{
    const struct restpath *path = &req->path;
    struct arena *arena = req->arena;
    if (!path->resource)
        return restreply_error(req, 403, "Forbidden",
                               "forbidden: User \"%s\" cannot %s path \"%s\"", user,
                               restverb_name(req->verb), path->full);
    const char *resource =
        *path->group ? arena_printf(arena, "%s.%s", path->plural, path->group) : path->plural;
    return restreply_error(
        req, 403, "Forbidden",
        "%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s%s%s\" in API group \"%s\" %s",
        resource, path->name ? " \"" : "",
        path->name ? arena_printf(arena, "%s\"", path->name) : "", user, restverb_name(req->verb),
        path->plural, path->sub ? "/" : "", path->sub ? path->sub : "", path->group,
        path->ns ? arena_printf(arena, "in the namespace \"%s\"", path->ns)
                 : "at the cluster scope");
}

static bool is_open_path(const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0 ||
           strcmp(path, "/readyz") == 0 || strcmp(path, "/version") == 0;
}

bool apiauth_allows(struct restreq *req)
{
    static const char scheme[] = "Bearer ";
    const char *header = http_req_header(req->http, "authorization");
    bool bearer = header && strncmp(header, scheme, sizeof(scheme) - 1) == 0;
    const char *given = bearer ? header + sizeof(scheme) - 1 : "";
    if (is_open_path(req->path.full) || is_token(given, req->api->token))
        return true;
    if (is_token(given, req->api->readonly_token))
        return is_read(req) || forbid(req, "readonly");
    struct account who = account_of(req, given);
    if (!who.name)
        return restreply_error(req, 401, "Unauthorized", "Unauthorized");
    return account_may(req, who) ||
           forbid(req, arena_printf(req->arena, "system:serviceaccount:%s:%s", who.ns, who.name));
}
