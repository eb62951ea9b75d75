/*
 * The readers that canary_view() is made of, one file each; nobody else includes this but the
 * readers of an Application, for the readings at the end. Each fills its part of *out from a tree that `r` has handed out, records the first mistake in `r`, and
 * leaves out's strings in the tree or the arena of `r`. After a mistake the part is incomplete and
 * must not be used.
 */
#ifndef PROTO_CANARY_PARTS_H
#define PROTO_CANARY_PARTS_H

#include "proto/canary.h"

/* canary_service.c: out->service; out->target must have been read. */
void canary_read_service(struct json_reader *r, struct json_object *spec, struct canary *out);

/* canary_analysis.c: out->analysis from `json`, which is spec.analysis, or spec.canaryAnalysis if
 * `legacy`; with NULL every field has its default. */
void canary_read_analysis(struct json_reader *r, struct json_object *json, bool legacy,
                          struct canary_analysis *out);

/* canary_checks.c: analysis.metrics, analysis.webhooks and analysis.alerts. */
void canary_read_metrics(struct json_reader *r, struct json_object *analysis,
                         struct canary_analysis *out);
void canary_read_webhooks(struct json_reader *r, struct json_object *analysis,
                          struct canary_analysis *out);
void canary_read_alerts(struct json_reader *r, struct json_object *analysis,
                        struct canary_analysis *out);

/* canary_judge.c: analysis.judge; what a metric says of it, whose other fields must have been read;
 * and whether both go together. */
void canary_read_judge(struct json_reader *r, struct json_object *analysis,
                       struct canary_judge *out);
void canary_read_metric_judge(struct json_reader *r, struct json_object *metric, bool judged,
                              struct canary_metric *out);
void canary_check_judge(struct json_reader *r, struct json_object *analysis,
                        const struct canary_analysis *out);

/* canary_parts.c: readings that several parts share. */

/* {apiVersion, kind, name, namespace} under `key`; all empty when it is absent. name is always
 * required. */
struct canary_ref canary_read_ref(struct json_reader *r, struct json_object *parent,
                                  const char *key, enum json_need need);
/* A string that, when given, is not empty. */
const char *canary_read_name(struct json_reader *r, struct json_object *obj, const char *key,
                             enum json_need need);
/* Object `key` whose values are all strings, or NULL. */
struct json_object *canary_read_map(struct json_reader *r, struct json_object *obj,
                                    const char *key);
/* Array `key` whose elements are all strings, or NULL. */
struct json_object *canary_read_strings(struct json_reader *r, struct json_object *obj,
                                        const char *key);
/* Records "PATH[index]: expected EXPECTED, found ...". */
void canary_fail_element(struct json_reader *r, struct json_object *array, size_t index,
                         const char *expected);
/* Elements of an array that are objects: NULL, with a mistake recorded, when element `index` is
 * none. */
struct json_object *canary_read_element(struct json_reader *r, struct json_object *array,
                                        size_t index);
int canary_read_int(struct json_reader *r, struct json_object *obj, const char *key, int min,
                    int max, int missing);

#endif
