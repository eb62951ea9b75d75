/*
 * Load tests from many pods: an order of a webhook, and the Job (batch/v1) or TestRun (k6.io) that
 * it becomes. The object is a template that the operator has put into a folder; a webhook names it
 * and sets a few bounded values, which its containers see as environment variables. Nothing else of
 * the object comes from outside. Pure, but for the reading of the template's file.
 */
#ifndef LOADTESTER_LOAD_TEMPLATE_H
#define LOADTESTER_LOAD_TEMPLATE_H

#include "kube/resource.h"
#include "loadtester/load/results.h"
#include "proto/webhook_message.h"

extern const struct kube_resource load_jobs, load_testruns, load_pods;

/* Limits set by the operator. Strings outlive all orders. */
struct load_policy {
    const char *templates;  /* folder of NAME.yaml */
    const char *namespace_; /* of all Jobs and TestRuns */
    int64_t max_pods;       /* of one load test */
    int64_t max_duration_ms;
    int64_t max_rate;      /* requests a second of one load test */
    int64_t max_log_bytes; /* of one pod */
};

enum { LOAD_MAX_ENV = 12, LOAD_NAME = 64, LOAD_HASH = 33, LOAD_URL = 2048 };

struct load_env {
    const char *name, *value;
};

/* Everything lives in the arena given to load_order_make(). */
struct load_order {
    const struct kube_resource *resource; /* load_jobs or load_testruns */
    const char *template_;
    const char *canary_namespace, *canary_name, *checksum;
    const char *release, *step; /* "" if unknown */
    int64_t pods;
    int64_t duration_ms; /* 0 if not given */
    struct load_env env[LOAD_MAX_ENV];
    int n_env;
    const struct results_format *format;
    const char *container; /* the one whose log has the results */
    /* The object, with its name: the same for equal orders. Different steps, releases and
     * revisions, and different metadata, have different names. */
    struct json_object *object;
    char name[LOAD_NAME];
    /* Labels of the object: of the Canary, of the release and of its step. */
    char of_canary[LOAD_HASH], of_release[LOAD_HASH], of_step[LOAD_HASH];
};

/* Names of the labels. */
#define LOAD_LABEL_CANARY  "flagger.app/load-canary"
#define LOAD_LABEL_RELEASE "flagger.app/load-release"
#define LOAD_LABEL_STEP    "flagger.app/load-step"

/* The value of LOAD_LABEL_CANARY. */
void load_canary_hash(const char *namespace_, const char *name, char out[LOAD_HASH]);
/*
 * Reads metadata and the template. policy NULL: the operator has not switched this on, ERR_DENIED.
 * ERR_DENIED also beyond a limit of the policy, ERR_INVALID for a mistake; a sentence with the
 * field's name.
 */
enum err load_order_make(struct arena *arena, const struct webhook_message *message,
                         const struct load_policy *policy, const struct kube_resource *resource,
                         struct load_order *out, struct errinfo *ei) MUST_USE;

#endif
