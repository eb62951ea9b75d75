/*
 * The files of a command line, named in the same way as for kubectl: arguments, -f, -R and -k. "-"
 * is the standard input, pipes are read to their end, and a folder means its .yaml, .yml and .json
 * files, in the order of their names. Everything that is read lives in the arena.
 */
#ifndef CTL_INPUTS_H
#define CTL_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/option.h"
#include "kube/resource.h"

enum {
    INPUTS_MAX_BYTES = 4 * 1024 * 1024, /* limit for a file */
    INPUTS_MAX_FILES = 10000,
    INPUTS_MAX_DEPTH = 32, /* limit for nested folders */
};

/* The flags; INPUTS_ROWS(&opt.inputs) has their rows. */
struct inputs {
    const char *const *files; /* -f, NULL-terminated; NULL if none */
    const char *kustomize;    /* -k: a folder that `kubectl kustomize` builds */
    bool recursive;           /* -R */
};

#define INPUTS_ROWS(at_)                                                                           \
    OPTION(LIST, "filename", &(at_)->files, .arg = "FILE",                                         \
           .help = "(-f) a file, or a folder with its files .yaml, .yml and .json; may be given "  \
                   "several times, and is the same as an argument"),                               \
        OPTION(BOOL, "recursive", &(at_)->recursive, .help = "(-R) folders with those in them"),   \
        OPTION(STRING, "kustomize", &(at_)->kustomize, .arg = "FOLDER",                            \
               .help = "(-k) what `kubectl kustomize FOLDER` prints")

struct input {
    struct input *next;
    const char *name; /* in messages; "<stdin>" */
    const char *text; /* NUL-terminated, without a byte order mark */
    size_t len;
    bool found; /* in a folder, which was named */
};

/*
 * Reads all files, in the order of the arguments, -f, -k. ERR_INVALID if there are none, if a
 * folder contains none, or if INPUTS_MAX_FILES or INPUTS_MAX_BYTES is exceeded; ERR_NOT_FOUND if
 * one cannot be opened.
 */
enum err inputs_read(struct arena *arena, const struct inputs *inputs, const char *const *args,
                     int n_args, const struct input **out, struct errinfo *ei) MUST_USE;

/* The name of a file in messages: "<stdin>" for "-". */
const char *input_name(const char *file);
/* The whole of one file, NUL-terminated and owned by the arena; blocks until its end. More than max
 * bytes are ERR_INVALID. */
enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei) MUST_USE;

/* --- the objects in files, in place of a cluster */

struct manifests {
    struct arena *arena;
    struct json_object *objects; /* a list */
    const char *namespace_;      /* -n: for objects without one; NULL or "" if they match any */
};

/* Adds the documents of a file, or the items of a List in it. */
enum err manifests_add(struct manifests *manifests, const struct input *input,
                       struct errinfo *ei) MUST_USE;
/* Adds all files of a command line. */
enum err manifests_read(struct manifests *manifests, const struct inputs *inputs,
                        const char *const *args, int n_args, struct errinfo *ei) MUST_USE;
/* The object, in any version of its group; an object without a namespace matches any, and gets the
 * requested one. NULL if there is none. The first argument is a struct manifests. */
struct json_object *manifests_find(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_, const char *name);
/* All objects of that kind, an object with "items". */
struct json_object *manifests_list(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_);

#endif
