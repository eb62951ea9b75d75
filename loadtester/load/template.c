#include "loadtester/load/template.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/yaml.h"

const struct kube_resource load_jobs = {
    .group = "batch", .version = "v1", .plural = "jobs", .kind = "Job"};
const struct kube_resource load_testruns = {
    .group = "k6.io", .version = "v1alpha1", .plural = "testruns", .kind = "TestRun"};
const struct kube_resource load_pods = {
    .group = "", .version = "v1", .plural = "pods", .kind = "Pod"};

/* KEPT_S: time for which a finished Job and its pods stay, for people and for a load tester that
 * restarts. MARGIN_S: time added to the duration, for pods to be scheduled and images to be
 * pulled. */
enum {
    MAX_TEMPLATE = 256 * 1024,
    MAX_CONCURRENCY = 10000,
    MAX_BACKOFF = 6,
    KEPT_S = 3600,
    MARGIN_S = 300,
    SECOND_MS = 1000,
    NAME_PART = 30,
    HASH_PART = 16
};
static const int64_t MAX_REQUESTS = 1000000000;

static const char results_annotation[] = "flagger.app/results";

/* --- values of the metadata */

static void put_env(struct load_order *order, const char *name, const char *value)
{
    if (order->n_env < LOAD_MAX_ENV)
        order->env[order->n_env++] = (struct load_env){name, value};
}

static void put_number(struct arena *arena, struct load_order *order, const char *name, int64_t n)
{
    put_env(order, name, arena_printf(arena, "%lld", (long long)n));
}

/* metadata.KEY as a whole number from 1 to max; `missing` if absent. limit: the option that sets
 * max, NULL if it is fixed. */
static enum err read_count(const struct webhook_message *message, const char *key, int64_t max,
                           const char *limit, int64_t missing, int64_t *out, struct errinfo *ei)
{
    const char *text = webhook_metadata(message, key);
    char *end;

    *out = missing;
    if (!text)
        return ERR_OK;
    bool is_number = strspn(text, "0123456789") == strlen(text) && *text && strlen(text) <= 15;
    *out = is_number ? strtoll(text, &end, 10) : 0;
    if (!is_number || *out < 1)
        return err_set(ei, ERR_INVALID,
                       "metadata.%s: expected a whole number from 1 on, found \"%.80s\"", key,
                       text);
    if (*out > max)
        return err_set(ei, ERR_DENIED, "metadata.%s: expected at most %lld%s%s%s, found %.80s", key,
                       (long long)max, limit ? " (" : "", limit ? limit : "", limit ? ")" : "",
                       text);
    return ERR_OK;
}

/*
 * A URL without characters that have a meaning to a shell, or to Kubernetes in a variable's value
 * ($(NAME)).
 */
static enum err read_url(struct arena *arena, const struct webhook_message *message,
                         struct load_order *order, struct errinfo *ei)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-._~:/?#[]@&+,=%";
    const char *url = webhook_metadata(message, "url");

    if (!url)
        return ERR_OK;
    size_t good = strspn(url, allowed);
    bool is_http = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    bool is_grpc = !strstr(url, "://") && *url && *url != '-';
    if ((!is_http && !is_grpc) || strlen(url) > LOAD_URL)
        return err_set(ei, ERR_INVALID,
                       "metadata.url: expected a URL such as http://podinfo-canary.test/, or "
                       "host:port, of at most %d bytes, found \"%.80s\"",
                       LOAD_URL, url);
    if (url[good])
        return err_set(ei, ERR_INVALID,
                       "metadata.url: expected letters, digits and -._~:/?#[]@&+,=%%, found "
                       "another character at %zu; write it as %%XX",
                       good + 1);
    put_env(order, "TARGET_URL", arena_strdup(arena, url));
    return ERR_OK;
}

static enum err read_duration(struct arena *arena, const struct webhook_message *message,
                              const struct load_policy *policy, struct load_order *order,
                              struct errinfo *ei)
{
    const char *text = webhook_metadata(message, "duration");
    char limit[DURATION_TEXT], shown[DURATION_TEXT];

