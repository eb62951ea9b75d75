/* The objects in the files, their positions, and their mistakes; shared by the files in this
 * folder. A JSON path is the place of a field in an object: "spec.analysis.metrics[0].name". */
#ifndef CTL_DOCUMENT_H
#define CTL_DOCUMENT_H

#include "base/json.h"
#include "base/yaml.h"
#include "ctl/lint/lint.h"

enum { JSON_PATH_DEPTH = JSON_MAX_DEPTH + 2 };

struct json_path {
    int depth;
    struct json_path_step {
        const char *key; /* NULL: an index */
        size_t index;
    } steps[JSON_PATH_DEPTH];
};

/* The text that the JSON parser writes for it (base/json.h), in the arena. */
const char *json_path_text(struct arena *arena, const struct json_path *place);
/*
 * Parses the path at the beginning of a sentence; *rest is the remainder. False if the sentence
 * does not begin with a field. Keys are in the arena.
 */
bool json_path_parse(struct arena *arena, const char *sentence, struct json_path *out,
                     const char **rest);
/* The path one level down; key is borrowed, NULL for an index. Paths beyond the maximum depth are
 * not extended. */
struct json_path json_path_in(const struct json_path *place, const char *key, size_t index);
struct json_path json_path_above(const struct json_path *place);
/* The value there; NULL if there is none, or if it is null. */
struct json_object *json_path_get(const struct json_path *place, struct json_object *root);
/* True if the paths are equal, or one contains the other. */
bool json_path_is_near(const struct json_path *a, const struct json_path *b);

/* A set of copied paths. */
struct json_paths_item {
    struct json_paths_item *next;
    struct json_path place;
};
struct json_paths {
    struct json_paths_item *first;
};
void json_paths_add(struct arena *arena, struct json_paths *places, const struct json_path *place);
bool json_paths_have(const struct json_paths *places,
                     const struct json_path *place); /* exactly this path */
bool json_paths_have_above(const struct json_paths *places,
                           const struct json_path *place); /* or a path above it */
bool json_paths_have_near(const struct json_paths *places, const struct json_path *place);

/* --- the objects */

struct document {
    struct document *next;
    struct lint *lint;
    const char *file;
    const struct yaml_marks *marks;
    struct json_object
        *parent;  /* container of the object: the documents of a file, or the items of a List */
    size_t index; /* in `parent` */
    struct json_object *json;
    const char *api_version, *kind, *name, *namespace_; /* "" if the object has none */
    const char *label;                                  /* "Canary test/podinfo" */
    struct json_paths reported;                         /* paths of the object's reported errors */
    struct json_paths changed;                          /* repaired paths of the copy */
    int count;
    bool compared; /* its claims have been compared with those of other Canaries */
};

struct file {
    struct file *next;
    const char *name; /* compared by pointer */
};

enum { DOCUMENT_KINDS = 4 };

struct lint {
    struct arena *arena;
    struct json_object *schemas[DOCUMENT_KINDS]; /* for crd_kinds[], loaded when needed */
    const struct settings *settings;
    const char *namespace_; /* namespace for objects without one; NULL or "" if they match any */
    struct file *files, **last_file;
    struct document *first, **last;
    struct lint_skipped *skipped, **last_skipped;
    struct lint_mistake *mistakes;
    int count;
    size_t objects;
};

/* The object of this kind in the files; an object without a namespace matches any. NULL if there is
 * none. */
const struct document *document_find(const struct lint *lint, const char *api_group,
                                     const char *kind, const char *namespace_, const char *name);
/* The object as an API server returns it: stringData of a Secret is merged into data. */
struct json_object *document_object(const struct lint *lint, const struct document *document);

