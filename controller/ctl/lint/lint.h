/*
 * Finds mistakes in manifests before they are applied: all mistakes of Canaries, MetricTemplates,
 * AlertProviders and ReleaseRequests, each with its position. The schema is read from the CRD, and
 * the rules themselves are run (decide/decide.h): nothing is written twice. Other objects in the
 * files are those that a Canary refers to: its target, its templates, its Secrets. Pure: makes no
 * requests to a cluster.
 */
#ifndef LINT_LINT_H
#define LINT_LINT_H

#include "base/json.h"
#include "tick/tick.h"

enum {
    LINT_MAX_BYTES = 4 * 1024 * 1024, /* limit for a file */
    /* Limit for all files, and for an object; one more reports that there are others. */
    LINT_MAX_MISTAKES = 10000,
    LINT_MAX_PER_OBJECT = 50,
};

enum lint_level {
    LINT_ERROR,   /* the API server or the controller rejects it, or a check can never pass */
    LINT_WARNING, /* it is accepted, but is hardly what was meant */
};

struct lint_mistake {
    struct lint_mistake *next;
    enum lint_level level;
    const char *file;
    size_t line, column; /* from 1; position of the field, or of the object that lacks it */
    const char *object;  /* "Canary test/podinfo"; "" for a file that is not YAML */
    const char *path;    /* "spec.analysis.metrics[0].name"; "" for the whole object */
    const char *text;    /* one sentence */
};

struct lint;
/* Lives in the arena, as does everything that it finds. settings: the known options of the
 * controller; provider, selector labels and the minimum interval are used. */
struct lint *lint_new(struct arena *arena, const struct settings *settings);
/* Sets the namespace of objects without one, like kubectl's -n; must be called before the first
 * file is added. If it is not called, or with "", such objects match any namespace. */
void lint_namespace(struct lint *lint, const char *namespace_);
/* Reads the documents of a file, or the items of a List in it; text is NUL-terminated and must
 * outlive the lint. found: it was found in a folder, where a Helm template is left out. */
void lint_add(struct lint *lint, const char *file, const char *text, size_t len, bool found);
/* The line of the first action of a Helm template that was not rendered, from 1; 0 if there is
 * none. broken: the text is not YAML, so that control words in braces count as well. */
size_t lint_template_line(const char *text, bool broken);
/* To be called after the last file: the mistakes found, in the order of files and lines. */
const struct lint_mistake *lint_run(struct lint *lint);
/* "error", "warning" */
const char *lint_level_name(enum lint_level level);
/* Number of objects that were checked: those of our own kinds. */
size_t lint_objects(const struct lint *lint);

/* Documents that were left out, such as values files and patches, in the order of the files. */
struct lint_skipped {
    struct lint_skipped *next;
    const char *file, *why; /* "a patch of a kustomization is a part of an object" */
};
const struct lint_skipped *lint_skipped(const struct lint *lint);

#endif