    if (!text)
        return ERR_OK;
    if (duration_parse_ms(text, &order->duration_ms, NULL) != ERR_OK ||
        order->duration_ms < SECOND_MS || order->duration_ms % SECOND_MS != 0)
        return err_set(ei, ERR_INVALID,
                       "metadata.duration: expected whole seconds such as 1m30s, found \"%.80s\"",
                       text);
    if (order->duration_ms > policy->max_duration_ms)
        return err_set(ei, ERR_DENIED,
                       "metadata.duration: expected at most %s (--job-max-duration), found %.80s",
                       duration_format(policy->max_duration_ms * 1000000, limit), text);
    put_env(order, "DURATION",
            arena_strdup(arena, duration_format(order->duration_ms * 1000000, shown)));
    put_number(arena, order, "DURATION_SECONDS", order->duration_ms / SECOND_MS);
    return ERR_OK;
}

/* A number for the whole load test, and each pod's part of it, rounded up. */
static enum err read_shared(struct arena *arena, const struct webhook_message *message,
                            const char *key, const char *const names[2], int64_t max,
                            const char *limit, struct load_order *order, struct errinfo *ei)
{
    int64_t all;
    enum err err = read_count(message, key, max, limit, 0, &all, ei);

    if (err != ERR_OK || all == 0)
        return err;
    put_number(arena, order, names[0], all);
    put_number(arena, order, names[1], (all + order->pods - 1) / order->pods);
    return ERR_OK;
}

static enum err read_values(struct arena *arena, const struct webhook_message *message,
                            const struct load_policy *policy, struct load_order *order,
                            struct errinfo *ei)
{
    static const char *const rates[2] = {"RATE", "RATE_PER_POD"};
    static const char *const requests[2] = {"REQUESTS", "REQUESTS_PER_POD"};
    int64_t concurrency = 0;
    enum err err =
        read_count(message, "parallelism", policy->max_pods, "--job-max-pods", 1, &order->pods, ei);

    if (err == ERR_OK)
        err = read_url(arena, message, order, ei);
    if (err == ERR_OK)
        err = read_duration(arena, message, policy, order, ei);
    if (err == ERR_OK)
        err = read_shared(arena, message, "rate", rates, policy->max_rate, "--job-max-rate", order,
                          ei);
    if (err == ERR_OK)
        err = read_shared(arena, message, "requests", requests, MAX_REQUESTS, NULL, order, ei);
    if (err == ERR_OK)
        err = read_count(message, "concurrency", MAX_CONCURRENCY, NULL, 0, &concurrency, ei);
    if (err == ERR_OK && concurrency > 0)
        put_number(arena, order, "CONCURRENCY", concurrency);
    put_number(arena, order, "PODS", order->pods);
    return err;
}

/* --- the name, and labels */

static void hash_of(const char *text, char out[LOAD_HASH])
{
    char all[SHA256_TEXT];

    sha256_hex(text, strlen(text), all);
    memcpy(out, all, LOAD_HASH - 1);
    out[LOAD_HASH - 1] = '\0';
}

void load_canary_hash(const char *namespace_, const char *name, char out[LOAD_HASH])
{
    struct arena *arena = arena_new();

    hash_of(arena_printf(arena, "%s/%s", namespace_, name), out);
    arena_free(arena);
}

/* "load-podinfo-0123456789abcdef" */
static void set_name(struct arena *arena, const struct webhook_message *message,
                     struct load_order *order)
{
    char hash[LOAD_HASH], part[NAME_PART + 1];
    size_t len = 0;
    const char *metadata = json_text_sorted(arena, message->metadata);

    for (const char *at = message->name; *at && len < NAME_PART; at++)
        part[len++] = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    part[len] = '\0';
    load_canary_hash(message->namespace_, message->name, order->of_canary);
    hash_of(arena_printf(arena, "%s %s", order->checksum, order->release), order->of_release);
    hash_of(arena_printf(arena, "%s %s %s", order->checksum, order->release, order->step),
            order->of_step);
    hash_of(arena_printf(arena, "%s %s %s %s", order->of_canary, order->of_step,
                         order->resource->plural, metadata),
            hash);
    snprintf(order->name, sizeof(order->name), "load-%s%s%.*s", part, len ? "-" : "", HASH_PART,
             hash);
}

static void set_labels(struct json_object *metadata, const struct load_order *order)
{
    struct json_object *labels = json_sub(metadata, "labels");

    json_set_str(labels, "app.kubernetes.io/managed-by", "flagger-loadtester");
    json_set_str(labels, LOAD_LABEL_CANARY, order->of_canary);
    json_set_str(labels, LOAD_LABEL_RELEASE, order->of_release);
    json_set_str(labels, LOAD_LABEL_STEP, order->of_step);
}

