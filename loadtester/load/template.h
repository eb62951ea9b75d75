/*
 * Load tests from many pods: the order given by a webhook, and the Job (batch/v1) or TestRun
 * (k6.io) that it becomes. The object is a template that the operator has put into a folder; a
 * webhook names it and sets a few bounded values, which its containers get as environment
 * variables. Nothing else in the object comes from outside. Pure, except that it reads the
 * template's file.
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
    const char *namespace_; /* namespace of all Jobs and TestRuns */
    int64_t max_pods;       /* per load test */
    int64_t max_duration_ms;
    int64_t max_rate;      /* requests a second per load test */
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
    const char *container; /* the container whose log has the results */
    /* The object, including its name, which is the same for equal orders. Different steps,
     * releases and revisions, and different metadata, have different names. */
    struct json_object *object;
    char name[LOAD_NAME];
    /* Labels of the object, for the Canary, the release and its step. */
    char of_canary[LOAD_HASH], of_release[LOAD_HASH], of_step[LOAD_HASH];
};

/* Names of the labels. */
#define LOAD_LABEL_CANARY  "flagger.app/load-canary"
#define LOAD_LABEL_RELEASE "flagger.app/load-release"
#define LOAD_LABEL_STEP    "flagger.app/load-step"

/* The value of LOAD_LABEL_CANARY. */
void load_canary_hash(const char *namespace_, const char *name, char out[LOAD_HASH]);
/*
 * Reads metadata and the template. policy NULL: the operator has not enabled this, ERR_DENIED. Also
 * ERR_DENIED beyond a limit of the policy, and ERR_INVALID for a mistake, with a sentence that
 * names the field.
 */
enum err load_order_make(struct arena *arena, const struct webhook_message *message,
                         const struct load_policy *policy, const struct kube_resource *resource,
                         struct load_order *out, struct errinfo *ei) MUST_USE;

#endif
