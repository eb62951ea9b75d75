/* The AnalysisTemplates that a Rollout names, with the values of their arguments. */
#ifndef CONVERT_ANALYSES_H
#define CONVERT_ANALYSES_H

#include "ctl/convert/parts.h"

enum { ANALYSES_DEPTH = 8 };

/* One template in one analysis. */
struct run {
    struct rollout *r;
    struct json_object *analysis; /* of the Rollout: templates, args, dryRun */
    const char *path;             /* of it in the Rollout, "spec.strategy.canary.analysis" */
    struct json_object *spec;     /* of the template */
    const char *name, *label;     /* of the template, "AnalysisTemplate shop/errors" */
};

/* Calls each() with each template of the analysis, also with those that templates name. Templates
 * that are not in the files are reported. */
void analyses_each(struct rollout *r, struct json_object *analysis, const char *path,
                   void (*each)(void *arg, const struct run *run), void *arg);
/* Calls each() with the templates of all analyses of the Rollout that are made here. */
void analyses_all(struct rollout *r, void (*each)(void *arg, const struct run *run), void *arg);

/* The value of an argument; NULL where only a cluster knows it, and *why then says so. */
const char *argument_value(const struct run *run, const char *name, const char **why);
/* The text with the values of arguments; NULL where one has none, with *why. */
const char *arguments_filled(const struct run *run, const char *text, const char **why);
/* The query with {{ variables.NAME }} for arguments; their values are put into variables, an object.
 * What has no value is put there as "CHANGE-THIS" and reported. */
const char *arguments_as_variables(const struct run *run, const char *text, const char *path,
                                   struct json_object *variables, bool *unknown);

#endif