static void set_metadata(struct arena *arena, const struct load_policy *policy,
                         const struct load_order *order)
{
    struct json_object *metadata = json_sub(order->object, "metadata");
    struct json_object *notes = json_sub(metadata, "annotations");

    json_del(metadata, "generateName");
    json_set_str(metadata, "name", order->name);
    json_set_str(metadata, "namespace", policy->namespace_);
    set_labels(metadata, order);
    json_set_str(notes, "flagger.app/canary",
                 arena_printf(arena, "%s/%s", order->canary_namespace, order->canary_name));
    json_set_str(notes, "flagger.app/step", order->step);
    json_set_str(notes, "flagger.app/checksum", order->checksum);
    json_set_str(notes, "flagger.app/template", order->template_);
}

/* --- the object */

/* Our variables come first, and replace those in the template. */
static void set_env(struct json_object *owner, const struct load_order *order)
{
    struct json_object *old = json_at(owner, "env", NULL);
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < order->n_env; i++) {
        struct json_object *one = json_object_new_object();
        json_set_str(one, "name", order->env[i].name);
        json_set_str(one, "value", order->env[i].value);
        json_object_array_add(list, one);
    }
    for (size_t i = 0; i < json_len(old); i++) {
        struct json_object *one = json_elem(old, i);
        const char *name = json_str_at(one, "name", NULL);
        if (!name || !json_find(list, "name", name, NULL))
            json_object_array_add(list, json_object_get(one));
    }
    json_set(owner, "env", list);
    json_object_put(list);
}

static int64_t clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static enum err set_job(const struct load_policy *policy, struct load_order *order,
                        struct errinfo *ei)
{
    struct json_object *spec = json_sub(order->object, "spec");
    struct json_object *template = json_sub(spec, "template"), *pod = json_sub(template, "spec");
    struct json_object *containers = json_at(pod, "containers", NULL);
    int64_t longest = policy->max_duration_ms / SECOND_MS + MARGIN_S;
    int64_t wanted = order->duration_ms ? order->duration_ms / SECOND_MS + MARGIN_S : longest;

    if (json_len(containers) == 0)
        return err_set(ei, ERR_INVALID,
                       "template %s: spec.template.spec.containers: expected a container",
                       order->template_);
    json_set_str(spec, "completionMode", "Indexed");
    json_set_int(spec, "parallelism", order->pods);
    json_set_int(spec, "completions", order->pods);
    json_set_int(spec, "backoffLimit",
                 clamp(json_int_at(spec, 0, "backoffLimit", NULL), 0, MAX_BACKOFF));
    json_set_int(spec, "activeDeadlineSeconds",
                 clamp(json_int_at(spec, wanted, "activeDeadlineSeconds", NULL), 1, longest));
    json_set_int(
        spec, "ttlSecondsAfterFinished",
        clamp(json_int_at(spec, KEPT_S, "ttlSecondsAfterFinished", NULL), MARGIN_S, 24 * KEPT_S));
    json_del(spec, "suspend");
    json_del(spec, "selector");
    json_del(spec, "manualSelector");
    json_set_str(pod, "restartPolicy", "Never"); /* otherwise a log is lost with its container */
    set_labels(json_sub(template, "metadata"), order);
    for (size_t i = 0; i < json_len(containers); i++)
        set_env(json_elem(containers, i), order);
    order->container = json_str_at(json_elem(containers, 0), "name", NULL);
    return ERR_OK;
}

static enum err set_testrun(struct load_order *order)
{
    struct json_object *spec = json_sub(order->object, "spec"), *runner = json_sub(spec, "runner");

    json_set_int(spec, "parallelism", order->pods);
    json_del(spec, "cleanup"); /* its pods must stay until their logs have been read */
    json_del(spec, "paused");
    set_labels(json_sub(runner, "metadata"), order);
    set_env(runner, order);
    order->container = "k6";
    return ERR_OK;
}

/* --- the template */

static enum err read_format(struct arena *arena, const struct webhook_message *message,
                            struct load_order *order, struct errinfo *ei)
{
    const char *given = webhook_metadata(message, "results");
    const char *noted =
        json_str_at(order->object, "metadata", "annotations", results_annotation, NULL);
    const char *name = given ? given : noted;

