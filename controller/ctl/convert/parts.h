/*
 * The parts of a conversion, shared by the files of this folder. convert.c walks the objects of the
 * files; a Rollout becomes a Deployment (workload.c) and a Canary, whose analysis comes of the steps
 * (steps.c) and of AnalysisTemplates (metrics.c), and whose provider and Service of the traffic
 * routing (traffic.c). live.c writes the order of a switch.
 */
#ifndef CONVERT_PARTS_H
#define CONVERT_PARTS_H

#include "ctl/convert/commented.h"
#include "ctl/convert/rollout.h"

/* One Rollout that is converted. All of it lives in the arena. */
struct rollout {
    struct conversion *conversion;
    struct arena *arena;
    struct json_object *object, *spec, *canary, *green; /* green or canary is NULL, or both */
    const char *name, *namespace_;                      /* "" where none is given */
    const char *label;                                  /* "Rollout shop/web" */
    const char *target;                                 /* name of the Deployment */
    const char *service, *canary_service;               /* NULL if none is named */
    bool managed; /* Argo keeps the hash of a template in the Service's selector */
    struct json_object *template, *selector; /* of the pods; selector may be NULL */
    struct commented *deployment, *out;      /* out: the Canary */
    struct json_object *analysis;            /* of the Canary */
    const char *provider;
    bool splits, tests, mirrors; /* the provider sends shares, A/B tests, copies of the traffic */
    int64_t interval_ms;
    int threshold; /* the least that metrics allow; 0 if none says so */
    const char
        *source_route;  /* kind of the route that the Canary copies; NULL if it makes its own */
    const char *scaler; /* "hpa web" for the commands of a switch; NULL if none */
    struct rollout *next;
};

/* --- convert.c */

/* Adds a line to the list at the end, of fields without a counterpart: "LABEL: PATH: TEXT". */
void conversion_lose(struct conversion *conversion, const char *label, const char *path,
                     const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The object of this kind and name in the files; one without a namespace matches any. group: of the
 * apiVersion, "" of the core. NULL if there is none. */
struct json_object *conversion_find(const struct conversion *conversion, const char *group,
                                    const char *kind, const char *namespace_, const char *name);
/* "is not in the files", or its other namespace, of an object that was not found. */
const char *conversion_absent(const struct conversion *conversion, const char *group,
                              const char *kind, const char *namespace_, const char *name);
/* Calls each() with every object of the kind in the namespace, until it returns true. */
bool conversion_each(const struct conversion *conversion, const char *group, const char *kind,
                     const char *namespace_, bool (*each)(void *arg, struct json_object *object),
                     void *arg);
/* Appends a document; the caller may go on adding to it. */
struct commented *conversion_add(struct conversion *conversion, struct json_object *object);
/* An object with apiVersion, kind, name and, if it is not "", namespace. */
struct json_object *object_new(struct arena *arena, const char *api_version, const char *kind,
                               const char *namespace_, const char *name);
/* A copy without what an API server has put into it. */
struct json_object *object_as_written(struct arena *arena, struct json_object *object);
/* The text of a string, number or boolean; NULL for other values. */
const char *value_text(struct arena *arena, struct json_object *value);
/* A pause or interval: seconds as a number or text, or a Go duration. False if it is none. */
bool value_duration(struct json_object *value, int64_t *ms);
const char *duration_text(struct arena *arena, int64_t ms);

/* --- fields.c */

/* Reports each field of the spec that has no counterpart, or is not known. */
void fields_lose(struct conversion *conversion, enum field_kind kind, const char *label,
                 struct json_object *spec);

/* --- the parts of a Rollout */

/* The Deployment, its name, template and selector. False: no pods are known, which was reported. */
bool workload_convert(struct rollout *r);
/* Autoscalers and PodDisruptionBudgets of its pods. */
void workload_scalers(struct rollout *r);
/* True if the pods have all labels of the selector, a map that is not empty. */
bool workload_selected(const struct rollout *r, struct json_object *selector);
/* provider, service, references. */
void traffic_convert(struct rollout *r);
/* The strategy: steps, gates, promotion. */
void steps_convert(struct rollout *r);
/* The metrics of all analyses, with their MetricTemplates. */
void metrics_convert(struct rollout *r);
/* How long a run of these analyses takes, at least, if it checks a number of times; 0 if not. */
int64_t metrics_run_ms(const struct rollout *r, struct json_object *analysis);
/* The shortest interval of their metrics, 0 if none has one. */
int64_t metrics_interval_ms(const struct rollout *r, struct json_object *analysis);
/* Appends the order of a switch, as comments. */
void live_write(const struct rollout *r, struct buf *out);

#endif
