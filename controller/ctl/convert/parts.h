/*
 * The parts of a conversion, shared by the files in this folder. rollout.c iterates over the
 * objects in the files and writes the documents. A Rollout becomes a Deployment (target_objects.c)
 * and a Canary; the Canary's analysis comes from the steps (steps.c) and from AnalysisTemplates
 * (analyses.c, analysis_metrics.c), its provider and Service from the traffic routing (traffic.c).
 * live.c writes the procedure for a switch.
 */
#ifndef CONVERT_PARTS_H
#define CONVERT_PARTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "ctl/convert/rollout.h"

/* One Rollout that is converted. Everything lives in the arena. */
struct rollout {
    struct conversion *conversion;
    struct arena *arena;
    struct json_object *object, *spec, *canary,
        *green;                           /* of green and canary, at least one is NULL */
    const char *name, *namespace_;        /* "" if not given */
    const char *label;                    /* "Rollout shop/web" */
    const char *target;                   /* name of the Deployment */
    const char *service, *canary_service; /* NULL if not named */
    bool managed; /* Argo keeps the hash of a template in the Service's selector */
    struct json_object *template, *selector; /* of the pods; selector may be NULL */
    struct commented *deployment, *out;      /* out: the Canary document */
    struct json_object *analysis;            /* the Canary's analysis */
    const char *provider;
    bool splits, tests,
        mirrors; /* the provider supports shares, A/B tests, copies of the traffic */
    int64_t interval_ms;
    int threshold; /* the lowest that metrics allow; 0 if none sets one */
    const char
        *source_route;  /* kind of the route that the Canary copies; NULL if it creates its own */
    const char *scaler; /* "hpa web", for the commands of a switch; NULL if none */
    struct rollout *next;
};

/* --- rollout.c */

