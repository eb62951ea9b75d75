#include "ctl/manifests.h"

#include <string.h>

#include "base/yaml.h"
#include "ctl/lint/lint.h"
#include "tick/edit.h"

/* {serviceName, servicePort} of v1beta1 is {service: {name, port: {name or number}}} of v1. */
static void convert_backend(struct json_object *backend)
{
    const char *name = json_str_at(backend, "serviceName", NULL);
    struct json_object *port = json_at(backend, "servicePort", NULL);

    if (!name || json_at(backend, "service", NULL))
        return;
    struct json_object *service = json_sub(backend, "service");
    json_set_str(service, "name", name);
    if (port)
        json_set(json_sub(service, "port"),
                 json_object_is_type(port, json_type_string) ? "name" : "number", port);
    json_del(backend, "serviceName");
    json_del(backend, "servicePort");
}

/* An Ingress of v1beta1 as an API server returns it in v1. */
static void convert_ingress(struct json_object *object)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *version = json_str_at(object, "apiVersion", NULL);
    struct json_object *spec = json_at(object, "spec", NULL), *rules = json_at(spec, "rules", NULL);
    struct json_object *all = json_at(spec, "backend", NULL);

    if (!kind || !version || strcmp(kind, "Ingress") != 0 || !strstr(version, "/v1beta1"))
        return;
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *paths = json_at(json_elem(rules, i), "http", "paths", NULL);
        for (size_t k = 0; k < json_len(paths); k++)
            convert_backend(json_at(json_elem(paths, k), "backend", NULL));
    }
    if (!json_object_is_type(all, json_type_object))
        return;
    convert_backend(all);
    json_set(spec, "defaultBackend", all);
    json_del(spec, "backend");
}

/* Adds it; -n is the namespace of an object without one, as in kubectl. */
static void add_object(struct manifests *manifests, struct json_object *object)
{
    const char *given = manifests->namespace_;
    struct json_object *metadata = json_at(object, "metadata", NULL);

    if (given && *given && json_object_is_type(metadata, json_type_object) &&
        !json_at(metadata, "namespace", NULL))
        json_set_str(metadata, "namespace", given);
    /* an API server drops nulls */
    object = json_object_is_type(object, json_type_object)
                 ? edit_overlay(manifests->arena, NULL, object)
                 : object;
    convert_ingress(object);
    json_object_array_add(manifests->objects, json_object_get(object));
}

enum err manifests_add(struct manifests *manifests, const struct input *input, struct errinfo *ei)
{
    struct json_object *docs;
    enum err err = yaml_parse(manifests->arena, input->name, input->text, input->len,
                              INPUTS_MAX_BYTES, &docs, ei);

    if (err != ERR_OK) {
        size_t line = lint_template_line(input->text, true);
        return line == 0 ? err
                         : err_set(ei, ERR_INVALID,
                                   "%s:%zu:1: it is a template that is not rendered; take what "
                                   "`helm template` prints",
                                   input->name, line);
    }
    if (!manifests->objects)
        manifests->objects = json_own(manifests->arena, json_object_new_array());
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *doc = json_elem(docs, i), *items = json_at(doc, "items", NULL);
        if (!json_object_is_type(items, json_type_array))
            add_object(manifests, doc);
        for (size_t k = 0; k < json_len(items); k++)
            add_object(manifests, json_elem(items, k));
    }
    return ERR_OK;
}

enum err manifests_read(struct manifests *manifests, const struct inputs *inputs,
                        const char *const *args, int n_args, struct errinfo *ei)
{
    const struct input *first;
    enum err err = inputs_read(manifests->arena, inputs, args, n_args, &first, ei);

    for (const struct input *input = first; input && err == ERR_OK; input = input->next)
        err = manifests_add(manifests, input, ei);
    return err;
}

static bool is_of_group(const char *version, const char *group)
{
    size_t len = strlen(group);

    return len == 0 ? !strchr(version, '/')
                    : strncmp(version, group, len) == 0 && version[len] == '/';
}

/* A kind that has moved to another group: an API server that serves both has one object. */
static bool is_former(const char *version, const struct kube_resource *resource)
{
    static const char *const moved[][2] = {
        {"Deployment", "apps"}, {"DaemonSet", "apps"}, {"Ingress", "networking.k8s.io"}};

    if (strcmp(version, "extensions/v1beta1") != 0)
        return false;
    for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
        if (strcmp(moved[i][0], resource->kind) == 0 && strcmp(moved[i][1], resource->group) == 0)
            return true;
    return false;
}

static bool is_of(struct json_object *object, const struct kube_resource *resource,
                  const char *namespace_)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *own = json_str_at(object, "metadata", "namespace", NULL);

    if (!kind || !version || strcmp(kind, resource->kind) != 0 ||
        !(is_of_group(version, resource->group) || is_former(version, resource)))
        return false;
    return !own || resource->cluster_scoped || strcmp(own, namespace_) == 0;
}

/* The object as an API server returns it: without a namespace it is in the requested one. Readers
 * rely on that. */
static struct json_object *as_given(const struct manifests *manifests, struct json_object *object,
                                    const struct kube_resource *resource, const char *namespace_)
{
    if (resource->cluster_scoped || json_str_at(object, "metadata", "namespace", NULL))
        return object;
    struct json_object *given = json_copy(manifests->arena, object);
    json_set_str(json_sub(given, "metadata"), "namespace", namespace_);
    return given;
}

struct json_object *manifests_find(void *arg, const struct kube_resource *resource,
                                   const char *namespace_, const char *name)
{
    struct manifests *manifests = arg;
    struct json_object *of_any = NULL;

    for (size_t i = 0; i < json_len(manifests->objects); i++) {
        struct json_object *object = json_elem(manifests->objects, i);
        const char *own = json_str_at(object, "metadata", "name", NULL);
        if (!own || strcmp(own, name) != 0 || !is_of(object, resource, namespace_))
            continue;
        if (json_str_at(object, "metadata", "namespace", NULL))
            return object;
        if (!of_any)
            of_any = object;
    }
    return of_any ? as_given(manifests, of_any, resource, namespace_) : NULL;
}

struct json_object *manifests_list(void *arg, const struct kube_resource *resource,
                                   const char *namespace_)
{
    struct manifests *manifests = arg;
    struct json_object *list = json_own(manifests->arena, json_object_new_object());
    struct json_object *items = json_object_new_array();

    json_object_object_add(list, "items", items);
    for (size_t i = 0; i < json_len(manifests->objects); i++) {
        struct json_object *object = json_elem(manifests->objects, i);
        if (is_of(object, resource, namespace_) && json_str_at(object, "metadata", "name", NULL))
            json_object_array_add(
                items, json_object_get(as_given(manifests, object, resource, namespace_)));
    }
    return list;
}
