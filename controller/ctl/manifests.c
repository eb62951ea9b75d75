#include "ctl/manifests.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/yaml.h"

/* Adds it; -n is the namespace of an object without one, as in kubectl. */
static void add_object(struct manifests *manifests, struct json_object *object)
{
    const char *given = manifests->namespace_;
    struct json_object *metadata = json_at(object, "metadata", NULL);

    if (given && *given && json_object_is_type(metadata, json_type_object) &&
        !json_str_at(metadata, "namespace", NULL))
        json_set_str(metadata, "namespace", given);
    json_object_array_add(manifests->objects, json_object_get(object));
}

enum err manifests_add(struct manifests *manifests, const char *file, struct errinfo *ei)
{
    struct json_object *docs;
    char *text;
    size_t len;
    enum err err = input_read(manifests->arena, file, MANIFESTS_MAX_BYTES, &text, &len, ei);

    if (err == ERR_OK)
        err = yaml_parse(manifests->arena, input_name(file), text, len, MANIFESTS_MAX_BYTES, &docs,
                         ei);
    if (err != ERR_OK)
        return err;
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

static bool is_of(struct json_object *object, const struct kube_resource *resource,
                  const char *namespace_)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *own = json_str_at(object, "metadata", "namespace", NULL);
    size_t len = strlen(resource->group);

    if (!kind || !version || strcmp(kind, resource->kind) != 0)
        return false;
    if (len == 0 ? strchr(version, '/') != NULL
                 : strncmp(version, resource->group, len) != 0 || version[len] != '/')
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

enum { CHUNK = 16384 };

static int is_standard(const char *file)
{
    return strcmp(file, "-") == 0;
}

const char *input_name(const char *file)
{
    return is_standard(file) ? "<stdin>" : file;
}

/* At most one byte more than max; 0 or an errno. */
static int read_all(int fd, size_t max, struct buf *buf)
{
    char chunk[CHUNK];

    while (buf->len <= max) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            buf_add(buf, chunk, (size_t)n);
    }
    return 0;
}

enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei)
{
    int fd = is_standard(file) ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    enum err err = ERR_OK;
    struct buf buf;

    *out = NULL;
    *len = 0;
    if (fd < 0)
        return err_set(ei, ERR_NOT_FOUND, "cannot open %s: %s", file, strerror(errno));
    buf_init(&buf, max + 1);
    int error = read_all(fd, max, &buf);
    if (error)
        err = err_set(ei, ERR_INVALID, "cannot read %s: %s", input_name(file), strerror(error));
    else if (buf.len > max)
        err = err_set(ei, ERR_INVALID, "%s has more than %zu bytes", input_name(file), max);
    if (err == ERR_OK) {
        *len = buf.len;
        *out = arena_alloc(arena, buf.len + 1);
        memcpy(*out, buf.data, buf.len);
    }
    buf_fini(&buf);
    if (!is_standard(file))
        close(fd);
    return err;
}