    order->format = name ? results_format_find(name) : NULL;
    if (order->format)
        return ERR_OK;
    if (name)
        return err_set(ei, ERR_INVALID, "%s%s: expected %s, found \"%.80s\"",
                       given ? "metadata.results"
                             : arena_printf(arena, "template %s: annotation ", order->template_),
                       given ? "" : results_annotation, results_format_names(arena), name);
    if (order->resource == &load_testruns) {
        order->format = results_format_find("k6-json");
        return ERR_OK;
    }
    return err_set(ei, ERR_INVALID,
                   "metadata.results: expected %s, in the metadata or in the annotation %s of "
                   "template %s",
                   results_format_names(arena), results_annotation, order->template_);
}

static enum err read_template(struct arena *arena, const struct load_policy *policy,
                              struct load_order *order, struct errinfo *ei)
{
    const char *name = order->template_;
    struct json_object *documents;
    struct errinfo why = {0};

    if (!kube_is_label(name))
        return err_set(ei, ERR_INVALID,
                       "metadata.template: expected the name of a template of the operator, such "
                       "as hey, found \"%.80s\"",
                       name);
    enum err err =
        yaml_parse_file(arena, arena_printf(arena, "%s/%s.yaml", policy->templates, name),
                        MAX_TEMPLATE, &documents, &why);
    if (err == ERR_NOT_FOUND)
        return err_set(ei, ERR_DENIED,
                       "metadata.template: the operator allows no template %s (no %s.yaml in "
                       "--job-templates)",
                       name, name);
    if (err != ERR_OK)
        return err_set(ei, ERR_INVALID, "template %s: %s", name, why.text);
    struct json_object *first = json_elem(documents, 0);
    const char *kind = json_str_at(first, "kind", NULL);
    const char *version = json_str_at(first, "apiVersion", NULL);
    const char *wanted = kube_api_version(arena, order->resource);
    if (json_len(documents) != 1 || !kind || strcmp(kind, order->resource->kind) != 0 || !version ||
        strcmp(version, wanted) != 0)
        return err_set(ei, ERR_INVALID,
                       "template %s: expected one document with apiVersion %s and kind %s, found "
                       "%s %s",
                       name, wanted, order->resource->kind, version ? version : "no version",
                       kind ? kind : "and no kind");
    order->object = first;
    return ERR_OK;
}

static enum err check_switched_on(const struct load_policy *policy,
                                  const struct kube_resource *resource, struct errinfo *ei)
{
    if (policy)
        return ERR_OK;
    return err_set(ei, ERR_DENIED,
                   "tasks of type %s are not switched on here: the load tester has no "
                   "--job-templates and --job-namespace",
                   resource == &load_jobs ? "job" : "k6");
}

enum err load_order_make(struct arena *arena, const struct webhook_message *message,
                         const struct load_policy *policy, const struct kube_resource *resource,
                         struct load_order *out, struct errinfo *ei)
{
    const char *template = webhook_metadata(message, "template");
    enum err err = check_switched_on(policy, resource, ei);

    if (err != ERR_OK)
        return err;
    if (!template || !*template)
        return err_set(ei, ERR_INVALID, "template not found in metadata");
    *out = (struct load_order){
        .resource = resource,
        .template_ = arena_strdup(arena, template),
        .canary_namespace = arena_strdup(arena, message->namespace_),
        .canary_name = arena_strdup(arena, message->name),
        .checksum = arena_strdup(arena, message->checksum),
        .release = arena_strdup(arena, message->release ? message->release : ""),
        .step = arena_strdup(arena, message->step ? message->step : ""),
    };
    err = read_template(arena, policy, out, ei);
    if (err == ERR_OK)
        err = read_values(arena, message, policy, out, ei);
    if (err == ERR_OK)
        err = read_format(arena, message, out, ei);
    if (err != ERR_OK)
        return err;
    put_env(out, "CANARY_NAME", out->canary_name);
    put_env(out, "CANARY_NAMESPACE", out->canary_namespace);
    set_name(arena, message, out);
    set_metadata(arena, policy, out);
    return resource == &load_jobs ? set_job(policy, out, ei) : set_testrun(out);
}
