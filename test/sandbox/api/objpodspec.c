#include "api/objpodspec.h"

#include <string.h>

#include "api/objname.h"
#include "base/json.h"

#define PATH(...) arena_printf(fail->arena, __VA_ARGS__)
enum { PORT_MAX = 65535 };

void objpodspec_check_port(struct objfail *fail, struct json_object *port, const char *field)
{
    int64_t number = json_object_is_type(port, json_type_int) ? json_object_get_int64(port) : 0;
    if (number < 1 || number > PORT_MAX) {
        objfail_cause(fail, CAUSE_INVALID, field,
                      "Invalid value: %s: must be between 1 and 65535, inclusive",
                      port ? json_text(fail->arena, port) : "0");
    }
}

static bool has_volume(struct json_object *spec, const char *name)
{
    struct json_object *volumes = json_at(spec, "volumes", NULL);
    for (size_t i = 0; i < json_len(volumes); i++) {
        const char *own = json_str_at(json_elem(volumes, i), "name", NULL);
        if (own && strcmp(own, name) == 0)
            return true;
    }
    return false;
}

static void check_mounts(struct objfail *fail, struct json_object *spec,
                         struct json_object *container, const char *at)
{
    struct json_object *mounts = json_at(container, "volumeMounts", NULL);
    for (size_t i = 0; i < json_len(mounts); i++) {
        const char *name = json_str_at(json_elem(mounts, i), "name", NULL);
        const char *path = json_str_at(json_elem(mounts, i), "mountPath", NULL);
        const char *field = PATH("%s.volumeMounts[%zu]", at, i);
        if (!name || !*name)
            objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.name", field), "Required value");
        else if (!has_volume(spec, name))
            objfail_cause(fail, CAUSE_NOT_FOUND, PATH("%s.name", field), "Not found: \"%s\"", name);
        if (!path || !*path)
            objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.mountPath", field), "Required value");
    }
}

static void check_env(struct objfail *fail, struct json_object *container, const char *at)
{
    struct json_object *env = json_at(container, "env", NULL);
    for (size_t i = 0; i < json_len(env); i++) {
        const char *name = json_str_at(json_elem(env, i), "name", NULL);
        struct json_object *value = json_at(json_elem(env, i), "value", NULL);
        if (!name || !*name)
            objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.env[%zu].name", at, i), "Required value");
        if (value && !json_object_is_type(value, json_type_string)) {
            objfail_cause(fail, CAUSE_TYPE_INVALID, PATH("%s.env[%zu].value", at, i),
                          "Invalid value: %s: must be a string", json_text(fail->arena, value));
        }
    }
}

static void check_container(struct objfail *fail, struct json_object *spec,
                            struct json_object *list, size_t index, const char *at)
{
    struct json_object *container = json_elem(list, index);
    const char *name = json_str_at(container, "name", NULL);
    const char *image = json_str_at(container, "image", NULL);
    objname_check(fail, PATH("%s.name", at), name, OBJNAME_LABEL);
    for (size_t i = 0; name && i < index; i++) {
        const char *other = json_str_at(json_elem(list, i), "name", NULL);
        if (other && strcmp(other, name) == 0) {
            objfail_cause(fail, CAUSE_DUPLICATE, PATH("%s.name", at), "Duplicate value: \"%s\"",
                          name);
        }
    }
    if (!image || !*image)
        objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.image", at), "Required value");
    struct json_object *ports = json_at(container, "ports", NULL);
    for (size_t i = 0; i < json_len(ports); i++) {
        objpodspec_check_port(fail, json_at(json_elem(ports, i), "containerPort", NULL),
                              PATH("%s.ports[%zu].containerPort", at, i));
    }
    check_env(fail, container, at);
    check_mounts(fail, spec, container, at);
}

void objpodspec_check(struct objfail *fail, struct json_object *spec, const char *field,
                      bool template_)
{
    static const char *const keys[] = {"initContainers", "containers"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        struct json_object *list = json_at(spec, keys[k], NULL);
        for (size_t i = 0; i < json_len(list); i++)
            check_container(fail, spec, list, i, PATH("%s.%s[%zu]", field, keys[k], i));
    }
    if (json_len(json_at(spec, "containers", NULL)) == 0)
        objfail_cause(fail, CAUSE_REQUIRED, PATH("%s.containers", field), "Required value");
    const char *restart = json_str_at(spec, "restartPolicy", NULL);
    if (template_ && restart && strcmp(restart, "Always") != 0) {
        objfail_cause(fail, CAUSE_NOT_SUPPORTED, PATH("%s.restartPolicy", field),
                      "Unsupported value: \"%s\": supported values: \"Always\"", restart);
    }
}

/* The spec without what may change. */
static struct json_object *fixed_part(struct arena *arena, struct json_object *spec)
{
    static const char *const keys[] = {"initContainers", "containers"};
    struct json_object *copy = json_copy(arena, spec);
    if (!json_object_is_type(copy, json_type_object))
        return copy;
    json_object_object_del(copy, "activeDeadlineSeconds");
    json_object_object_del(copy, "tolerations");
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        struct json_object *list = json_at(copy, keys[k], NULL);
        for (size_t i = 0; i < json_len(list); i++) {
            struct json_object *container = json_elem(list, i);
            if (json_object_is_type(container, json_type_object)) {
                json_object_object_del(container, "image");
                json_object_object_del(container, "imagePullPolicy");
            }
        }
    }
    /* Binding a pod to its node is a subresource in Kubernetes; here it is a plain update. */
    json_object_object_del(copy, "nodeName");
    return copy;
}

bool objpodspec_may_become(struct json_object *before, struct json_object *after)
{
    struct arena *arena = arena_new();
    bool same = json_same(fixed_part(arena, before), fixed_part(arena, after));
    arena_free(arena);
    return same;
}
