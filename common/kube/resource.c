#include "kube/resource.h"

#include <string.h>

#include "base/json.h"
#include "kube/kept_object.h"
#include "net/client.h"

const struct kube_resource kube_deployments = {
    .group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment"};
const struct kube_resource kube_daemonsets = {
    .group = "apps", .version = "v1", .plural = "daemonsets", .kind = "DaemonSet"};
const struct kube_resource kube_replicasets = {
    .group = "apps", .version = "v1", .plural = "replicasets", .kind = "ReplicaSet"};
const struct kube_resource kube_controllerrevisions = {.group = "apps",
                                                       .version = "v1",
                                                       .plural = "controllerrevisions",
                                                       .kind = "ControllerRevision"};
const struct kube_resource kube_services = {
    .group = "", .version = "v1", .plural = "services", .kind = "Service"};
const struct kube_resource kube_configmaps = {
    .group = "", .version = "v1", .plural = "configmaps", .kind = "ConfigMap"};
const struct kube_resource kube_secrets = {
    .group = "", .version = "v1", .plural = "secrets", .kind = "Secret"};
const struct kube_resource kube_events = {
    .group = "", .version = "v1", .plural = "events", .kind = "Event"};
/* Before Kubernetes 1.23. */
static const struct kube_version also_hpas[] = {{"autoscaling", "v2beta2"}, {NULL, NULL}};
const struct kube_resource kube_hpas = {.group = "autoscaling",
                                        .version = "v2",
                                        .plural = "horizontalpodautoscalers",
                                        .kind = "HorizontalPodAutoscaler",
                                        .scales = true,
                                        .also = also_hpas};
const struct kube_resource kube_scaledobjects = {.group = "keda.sh",
                                                 .version = "v1alpha1",
                                                 .plural = "scaledobjects",
                                                 .kind = "ScaledObject",
                                                 .scales = true};
const struct kube_resource kube_leases = {
    .group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"};
const struct kube_resource kube_knative_services = {.group = "serving.knative.dev",
                                                    .version = "v1",
                                                    .plural = "services",
                                                    .kind = "Service",
                                                    .news = "latestCreatedRevisionName"};
const struct kube_resource kube_knative_revisions = {
    .group = "serving.knative.dev", .version = "v1", .plural = "revisions", .kind = "Revision"};

const char *kube_api_version(struct arena *arena, const struct kube_resource *resource)
{
    if (!resource->group[0])
        return arena_strdup(arena, resource->version);
    return arena_printf(arena, "%s/%s", resource->group, resource->version);
}

const char *kube_path(struct arena *arena, const struct kube_resource *resource,
                      const char *namespace_, const char *name, const char *sub)
{
    const char *root = resource->group[0] ? "/apis" : "/api";
    const char *path = arena_printf(arena, "%s/%s", root, kube_api_version(arena, resource));

    if (namespace_ && !resource->cluster_scoped)
        path = arena_printf(arena, "%s/namespaces/%s", path, url_encode(arena, namespace_));
    path = arena_printf(arena, "%s/%s", path, resource->plural);
    if (name)
        path = arena_printf(arena, "%s/%s", path, url_encode(arena, name));
    if (name && sub)
        path = arena_printf(arena, "%s/%s", path, sub);
    return path;
}

bool kube_resource_same(const struct kube_resource *a, const struct kube_resource *b)
{
    return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->plural, b->plural) == 0;
}

static bool is_part(const char *text, size_t len)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

    return len > 0 && strspn(text, inner) >= len && text[0] != '-' && text[len - 1] != '-';
}

bool kube_is_label(const char *text)
{
    enum { LONGEST = 63 };
    size_t len = strlen(text);

    return len <= LONGEST && is_part(text, len);
}

bool kube_is_name(const char *text)
{
    enum { LONGEST = 253 };

    if (strlen(text) > LONGEST)
        return false;
    for (;; text++) {
        size_t len = strcspn(text, ".");
        if (!is_part(text, len))
            return false;
        text += len;
        if (!*text)
            return true;
    }
}

enum { MAX_DIGITS = 18 }; /* fewer than the bits of a mark */

static const uint64_t NO_NUMBER = UINT64_C(1) << 63;

