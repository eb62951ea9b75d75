#define _GNU_SOURCE /* for pipe2 */
#include "ctl/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "ctl/lint/lint.h"
#include "tick/edit.h"

extern char **environ;

enum { CHUNK = 16384 };

/* --- one file */

static bool is_standard(const char *file)
{
    return strcmp(file, "-") == 0;
}

const char *input_name(const char *file)
{
    return is_standard(file) ? "<stdin>" : file;
}

/* Reads at most one byte more than max; returns 0 or an errno. */
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

/* Reads the file and closes it. */
static enum err read_open(struct arena *arena, int fd, const char *name, size_t max, char **out,
                          size_t *len, struct errinfo *ei)
{
    enum err err = ERR_OK;
    struct buf buf;

    buf_init(&buf, max + 1);
    int error = read_all(fd, max, &buf);
    if (error)
        err = err_set(ei, ERR_INVALID, "cannot read %s: %s", name, strerror(error));
    else if (buf.len > max)
        err = err_set(ei, ERR_INVALID, "%s has more than %zu bytes", name, max);
    if (err == ERR_OK) {
        *len = buf.len;
        *out = arena_strndup(arena, buf.data, buf.len);
    }
    buf_fini(&buf);
    if (fd != STDIN_FILENO)
        close(fd);
    return err;
}

enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei)
{
    int fd = is_standard(file) ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    *out = NULL;
    *len = 0;
    if (fd < 0)
        return err_set(ei, ERR_NOT_FOUND, "cannot open %s: %s", file, strerror(errno));
    return read_open(arena, fd, input_name(file), max, out, len, ei);
}

/* --- all files of a command line */

struct reading {
    struct arena *arena;
    bool recursive;
    struct input *first, **last;
    size_t count;
    bool found; /* the file that is being read was found in a folder */
};

/* A byte order mark, which some editors add, is not part of the text. */
static enum err add_text(struct reading *reading, const char *name, const char *text, size_t len,
                         struct errinfo *ei)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t skipped = strncmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    struct input *input = ARENA_NEW(reading->arena, struct input);

    if (++reading->count > INPUTS_MAX_FILES)
        return err_set(ei, ERR_INVALID, "there are more than %d files", INPUTS_MAX_FILES);
    *input = (struct input){
        .name = name, .text = text + skipped, .len = len - skipped, .found = reading->found};
    *reading->last = input;
    reading->last = &input->next;
    return ERR_OK;
}

static enum err add_file(struct reading *reading, const char *file, struct errinfo *ei)
{
    char *text = NULL;
    size_t len = 0;
    enum err err = input_read(reading->arena, file, INPUTS_MAX_BYTES, &text, &len, ei);

    return err == ERR_OK && text ? add_text(reading, input_name(file), text, len, ei) : err;
}

static bool is_manifest(const char *name)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder except "." and "..", sorted; in the arena. */
static enum err list_folder(struct arena *arena, const char *folder, const char ***names, size_t *n,
                            struct errinfo *ei)
{
    DIR *dir = opendir(folder);
    size_t room = 64;

    *n = 0;
    if (!dir)
        return err_set(ei, ERR_NOT_FOUND, "cannot open %s: %s", folder, strerror(errno));
    *names = arena_array(arena, room, sizeof(char *));
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (*n == room) {
            const char **more = arena_array(arena, room * 2, sizeof(char *));
            memcpy(more, *names, room * sizeof(char *));
            *names = more;
            room *= 2;
        }
        (*names)[(*n)++] = arena_strdup(arena, entry->d_name);
    }
    closedir(dir);
    qsort(*names, *n, sizeof(char *), by_name);
    return ERR_OK;
}

/* Adds the files of a folder and, with -R, those of its folders; a link to a folder is not
 * followed. */
static enum err add_folder(struct reading *reading, const char *folder, int depth,
                           struct errinfo *ei)
{
    size_t len = strlen(folder), n;
    const char **names;
    enum err err = list_folder(reading->arena, folder, &names, &n, ei);

