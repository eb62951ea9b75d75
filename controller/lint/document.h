/* The objects of the files, where they stand, and what was found in them. Shared by the files of
 * this folder. */
#ifndef LINT_DOCUMENT_H
#define LINT_DOCUMENT_H

#include "base/yaml.h"
#include "lint/lint.h"
#include "lint/place.h"

struct document {
    struct document *next;
    struct lint *lint;
    const char *file;
    const struct yaml_marks *marks;
    struct json_object *parent; /* of the object: the documents of a file, or the items of a List */
    size_t index;               /* in it */
    struct json_object *json;
    const char *api_version, *kind, *name, *namespace_; /* "" where it does not say */
    const char *label;                                  /* "Canary test/podinfo" */
    struct places reported;                             /* errors of this object */
    struct places changed; /* places in a copy where something right stands instead */
    int count;
};

struct file {
    struct file *next;
    const char *name; /* what is found in it has this very pointer */
};

enum { DOCUMENT_KINDS = 4 };

struct lint {
    struct arena *arena;
    struct json_object *schemas[DOCUMENT_KINDS]; /* of crd_kinds[], as they are needed */
    const struct settings *settings;
    const char *namespace_; /* of objects that name none; NULL or "": they are of any */
    struct file *files, **last_file;
    struct document *first, **last;
    struct lint_mistake *mistakes;
    int count;
    size_t objects;
};

/* The object of this kind in the files; one without a namespace is of any. NULL: it is not there. */
const struct document *document_find(const struct lint *lint, const char *api_group,
                                     const char *kind, const char *namespace_, const char *name);
/* The secrets of a file as an API server gives them: what stringData says is in data. */
struct json_object *document_object(const struct lint *lint, const struct document *document);

/* An error at the place, the empty one for the whole object. A second one there is left out. */
void document_error(struct document *document, const struct place *place, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* A warning at a field, "spec.analysis.threshold". Near to what was changed none is told. */
void document_warn(struct document *document, const char *field, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* A sentence of the rules: "spec.service.port: expected a port number". At or below what was
 * changed it follows from that, and is left out. */
void document_sentence(struct document *document, const char *sentence);

#endif