uint64_t version_mark(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    uint64_t number = 0;

    if (len == 0 || len > MAX_DIGITS || text[0] == '0' || text[strspn(text, "0123456789")])
        return name_hash(NULL, text) | NO_NUMBER;
    for (size_t i = 0; i < len; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    return number;
}

uint64_t version_number(uint64_t mark)
{
    return mark & NO_NUMBER ? 0 : mark;
}

struct term {
    const char *key;
    bool present, absent; /* neither: the value is one of values, or none of them if `other` */
    bool other;
    struct json_object *values; /* array */
};

struct selector {
    const char *text;
    bool nothing;
    size_t count;
    struct term terms[SELECTOR_MAX_TERMS];
};

#define LOWER   "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool selector_is_value(const char *text)
{
    enum { LONGEST = 63 };
    size_t len = strlen(text);

    if (len == 0)
        return true;
    return len <= LONGEST && strspn(text, LETTERS "-_.") == len && strchr(LETTERS, text[0]) &&
           strchr(LETTERS, text[len - 1]);
}

bool selector_is_key(const char *text)
{
    enum { LONGEST_PREFIX = 253 };
    const char *slash = strchr(text, '/'), *name = slash ? slash + 1 : text;
    size_t prefix = slash ? (size_t)(slash - text) : 1;

    if (prefix == 0 || prefix > LONGEST_PREFIX || (slash && strspn(text, LOWER "-.") != prefix))
        return false;
    return *name && selector_is_value(name);
}

struct parser {
    struct arena *arena;
    const char *p;
};

/* A key, a value or a word such as "in", up to a character of `end`; may be empty. */
static const char *read_word(struct parser *s, const char *end)
{
    s->p += strspn(s->p, " ");
    size_t len = strcspn(s->p, end);
    const char *word = arena_strndup(s->arena, s->p, len);
    s->p += len;
    s->p += strspn(s->p, " ");
    return word;
}

static bool take(struct parser *s, const char *sign)
{
    size_t len = strlen(sign);
    bool found = strncmp(s->p, sign, len) == 0;

    s->p += found ? len : 0;
    return found;
}

static void add_value(struct term *term, const char *value)
{
    json_object_array_add(term->values, json_object_new_string(value));
}

/* "= value" or "!= value"; returns false if neither follows. */
static bool read_equal(struct parser *s, struct term *term, const char *end)
{
    term->other = take(s, "!=");
    if (!term->other && !take(s, "==") && !take(s, "="))
        return false;
    add_value(term, read_word(s, end));
    return true;
}

/* "in (a, b)" or "notin (a, b)" */
static bool read_set(struct parser *s, struct term *term)
{
    const char *word = read_word(s, " (");

    term->other = strcmp(word, "notin") == 0;
    if ((!term->other && strcmp(word, "in") != 0) || *s->p != '(')
        return false;
    do {
        s->p++;
        add_value(term, read_word(s, " ,)"));
    } while (*s->p == ',');
    bool closed = take(s, ")");
    s->p += strspn(s->p, " ");
    return closed;
}

static bool read_term(struct parser *s, struct term *term)
{
    static const char end[] = " =!(),";

    s->p += strspn(s->p, " ");
    term->absent = take(s, "!");
    term->key = read_word(s, end);
    term->present = !term->absent && (!*s->p || *s->p == ',');
    if (!selector_is_key(term->key))
        return false;
    if (!term->present && !term->absent && !read_equal(s, term, end) && !read_set(s, term))
        return false;
    for (size_t i = 0; i < json_len(term->values); i++)
        if (!selector_is_value(json_object_get_string(json_elem(term->values, i))))
            return false;
    return !*s->p || (*s->p == ',' && s->p[1]);
}

enum err selector_parse(struct arena *arena, const char *text, const struct selector **out,
                        struct errinfo *ei)
{
    struct parser s = {.arena = arena, .p = text ? text : ""};
    struct selector *selector = ARENA_NEW(arena, struct selector);

    *out = selector;
    selector->text = arena_strdup(arena, s.p);
    selector->nothing = !text;
    s.p += strspn(s.p, " ");
    while (*s.p) {
        if (selector->count == SELECTOR_MAX_TERMS)
            return err_set(ei, ERR_INVALID, "a selector has at most %d requirements",
                           SELECTOR_MAX_TERMS);
        struct term *term = &selector->terms[selector->count++];
        *term = (struct term){.values = json_own(arena, json_object_new_array())};
        if (!read_term(&s, term))
            return err_set(ei, ERR_INVALID, "unable to parse selector \"%s\" at \"%s\"", text, s.p);
        s.p += *s.p == ',';
    }
    return ERR_OK;
}

const char *selector_text(const struct selector *selector)
{
    return selector->text;
}

static bool term_matches(const struct term *term, const char *value)
{
    bool found = false;

    if (term->present || term->absent)
        return term->present == (value != NULL);
    for (size_t i = 0; value && i < json_len(term->values); i++)
        found |= strcmp(json_object_get_string(json_elem(term->values, i)), value) == 0;
    return found != term->other;
}

bool selector_match(const struct selector *selector, struct json_object *labels)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!term_matches(&selector->terms[i], json_str_at(labels, selector->terms[i].key, NULL)))
            return false;
    return !selector->nothing;
}
