/*
 * Finds what is wrong with manifests before they are applied: all mistakes of Canaries,
 * MetricTemplates, AlertProviders and ReleaseRequests, each with its place. What the schema of the
 * CRD says is looked up in the CRD, and what the rules say is asked of the rules themselves
 * (decide/decide.h): nothing is written twice. Other objects in the files are what a Canary refers
 * to: its target, its templates, its Secrets. Pure: no cluster is asked.
 */
#ifndef LINT_LINT_H
#define LINT_LINT_H

#include "base/json.h"
#include "tick/tick.h"

enum {
    LINT_MAX_BYTES = 4 * 1024 * 1024, /* of a file */
    /* Of all files, and of an object; one more says that there are others. */
    LINT_MAX_MISTAKES = 10000,
    LINT_MAX_PER_OBJECT = 50,
};

enum lint_level {
    LINT_ERROR,   /* the API server or the controller refuses it, or a check can never pass */
    LINT_WARNING, /* it is accepted, and hardly what was meant */
};

struct lint_mistake {
    struct lint_mistake *next;
    enum lint_level level;
    const char *file;
    size_t line, column; /* from 1; of the field, or of what should have it */
    const char *object;  /* "Canary test/podinfo"; "" for a file that is no YAML */
    const char *path;    /* "spec.analysis.metrics[0].name"; "" for the whole object */
    const char *text;    /* one sentence */
};

struct lint;
/* Lives in the arena, as everything that it finds. settings: what of the controller's options is
 * known; provider, selector labels and the floor of intervals count. */
struct lint *lint_new(struct arena *arena, const struct settings *settings);
/* That of objects which name none, as kubectl's -n; before the first file. Without it, or with "",
 * they are of any. */
void lint_namespace(struct lint *lint, const char *namespace_);
/* Reads the documents of a file, or the items of a List in it; text is NUL-terminated and must
 * outlive the lint. found: in a folder; a Helm template among its files is left out. */
void lint_add(struct lint *lint, const char *file, const char *text, size_t len, bool found);
/* The line of the first action of a Helm template that is not rendered, from 1; 0 if there is none.
 * broken: the text is no YAML, so that control words in braces count as well. */
size_t lint_template_line(const char *text, bool broken);
/* After the last file: what was found, in the order of files and lines. */
const struct lint_mistake *lint_run(struct lint *lint);
/* "error", "warning" */
const char *lint_level_name(enum lint_level level);
/* How many objects were looked at: of our own kinds. */
size_t lint_objects(const struct lint *lint);

/* Documents that were left out, as values files and patches are, in the order of the files. */
struct lint_skipped {
    struct lint_skipped *next;
    const char *file, *why; /* "a patch of a kustomization is a part of an object" */
};
const struct lint_skipped *lint_skipped(const struct lint *lint);

#endif
