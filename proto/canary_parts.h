/*
 * Readers shared by canary_view(), application_view() and releaseplan_view(); private to them. Each
 * records the first mistake in `r`; strings live in the tree or in the arena of `r`. After a
 * mistake the result is incomplete and must not be used.
 */
#ifndef PROTO_CANARY_PARTS_H
#define PROTO_CANARY_PARTS_H

#include "proto/canary.h"

/* canary_analysis.c: out->analysis from `json`, which is spec.analysis, or spec.canaryAnalysis if
 * `legacy`; all defaults if NULL. */
void canary_read_analysis(struct json_reader *r, struct json_object *json, bool legacy,
                          struct canary_analysis *out);

/* canary_pushes.c: spec.pushes. */
void canary_read_pushes(struct json_reader *r, struct json_object *spec, struct canary_pushes *out);

/* --- canary_fields.c: fields with a single plain value, one row each */

enum canary_field_type {
    FIELD_INT,      /* int, from `min` to `max` */
    FIELD_INT64,    /* int64_t, the same */
    FIELD_DURATION, /* int64_t, milliseconds, at least `min`, and at most `max` unless that is 0 */
    FIELD_BOOL,
    FIELD_NAME,   /* const char *, unchanged if missing or empty */
    FIELD_WORD,   /* an enum: the index of the word; empty counts as missing */
    FIELD_SECOND, /* bool: true for the second of the two words */
    FIELD_WEIGHT, /* int, hundredths of a percent: `min` to `max` whole percents */
    FIELD_SHARE,  /* the same, as percentages with at most two decimals, from 0.01; 0 if missing */
};

struct canary_field {
    const char *name; /* NULL ends the rows */
    enum canary_field_type type;
    size_t offset; /* offset in the structure of its group */
    int64_t min, max, missing;
    const char *const *words; /* NULL-terminated */
};

/* Groups of fields, each of an object in the spec; they are stored in the structure in brackets. */
enum canary_fields {
    FIELDS_SPEC,           /* (struct canary) */
    FIELDS_ROLLBACK,       /* (struct canary_way_back) */
    FIELDS_PUSHES,         /* (struct canary_pushes) */
    FIELDS_SERVICE,        /* (struct canary_service) */
    FIELDS_ANALYSIS,       /* (struct canary_analysis) */
    FIELDS_STEP,           /* one of steps (struct canary_step) */
    FIELDS_PROMOTION_STEP, /* one of promotion.steps (struct canary_return_step) */
    FIELDS_ROLLBACK_STEP,  /* one of rollback.steps (struct canary_return_step) */
    FIELDS_BAKE,           /* (struct canary_bake) */
    FIELDS_CAPACITY,       /* (struct canary_analysis) */
    FIELDS_SCALE,          /* (struct canary_scale) */
    FIELDS_AFFINITY,       /* (struct canary_affinity) */
    FIELDS_JUDGE,          /* (struct canary_judge) */
    FIELDS_METRIC,
    FIELDS_LOAD_TEST, /* one of metrics (struct canary_metric) */
    FIELDS_WEBHOOK,   /* one of webhooks (struct canary_webhook) */
    FIELDS_COUNT,
};

struct canary_group {
    const char *path; /* "spec.analysis" */
    const struct canary_field *fields;
};
extern const struct canary_group canary_groups[FIELDS_COUNT];

/* Reads all fields of a group from `json`, or the defaults if NULL, into `out`, the structure of
 * the group. */
void canary_read_fields(struct json_reader *r, struct json_object *json, enum canary_fields fields,
                        void *out);

/* --- canary.c */

/* {apiVersion, kind, name, namespace} under `key`; all empty if missing. name is always
 * required. */
struct canary_ref canary_read_ref(struct json_reader *r, struct json_object *parent,
                                  const char *key, enum json_need need);
/* A string that is not empty, if present. */
const char *canary_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                             enum json_need need);
/* Object `key` with only strings as values, or NULL. */
struct json_object *canary_read_map(struct json_reader *r, struct json_object *obj,
                                    const char *key);
/* Array `key` with only strings as elements, or NULL. */
struct json_object *canary_read_strings(struct json_reader *r, struct json_object *obj,
                                        const char *key);
/* Records "PATH[index]: expected EXPECTED, found ...". */
void canary_fail_element(struct json_reader *r, struct json_object *array, size_t index,
                         const char *expected);
/* An element of an array of objects; NULL, and a mistake, if element `index` is not an object. */
struct json_object *canary_read_element(struct json_reader *r, struct json_object *array,
                                        size_t index);
int canary_read_int(struct json_reader *r, struct json_object *obj, const char *key, int min,
                    int max, int missing);

#endif