/* Reports an error at a path (empty for the whole object). Only the first per path is kept. */
void document_error(struct document *document, const struct json_path *place, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Reports a warning at a field, "spec.analysis.threshold". Omitted at or near repaired fields. */
void document_warn(struct document *document, const char *field, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Reports a sentence from the rules, "spec.service.port: expected a port number". Omitted at or
 * below repaired fields. */
void document_sentence(struct document *document, const char *sentence);

/* --- a part of an object in its own file, such as an analysis */

struct lint_part {
    const char *file;
    const struct yaml_marks *marks; /* positions in the file */
    struct json_object *docs;       /* documents of the file */
    size_t index;                   /* index of the document that is the part, or contains it */
    struct json_object *json;
    struct json_object *schema; /* schema of the part (below); NULL if it has been checked */
    const char *sentence; /* another mistake, after its path in the part; NULL if there is none */
};

/* The first mistake in the file, in the arena; NULL if there is none. */
const struct lint_mistake *lint_part_first(struct arena *arena, const struct lint_part *part);

typedef enum rule_result facts_question(struct tick *tick,
                                        void (*found)(void *arg, const char *sentence), void *arg);

/* Runs the rules until no fact is missing. An object that is not in the files does not exist. */
void facts_ask(const struct lint *lint, struct tick *tick, facts_question *question,
               void (*found)(void *arg, const char *sentence), void *arg);

/* --- mistakes of an object beyond its schema; for a Canary the rules themselves find them */

void canary_check(struct document *document);
/* Warns about valid but suspicious settings; `canary` is parsed from the repaired manifest. */
void canary_warn(struct document *document, const struct canary *canary, struct tick *tick);

/* --- MetricTemplates and AlertProviders, whose requests are made as the controller makes them;
 * ReleaseRequests; Applications */

void template_check(struct document *document);
/* True if the query of a template can be rendered, whatever its variables are. */
bool template_query(struct arena *arena, const char *query, struct errinfo *ei);
void provider_check(struct document *document);
void request_check(struct document *document);
bool application_is(const struct document *document);
void application_check(struct document *document);

void names_warn(struct document *document, const struct canary *canary);

/*
 * --- repair: the parser and the rules report only the first mistake that they find. To find the
 * others, a wrong value is replaced in a copy by a valid one, and the check is repeated.
 */

/* Mistakes of an object, as sentences that begin with a path. */
struct verdicts {
    struct arena *arena;
    const char **sentences;
    size_t count, room;
    bool unread; /* the object could not even be read; there is only one sentence then */
};
void verdicts_add(struct verdicts *verdicts, const char *sentence);

/* Collects the mistakes of an object; everything lives in the arena of `out`. */
typedef void repair_ask(void *arg, struct json_object *object, struct verdicts *out);

/* Reports all mistakes of the object, a copy, which is changed in the process. */
void repair_tell_all(struct document *document, struct json_object *schema,
                     struct json_object *object, repair_ask *ask, void *arg);

/*
 * --- crd_schema.c: checks an object against the schema of its CRD, with sentences for users.
 *
 * Reports each mistake. `object` is a copy of the document's, and is changed into one that the
 * schema accepts, as far as possible, so that the rules can check the rest of it; the places that
 * were changed are added to document->changed.
 */
void schema_check(struct document *document, struct json_object *schema,
                  struct json_object *object);

/* The same for a part of an object, with its part of the schema. */
void schema_check_part(struct document *document, struct json_object *schema,
                       struct json_object *object);

/* The schema of the document's kind, which is one of ours. */
struct json_object *schema_of(struct document *document);

/* --- crd_schema.c: the schemas of our own kinds, from the CRDs (proto/crd) */

/* The openAPIV3Schema of "Canary", owned by the arena. NULL: not one of our kinds. */
struct json_object *crd_schema(struct arena *arena, const char *kind);
/* The kinds, NULL-terminated. */
extern const char *const crd_kinds[];

/* The schema of a member of what `node` describes; NULL if unknown. */
struct json_object *crd_member(struct json_object *node, const char *key);
/* True if nothing below the node is checked. */
bool crd_is_open(struct json_object *node);
/* True if the whole text matches the schema's pattern, or if it has none. */
bool crd_pattern_fits(struct json_object *node, const char *text);
/* The pattern in words: "a duration such as 30s or 1m30s". */
const char *crd_pattern_words(struct arena *arena, struct json_object *node);
/*
 * The smallest value that the schema accepts, owned by the arena; there are several variants,
 * counted from 0. NULL if there are no more.
 */
struct json_object *crd_sample(struct arena *arena, struct json_object *node, int variant);

#endif
