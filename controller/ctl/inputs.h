/*
 * The files of a command line, named as kubectl names them: arguments, -f, -R and -k. "-" is the
 * standard input, pipes are read to their end, and a folder stands for the files .yaml, .yml and
 * .json in it, in the order of their names. Everything that is read lives in the arena.
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
    INPUTS_MAX_BYTES = 4 * 1024 * 1024, /* of a file */
    INPUTS_MAX_FILES = 10000,
    INPUTS_MAX_DEPTH = 32, /* of folders in each other */
};

/* The flags; INPUTS_ROWS(&opt.inputs) are their rows. */
struct inputs {
    const char *const *files; /* -f, NULL-ended; NULL if none */
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
    bool found; /* in a folder that was named */
};

/*
 * All of them, in the order of the arguments, -f, -k. ERR_INVALID if there is none, if a folder has
 * none, or for more than INPUTS_MAX_FILES or INPUTS_MAX_BYTES; ERR_NOT_FOUND if one cannot be
 * opened.
 */
enum err inputs_read(struct arena *arena, const struct inputs *inputs, const char *const *args,
                     int n_args, const struct input **out, struct errinfo *ei) MUST_USE;

/* The name of one file in messages: "-" is "<stdin>". */
const char *input_name(const char *file);
/* The whole of one file, NUL-terminated and owned by the arena; waits for its end. More than max
 * bytes are ERR_INVALID. */
enum err input_read(struct arena *arena, const char *file, size_t max, char **out, size_t *len,
                    struct errinfo *ei) MUST_USE;

/* --- the objects of files, in place of a cluster */

struct manifests {
    struct arena *arena;
    struct json_object *objects; /* a list */
    const char *namespace_;      /* -n: of objects without one; NULL or "" if any matches */
};

/* Adds the documents of a file, or the items of a List in it. */
enum err manifests_add(struct manifests *manifests, const struct input *input,
                       struct errinfo *ei) MUST_USE;
/* Adds all files of a command line. */
enum err manifests_read(struct manifests *manifests, const struct inputs *inputs,
                        const char *const *args, int n_args, struct errinfo *ei) MUST_USE;
/* The object, of any version of its group; one without a namespace matches any, and gets the
 * requested one. NULL if there is none. The first argument is a struct manifests. */
struct json_object *manifests_find(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_, const char *name);
/* All of that kind, an object with "items". */
struct json_object *manifests_list(void *manifests, const struct kube_resource *resource,
                                   const char *namespace_);

#endif