/* Adds a line to the final list of fields without a counterpart: "LABEL: PATH: TEXT". */
void conversion_lose(struct conversion *conversion, const char *label, const char *path,
                     const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The object with this kind and name in the files; an object without a namespace matches any.
 * group: the group of the apiVersion, "" for the core group. NULL if there is none. */
struct json_object *conversion_find(const struct conversion *conversion, const char *group,
                                    const char *kind, const char *namespace_, const char *name);
/* Why an object was not found: "is not in the files", or its other namespace. */
const char *conversion_absent(const struct conversion *conversion, const char *group,
                              const char *kind, const char *namespace_, const char *name);
/* Calls each() with every object of the kind in the namespace, until it returns true. */
bool conversion_each(const struct conversion *conversion, const char *group, const char *kind,
                     const char *namespace_, bool (*each)(void *arg, struct json_object *object),
                     void *arg);
/* Appends a document; the caller may still add to it. */
struct commented *conversion_add(struct conversion *conversion, struct json_object *object);
/* An object with apiVersion, kind, name and, if it is not "", namespace. */
struct json_object *object_new(struct arena *arena, const char *api_version, const char *kind,
                               const char *namespace_, const char *name);
/* A copy without the fields that an API server has added. */
struct json_object *object_as_written(struct arena *arena, struct json_object *object);
/* The text of a string, number or boolean; NULL for other values. */
const char *value_text(struct arena *arena, struct json_object *value);
/* A pause or interval: seconds as a number or text, or a Go duration. False if it is neither. */
bool value_duration(struct json_object *value, int64_t *ms);
const char *duration_text(struct arena *arena, int64_t ms);

/* Reports each field of the spec that has no counterpart, or is unknown. */
void fields_lose(struct conversion *conversion, enum field_kind kind, const char *label,
                 struct json_object *spec);

/* --- the parts of a Rollout */

/* The Deployment, its name, template and selector. False: no pods are known, which was reported. */
bool workload_convert(struct rollout *r);
/* Autoscalers and PodDisruptionBudgets for its pods. */
void workload_scalers(struct rollout *r);
/* True if the pods have all labels of the selector, a map that is not empty. */
bool workload_selected(const struct rollout *r, struct json_object *selector);
/* Sets provider, service and references. */
void traffic_convert(struct rollout *r);
/* Converts the strategy: steps, gates, promotion. */
void steps_convert(struct rollout *r);
/* Converts the metrics of all analyses, with their MetricTemplates. */
void metrics_convert(struct rollout *r);
/* Minimum duration of a run of these analyses, if it makes a fixed number of checks; else 0. */
int64_t metrics_run_ms(const struct rollout *r, struct json_object *analysis);
/* The shortest interval of their metrics, 0 if none has one. */
int64_t metrics_interval_ms(const struct rollout *r, struct json_object *analysis);
/* Appends the procedure for a switch, as comments. */
void live_write(const struct rollout *r, struct buf *out);

/* --- documents: an object written as YAML with comments above its fields */

enum { COMMENT_WIDTH = 100 };

struct commented {
    struct commented *next;
    struct json_object *object;    /* owned by the arena */
    struct comment *first, **last; /* private */
};

/* Lives in the arena. The object may be changed until it is written. */
struct commented *commented_new(struct arena *arena, struct json_object *object);
/* Puts a comment above the field, "spec.analysis.interval"; for "" or a field that is missing,
 * above the nearest one that exists. Several comments on a field keep their order. */
void commented_add(struct arena *arena, struct commented *commented, const char *path,
                   const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Appends the YAML; base/yaml.h reads the same object from it. */
void commented_write(struct arena *arena, const struct commented *commented, struct buf *out);

/* Appends the text as comment lines, wrapped, each indented by `indent` blanks. A line of the text
 * that begins with two blanks is not wrapped. Control characters become blanks. */
void comment_write(struct arena *arena, struct buf *out, int indent, const char *text);

/* --- analyses.c: the AnalysisTemplates that a Rollout names, with the values of their arguments */

enum { ANALYSES_DEPTH = 8 };

/* One template in one analysis. */
struct run {
    struct rollout *r;
    struct json_object *analysis; /* the Rollout's analysis: templates, args, dryRun */
    const char *path; /* path of the analysis in the Rollout, "spec.strategy.canary.analysis" */
    struct json_object *spec; /* spec of the template */
    const char *name, *label; /* the template's name, and "AnalysisTemplate shop/errors" */
};

/* Calls each() with each template of the analysis, including those that templates name. Templates
 * that are not in the files are reported. */
void analyses_each(struct rollout *r, struct json_object *analysis, const char *path,
                   void (*each)(void *arg, const struct run *run), void *arg);
/* Calls each() with the templates of all analyses of the Rollout that are converted. */
void analyses_all(struct rollout *r, void (*each)(void *arg, const struct run *run), void *arg);

/* The value of an argument; NULL if only a cluster knows it, in which case *why says so. */
const char *argument_value(const struct run *run, const char *name, const char **why);
/* The text with arguments replaced by their values; NULL if an argument has none, with *why. */
const char *arguments_filled(const struct run *run, const char *text, const char **why);
/* The query with {{ variables.NAME }} for arguments; their values are put into variables, an
 * object. An argument without a value becomes "CHANGE-THIS" there and is reported. */
const char *arguments_as_variables(const struct run *run, const char *text, const char *path,
                                   struct json_object *variables, bool *unknown);

/*
 * --- analyses.c: the success and failure conditions of an analysis of Argo Rollouts, as a range of
 * good values.
 *
 * Supported: comparisons of the result with numbers (result, result[0], result.name, asFloat(),
 * asInt(), default(result, N), of all() its elements), joined by &&, ||, ! and parentheses; len(),
 * isNaN() and nil for results without values. Anything else is refused with a sentence.
 */

enum { CONDITION_MAX_BYTES = 4096, CONDITION_DEPTH = 32 };

/* The meaning of a result without values. */
enum condition_empty { CONDITION_EMPTY_BAD, CONDITION_EMPTY_GOOD, CONDITION_EMPTY_ERROR };

struct condition {
    double min, max;   /* infinite if there is no bound; min above max: no value is good */
    bool above, below; /* min or max itself is not good */
    bool elements;     /* it tests all elements of the result */
    enum condition_empty empty;
};

/*
 * The good values: those that `success` accepts and `failure` does not; either may be NULL or "".
 * If both are, all values are good. ERR_INVALID: no range is equivalent, with the reason.
 */
enum err condition_read(const char *success, const char *failure, struct condition *out,
                        struct errinfo *ei) MUST_USE;

/* The bound that excludes an open end: the next number below or above it. */
double condition_least(const struct condition *condition);
double condition_largest(const struct condition *condition);

#endif
