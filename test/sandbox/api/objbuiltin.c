/* The built-in kinds: those of kinds.yaml, with what a schema cannot say of them. */
#include "api/objkind.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/yaml.h"
#include "object/form.h"
#include "object/schema.h"
#include "object/selector.h"

extern const char objbuiltin_kinds[]; /* kinds.yaml */

#define PATH(...) arena_printf(fail->arena, __VA_ARGS__)

static struct json_object *read_file(struct arena *arena)
{
    enum { MAX_BYTES = 1024 * 1024 };
    struct json_object *docs = NULL;
    struct errinfo ei = {0};
    enum err err = yaml_parse(arena, "kinds.yaml", objbuiltin_kinds, strlen(objbuiltin_kinds),
                              MAX_BYTES, &docs, &ei);
    assert(err == ERR_OK);
    return json_elem(docs, 0);
}

static bool is_str(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

static void fill(struct json_object *obj, const char *key, struct json_object *value)
{
    if (value && !json_at(obj, key, NULL))
        json_set(obj, key, value);
}

static void fill_str(struct json_object *obj, const char *key, const char *value)
{
    if (!json_at(obj, key, NULL))
        json_set_str(obj, key, value);
}

static struct json_object *object_at(struct json_object *obj, const char *key)
{
    struct json_object *found = json_at(obj, key, NULL);
    return json_object_is_type(found, json_type_object) ? found : NULL;
}

/* ---- defaults ---- */

static void fill_namespace(struct json_object *obj, struct json_object *old)
{
    (void)old;
    struct json_object *metadata = json_sub(obj, "metadata");
    json_set_str(json_sub(metadata, "labels"), "kubernetes.io/metadata.name",
                 json_str_at(metadata, "name", NULL));
}

/* What the server allocated stays when a client leaves it out, as kubectl replace does. */
static void fill_service(struct json_object *obj, struct json_object *old)
{
    static const char *const allocated[] = {"clusterIP", "clusterIPs", "ipFamilies",
                                            "ipFamilyPolicy"};
    struct json_object *spec = object_at(obj, "spec"), *ports = json_at(spec, "ports", NULL);
    bool external = is_str(json_str_at(spec, "type", NULL), "ExternalName");
    for (size_t i = 0; spec && !external && i < sizeof(allocated) / sizeof(allocated[0]); i++)
        fill(spec, allocated[i], json_at(old, "spec", allocated[i], NULL));
    if (spec && !external)
        fill_str(spec, "internalTrafficPolicy", "Cluster");
    for (size_t i = 0; i < json_len(ports); i++)
        if (json_object_is_type(json_elem(ports, i), json_type_object))
            fill(json_elem(ports, i), "targetPort", json_at(json_elem(ports, i), "port", NULL));
}

/* stringData is write-only: it goes into data and is not kept. */
static void fill_secret(struct json_object *obj, struct json_object *old)
{
    struct json_object *plain = object_at(obj, "stringData");
    (void)old;
    if (plain) {
        struct arena *arena = arena_new();
        struct json_object *data = json_sub(obj, "data");
        json_object_object_foreach(plain, key, value)
        {
            const char *text = json_object_get_string(value) ?: "";
            json_set_str(data, key, base64_encode(arena, text, strlen(text)));
        }
        arena_free(arena);
    }
    json_object_object_del(obj, "stringData");
}

/* The limits of a rolling update, where it is one; a volume that says nothing else is empty. */
static void fill_workload(struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = object_at(obj, "spec");
    struct json_object *volumes = json_at(spec, "template", "spec", "volumes", NULL);
    struct json_object *deployment = object_at(spec, "strategy");
    struct json_object *daemon = object_at(spec, "updateStrategy");
    (void)old;
    if (deployment && is_str(json_str_at(deployment, "type", NULL), "RollingUpdate")) {
        fill_str(json_sub(deployment, "rollingUpdate"), "maxUnavailable", "25%");
        fill_str(json_sub(deployment, "rollingUpdate"), "maxSurge", "25%");
    }
    if (daemon && is_str(json_str_at(daemon, "type", NULL), "RollingUpdate")) {
        struct json_object *rolling = json_sub(daemon, "rollingUpdate");
        if (!json_at(rolling, "maxUnavailable", NULL))
            json_set_int(rolling, "maxUnavailable", 1);
        if (!json_at(rolling, "maxSurge", NULL))
            json_set_int(rolling, "maxSurge", 0);
    }
    for (size_t i = 0; i < json_len(volumes); i++)
        if (json_object_is_type(json_elem(volumes, i), json_type_object) &&
            json_object_object_length(json_elem(volumes, i)) == 1)
            json_sub(json_elem(volumes, i), "emptyDir");
}

static void fill_crd(struct json_object *obj, struct json_object *old)
{
    struct json_object *names = json_at(obj, "spec", "names", NULL);
    const char *kind = json_str_at(names, "kind", NULL);
    (void)old;
    if (!kind)
        return;
    struct arena *arena = arena_new();
    char *singular = arena_strdup(arena, kind);
    for (char *c = singular; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    fill_str(names, "listKind", arena_printf(arena, "%sList", kind));
    fill_str(names, "singular", singular);
    arena_free(arena);
}

/* ---- what is refused ---- */

static void immutable(struct objfail *fail, struct json_object *value, struct json_object *before,
                      const char *field)
{
    if (before && !json_same(value, before))
        objfail_cause(fail, CAUSE_INVALID, field, "Invalid value: %s: field is immutable",
                      json_text(fail->arena, value));
}

static void check_service(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_at(obj, "spec", NULL), *ports = json_at(spec, "ports", NULL);
    const char *external = json_str_at(spec, "externalName", NULL);
    if (is_str(json_str_at(spec, "type", NULL), "ExternalName")) {
        if (!external || !*external)
            objfail_cause(fail, CAUSE_REQUIRED, "spec.externalName", "Required value");
        return;
    }
    if (json_len(ports) == 0 && !is_str(json_str_at(spec, "clusterIP", NULL), "None"))
        objfail_cause(fail, CAUSE_REQUIRED, "spec.ports", "Required value");
    for (size_t i = 0; json_len(ports) > 1 && i < json_len(ports); i++)
        if (!json_str_at(json_elem(ports, i), "name", NULL))
            objfail_cause(fail, CAUSE_REQUIRED, PATH("spec.ports[%zu].name", i), "Required value");
    immutable(fail, json_at(spec, "clusterIP", NULL), json_at(old, "spec", "clusterIP", NULL),
              "spec.clusterIP");
}

static void check_event(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    const char *own = json_str_at(obj, "metadata", "namespace", NULL);
    const char *of = json_str_at(obj, "involvedObject", "namespace", NULL);
    (void)old;
    if (!is_str(own, of && *of ? of : "default"))
        objfail_cause(fail, CAUSE_INVALID, "involvedObject.namespace",
                      "Invalid value: \"%s\": does not match event.namespace", of ? of : "");
}

static bool has_volume(struct json_object *spec, const char *name)
{
    struct json_object *volumes = json_at(spec, "volumes", NULL);
    for (size_t i = 0; i < json_len(volumes); i++)
        if (is_str(json_str_at(json_elem(volumes, i), "name", NULL), name))
            return true;
    return false;
}

static void check_mounts(struct objfail *fail, struct json_object *spec)
{
    struct json_object *containers = json_at(spec, "containers", NULL);
    for (size_t c = 0; c < json_len(containers); c++) {
        struct json_object *mounts = json_at(json_elem(containers, c), "volumeMounts", NULL);
        for (size_t i = 0; i < json_len(mounts); i++) {
            const char *name = json_str_at(json_elem(mounts, i), "name", NULL);
            if (name && !has_volume(spec, name))
                objfail_cause(
                    fail, CAUSE_NOT_FOUND,
                    PATH("spec.template.spec.containers[%zu].volumeMounts[%zu].name", c, i),
                    "Not found: \"%s\"", name);
        }
    }
}

static void check_workload(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *selector = json_at(spec, "selector", NULL);
    struct json_object *labels = json_at(spec, "template", "metadata", "labels", NULL);
    const struct selector *compiled = NULL;
    struct errinfo ei;
    check_mounts(fail, json_at(spec, "template", "spec", NULL));
    if (!selector)
        return;
    if (selector_from_object(fail->arena, selector, &compiled, &ei) != ERR_OK) {
        objfail_cause(fail, CAUSE_INVALID, "spec.selector", "Invalid value: %s: %s",
                      json_text(fail->arena, selector), ei.text);
    } else if (!selector_match(compiled, labels)) {
        objfail_cause(fail, CAUSE_INVALID, "spec.template.metadata.labels",
                      "Invalid value: %s: `selector` does not match template `labels`",
                      labels ? json_text(fail->arena, labels) : "null");
    }
    immutable(fail, selector, json_at(old, "spec", "selector", NULL), "spec.selector");
}

static void check_hpa(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    int64_t max = json_int_at(obj, 0, "spec", "maxReplicas", NULL);
    (void)old;
    if (max < json_int_at(obj, 1, "spec", "minReplicas", NULL))
        objfail_cause(fail, CAUSE_INVALID, "spec.maxReplicas",
                      "Invalid value: %lld: must be greater than or equal to `minReplicas`",
                      (long long)max);
}

static void check_crd(struct objfail *fail, struct json_object *obj, struct json_object *old)
{
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *versions = json_at(spec, "versions", NULL);
    const char *name = json_str_at(obj, "metadata", "name", NULL);
    const char *expected = PATH("%s.%s", json_str_at(spec, "names", "plural", NULL) ?: "",
                                json_str_at(spec, "group", NULL) ?: "");
    size_t stored = 0;
    if (!is_str(name, expected))
        objfail_cause(fail, CAUSE_INVALID, "metadata.name",
                      "Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group",
                      name ? name : "");
    for (size_t i = 0; i < json_len(versions); i++) {
        struct json_object *version = json_elem(versions, i);
        struct schema *compiled = NULL;
        struct errinfo ei;
        stored += json_bool_at(version, false, "storage", NULL) ? 1 : 0;
        if (schema_compile(json_at(version, "schema", "openAPIV3Schema", NULL), &compiled, &ei) !=
            ERR_OK)
            objfail_cause(fail, CAUSE_INVALID, PATH("spec.versions[%zu].schema.openAPIV3Schema", i),
                          "Invalid value: %s", ei.text);
        schema_free(compiled);
    }
    if (stored != 1)
        objfail_cause(fail, CAUSE_INVALID, "spec.versions",
                      "Invalid value: must have exactly one version marked as storage version");
    immutable(fail, json_at(spec, "group", NULL), json_at(old, "spec", "group", NULL),
              "spec.group");
    immutable(fail, json_at(spec, "scope", NULL), json_at(old, "spec", "scope", NULL),
              "spec.scope");
}

/* ---- the table of kinds ---- */

/* What a schema cannot say of a built-in kind. */
static const struct {
    const char *kind;
    void (*defaults)(struct json_object *obj, struct json_object *old);
    void (*validate)(struct objfail *fail, struct json_object *obj, struct json_object *old);
} hooks[] = {
    {"Namespace", fill_namespace, NULL},
    {"Service", fill_service, check_service},
    {"Secret", fill_secret, NULL},
    {"Event", NULL, check_event},
    {"Deployment", fill_workload, check_workload},
    {"ReplicaSet", fill_workload, check_workload},
    {"DaemonSet", fill_workload, check_workload},
    {"HorizontalPodAutoscaler", NULL, check_hpa},
    {"CustomResourceDefinition", fill_crd, check_crd},
};

/* schema: of all versions; NULL: anything goes. */
static struct objkind read_kind(struct arena *arena, struct json_object *row,
                                struct json_object *schema)
{
    struct json_object *crd = form(arena, "{spec: %p}", json_copy(arena, row));
    struct json_object *versions = json_at(crd, "spec", "versions", NULL);
    const char *generation = json_str_at(row, "generation", NULL);
    for (size_t i = 0; schema && i < json_len(versions); i++)
        json_set(json_sub(json_elem(versions, i), "schema"), "openAPIV3Schema", schema);
    fill_crd(crd, NULL);
    struct objkind kind = objkind_of_crd(arena, crd);
    assert(!schema == !kind.versions->schema);
    kind.group = json_str_at(row, "group", NULL);
    kind.plural = json_str_at(row, "names", "plural", NULL);
    kind.custom = false;
    kind.flags &= ~(unsigned)OBJKIND_GENERATION;
    if (generation)
        kind.flags |= OBJKIND_GENERATION;
    if (generation && strcmp(generation, "annotations") == 0)
        kind.flags |= OBJKIND_ANNOTATIONS;
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        if (strcmp(hooks[i].kind, kind.kind) != 0)
            continue;
        kind.defaults = hooks[i].defaults;
        kind.validate = hooks[i].validate;
    }
    return kind;
}

const struct objkind *objkind_builtin(void)
{
    static struct arena *arena; /* for the life of the process */
    static struct objkind *table;
    if (table)
        return table;
    arena = arena_new();
    struct json_object *file = read_file(arena), *list = json_at(file, "kinds", NULL);
    table = arena_array(arena, json_len(list) + 1, sizeof(*table));
    for (size_t i = 0; i < json_len(list); i++)
        table[i] =
            read_kind(arena, json_elem(list, i),
                      json_at(file, json_str_at(json_elem(list, i), "names", "kind", NULL), NULL));
    return table;
}