    if (err == ERR_OK && depth == INPUTS_MAX_DEPTH)
        err = err_set(ei, ERR_INVALID, "%s is in more than %d folders", folder, INPUTS_MAX_DEPTH);
    while (len > 1 && folder[len - 1] == '/')
        len--;
    for (size_t i = 0; err == ERR_OK && i < n; i++) {
        const char *path = arena_printf(reading->arena, "%.*s/%s", (int)len, folder, names[i]);
        struct stat at, link;
        if (stat(path, &at) != 0 || lstat(path, &link) != 0)
            continue;
        if (S_ISDIR(at.st_mode)) {
            if (reading->recursive && !S_ISLNK(link.st_mode))
                err = add_folder(reading, path, depth + 1, ei);
        } else if (is_manifest(names[i])) {
            err = add_file(reading, path, ei);
        }
    }
    return err;
}

static enum err add_path(struct reading *reading, const char *path, struct errinfo *ei)
{
    size_t before = reading->count;
    struct stat at;

    if (is_standard(path) || stat(path, &at) != 0 || !S_ISDIR(at.st_mode))
        return add_file(reading, path, ei);
    reading->found = true;
    enum err err = add_folder(reading, path, 0, ei);
    reading->found = false;
    if (err == ERR_OK && reading->count == before)
        err = err_set(ei, ERR_INVALID, "there is no file .yaml, .yml or .json in %s%s", path,
                      reading->recursive ? "" : "; -R reads the folders in it too");
    return err;
}

/* The command's output, if it succeeds; its errors go to the user. */
static enum err read_command(struct arena *arena, char *const *words, const char *name, char **out,
                             size_t *len, struct errinfo *ei)
{
    posix_spawn_file_actions_t actions;
    int ends[2], status = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(ei, ERR_INVALID, "cannot run %s: %s", name, strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return err_set(ei, ERR_INVALID, "cannot run %s: %s", name, strerror(error));
    }
    enum err err = read_open(arena, ends[0], name, INPUTS_MAX_BYTES, out, len, ei);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (err == ERR_OK && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        err = err_set(ei, ERR_INVALID, "%s has failed", name);
    return err;
}

static enum err add_kustomized(struct reading *reading, const char *folder, struct errinfo *ei)
{
    struct arena *arena = reading->arena;
    char *words[] = {arena_strdup(arena, "kubectl"), arena_strdup(arena, "kustomize"),
                     arena_strdup(arena, folder), NULL};
    const char *name = arena_printf(arena, "kubectl kustomize %s", folder);
    char *text = NULL;
    size_t len = 0;
    enum err err = read_command(arena, words, name, &text, &len, ei);

    return err == ERR_OK && text ? add_text(reading, name, text, len, ei) : err;
}

enum err inputs_read(struct arena *arena, const struct inputs *inputs, const char *const *args,
                     int n_args, const struct input **out, struct errinfo *ei)
{
    struct reading reading = {.arena = arena, .recursive = inputs->recursive};
    enum err err = ERR_OK;

    reading.last = &reading.first;
    for (int i = 0; err == ERR_OK && i < n_args; i++)
        err = add_path(&reading, args[i], ei);
    for (const char *const *file = inputs->files; err == ERR_OK && file && *file; file++)
        err = add_path(&reading, *file, ei);
    if (err == ERR_OK && inputs->kustomize)
        err = add_kustomized(&reading, inputs->kustomize, ei);
    if (err == ERR_OK && !reading.first)
        err = err_set(ei, ERR_INVALID, "expected a file or folder, -f FILE or -k FOLDER");
    *out = reading.first;
    return err;
}

/* {serviceName, servicePort} in v1beta1 is {service: {name, port: {name or number}}} in v1. */
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

/* Turns an Ingress of v1beta1 into what an API server returns for v1. */
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

/* True for a kind that has moved to another group: an API server that serves both has one
 * object. */
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

/* The object as an API server returns it: without a namespace it is in the requested one. Callers
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
