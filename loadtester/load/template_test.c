/* template: orders become Jobs and TestRuns within the operator's limits. */
#include <string.h>
#include <unistd.h>

#include "loadtester/load/template.h"
#include "test/rows.h"
#include "test/unit.h"

static const char hey[] =
    "apiVersion: batch/v1\n"
    "kind: Job\n"
    "metadata:\n"
    "  generateName: x-\n"
    "  namespace: kube-system\n"
    "  annotations: {flagger.app/results: hey-csv}\n"
    "spec:\n"
    "  backoffLimit: 100\n"
    "  activeDeadlineSeconds: 1000000\n"
    "  suspend: true\n"
    "  template:\n"
    "    spec:\n"
    "      restartPolicy: OnFailure\n"
    "      containers:\n"
    "      - name: hey\n"
    "        image: hey:1\n"
    "        env: [{name: TARGET_URL, value: old}, {name: MINE, value: kept}]\n"
    "        args: [-o, csv, $(TARGET_URL)]\n";
static const char k6[] = "apiVersion: k6.io/v1alpha1\n"
                         "kind: TestRun\n"
                         "spec: {parallelism: 99, cleanup: post, script: {configMap: {name: x}}}\n";

static struct load_policy policy = {.namespace_ = "load",
                                    .max_pods = 8,
                                    .max_duration_ms = 600000,
                                    .max_rate = 1000,
                                    .max_log_bytes = 1 << 20};

static int set_up(void **state)
{
    policy.templates = unit_folder();
    unit_put("hey.yaml", hey);
    unit_put("k6.yaml", k6);
    unit_put("bare.yaml", "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {containers: "
                          "[{name: a, image: b}]}}}\n");
    unit_put("none.yaml",
             "apiVersion: batch/v1\nkind: Job\nmetadata: {annotations: {flagger.app/results: "
             "jtl}}\n");
    unit_put("odd.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {annotations: "
                         "{flagger.app/results: xml}}\n");
    unit_put("pod.yaml", "apiVersion: v1\nkind: Pod\n");
    unit_put("broken.yaml", "a: [\n");
    return 0;
}

UNIT_FIXTURE(.set_up = set_up);

static enum err make(struct arena *arena, const struct kube_resource *resource,
                     const char *metadata, const char *step, struct load_order *out,
                     struct errinfo *ei)
{
    const struct webhook_message message = {.name = "podinfo.v2",
                                            .namespace_ = "test",
                                            .phase = "Progressing",
                                            .checksum = "c1",
                                            .release = "2026-01-01T00:00:00Z",
                                            .step = step,
                                            .metadata = rows_json(arena, metadata)};

    return load_order_make(arena, &message, &policy, resource, out, ei);
}

static const struct {
    const char *metadata, *sentence;
    bool denied;
} mistakes[] = {
    {"{}", "template not found in metadata", false},
    {"{\"template\":\"../hey\"}", "metadata.template: expected the name of a template", false},
    {"{\"template\":\"wrk\"}",
     "metadata.template: the operator allows no template wrk (no wrk.yaml in --job-templates)",
     true},
    {"{\"template\":\"pod\"}",
     "template pod: expected one document with apiVersion batch/v1 and kind Job, found v1 Pod",
     false},
    {"{\"template\":\"k6\"}", "expected one document with apiVersion batch/v1 and kind Job", false},
    {"{\"template\":\"broken\"}", "template broken: ", false},
    {"{\"template\":\"none\"}",
     "template none: spec.template.spec.containers: expected a container", false},
    {"{\"template\":\"odd\"}",
     "template odd: annotation flagger.app/results: expected hey-csv, ghz-json, k6-json, jtl or "
     "histogram, found \"xml\"",
     false},
    {"{\"template\":\"bare\"}", "metadata.results: expected hey-csv", false},
    {"{\"template\":\"hey\",\"results\":\"x\"}", "metadata.results: expected hey-csv", false},
    {"{\"template\":\"hey\",\"parallelism\":\"9\"}",
     "metadata.parallelism: expected at most 8 (--job-max-pods), found 9", true},
    {"{\"template\":\"hey\",\"parallelism\":\"0\"}",
     "metadata.parallelism: expected a whole number from 1 on, found \"0\"", false},
    {"{\"template\":\"hey\",\"parallelism\":\"-1\"}", "metadata.parallelism", false},
    {"{\"template\":\"hey\",\"parallelism\":\"99999999999999999999\"}", "metadata.parallelism",
     false},
    {"{\"template\":\"hey\",\"duration\":\"11m\"}",
     "metadata.duration: expected at most 10m0s (--job-max-duration), found 11m", true},
    {"{\"template\":\"hey\",\"duration\":\"1.5s\"}", "metadata.duration: expected whole seconds",
     false},
    {"{\"template\":\"hey\",\"duration\":\"soon\"}", "metadata.duration", false},
    {"{\"template\":\"hey\",\"rate\":\"1001\"}",
     "metadata.rate: expected at most 1000 (--job-max-rate), found 1001", true},
    {"{\"template\":\"hey\",\"requests\":\"1000000001\"}", "metadata.requests: expected at most",
     true},
    {"{\"template\":\"hey\",\"concurrency\":\"1e3\"}", "metadata.concurrency", false},
    {"{\"template\":\"hey\",\"url\":\"ftp://x\"}", "metadata.url: expected a URL", false},
    {"{\"template\":\"hey\",\"url\":\"-o\"}", "metadata.url: expected a URL", false},
    {"{\"template\":\"hey\",\"url\":\"http://x/$(SECRET)\"}",
     "metadata.url: expected letters, digits and -._~:/?#[]@&+,=%, found another character at 10",
     false},
    {"{\"template\":\"hey\",\"url\":\"http://x/;reboot\"}", "metadata.url", false},
    {"{\"template\":\"hey\",\"url\":\"http://x/ y\"}", "metadata.url", false},
    {"{\"template\":\"hey\",\"url\":\"http://x/`id`\"}", "metadata.url", false},
    {"{\"template\":\"hey\",\"url\":\"http://x/\\n\"}", "metadata.url", false},
};

CASE(mistakes_are_told_with_their_field)
{
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        struct load_order order;
        struct errinfo info = {0};
        enum err err = make(arena, &load_jobs, mistakes[i].metadata, "weight 10", &order, &info);
        if (err != (mistakes[i].denied ? ERR_DENIED : ERR_INVALID) ||
            !strstr(info.text, mistakes[i].sentence))
            fail_msg("case %zu: %d %s", i, (int)err, info.text);
    }
}

CASE(without_the_operators_consent_there_is_none)
{
    const struct webhook_message message = {.name = "a", .namespace_ = "b", .checksum = "c"};
    struct load_order order;
    struct errinfo info = {0};

    assert_int_equal(load_order_make(arena, &message, NULL, &load_jobs, &order, &info), ERR_DENIED);
    assert_string_equal(info.text, "tasks of type job are not switched on here: the load tester "
                                   "has no --job-templates and --job-namespace");
    assert_int_equal(load_order_make(arena, &message, NULL, &load_testruns, &order, &info),
                     ERR_DENIED);
    assert_non_null(strstr(info.text, "type k6"));
}

static const char *env_of(struct json_object *owner, const char *name)
{
    return json_str_at(json_find(json_at(owner, "env", NULL), "name", name, NULL), "value", NULL);
}

CASE(a_job_is_the_template_with_bounded_values)
{
    struct load_order order;
    struct errinfo info = {0};

    assert_int_equal(make(arena, &load_jobs,
                          "{\"type\":\"job\",\"template\":\"hey\",\"parallelism\":\"8\",\"url\":"
                          "\"http://x/?a=1&b=%24\",\"duration\":\"90s\",\"rate\":\"100\","
                          "\"requests\":\"17\",\"concurrency\":\"5\",\"image\":\"evil\"}",
                          "weight 10", &order, &info),
                     ERR_OK);
    struct json_object *spec = json_at(order.object, "spec", NULL);
    struct json_object *pod = json_at(spec, "template", "spec", NULL);
    struct json_object *container = json_elem(json_at(pod, "containers", NULL), 0);
    struct json_object *metadata = json_at(order.object, "metadata", NULL);

    assert_string_equal(json_str_at(spec, "completionMode", NULL), "Indexed");
    assert_int_equal(json_int_at(spec, 0, "parallelism", NULL), 8);
    assert_int_equal(json_int_at(spec, 0, "completions", NULL), 8);
    assert_int_equal(json_int_at(spec, 0, "backoffLimit", NULL), 6);
    assert_int_equal(json_int_at(spec, 0, "activeDeadlineSeconds", NULL), 900);
    assert_int_equal(json_int_at(spec, 0, "ttlSecondsAfterFinished", NULL), 3600);
    assert_null(json_at(spec, "suspend", NULL));
    assert_string_equal(json_str_at(pod, "restartPolicy", NULL), "Never");
    assert_string_equal(json_str_at(container, "image", NULL), "hey:1");
    assert_string_equal(env_of(container, "TARGET_URL"), "http://x/?a=1&b=%24");
    assert_string_equal(env_of(container, "DURATION"), "1m30s");
    assert_string_equal(env_of(container, "DURATION_SECONDS"), "90");
    assert_string_equal(env_of(container, "RATE"), "100");
    assert_string_equal(env_of(container, "RATE_PER_POD"), "13");
    assert_string_equal(env_of(container, "REQUESTS_PER_POD"), "3");
    assert_string_equal(env_of(container, "CONCURRENCY"), "5");
    assert_string_equal(env_of(container, "PODS"), "8");
    assert_string_equal(env_of(container, "CANARY_NAME"), "podinfo.v2");
    assert_string_equal(env_of(container, "MINE"), "kept");
    assert_string_equal(json_str_at(metadata, "namespace", NULL), "load");
    assert_null(json_at(metadata, "generateName", NULL));
    assert_string_equal(json_str_at(metadata, "name", NULL), order.name);
    assert_true(kube_is_label(order.name) && strncmp(order.name, "load-podinfo-v2-", 16) == 0);
    assert_string_equal(json_str_at(metadata, "labels", LOAD_LABEL_CANARY, NULL), order.of_canary);
    assert_string_equal(json_str_at(metadata, "annotations", "flagger.app/canary", NULL),
                        "test/podinfo.v2");
    assert_string_equal(json_str_at(metadata, "annotations", "flagger.app/step", NULL),
                        "weight 10");
    assert_string_equal(order.container, "hey");
    assert_ptr_equal(order.format, results_format_find("hey-csv"));
}

CASE(a_testrun_is_the_template_with_bounded_values)
{
    struct load_order order;
    struct errinfo info = {0};

    assert_int_equal(make(arena, &load_testruns,
                          "{\"type\":\"k6\",\"template\":\"k6\",\"parallelism\":\"4\",\"url\":"
                          "\"http://x/\"}",
                          "iteration 1", &order, &info),
                     ERR_OK);
    struct json_object *spec = json_at(order.object, "spec", NULL);
    assert_int_equal(json_int_at(spec, 0, "parallelism", NULL), 4);
    assert_null(json_at(spec, "cleanup", NULL));
    assert_string_equal(env_of(json_at(spec, "runner", NULL), "TARGET_URL"), "http://x/");
    assert_string_equal(json_str_at(spec, "runner", "metadata", "labels", LOAD_LABEL_CANARY, NULL),
                        order.of_canary);
    assert_string_equal(order.container, "k6");
    assert_ptr_equal(order.format, results_format_find("k6-json"));
}

CASE(a_name_stands_for_one_step_of_one_release)
{
    struct load_order one, same, step, metadata;
    struct errinfo info = {0};
    static const char plain[] = "{\"template\":\"hey\"}";

    assert_int_equal(make(arena, &load_jobs, plain, "weight 10", &one, &info), ERR_OK);
    assert_int_equal(make(arena, &load_jobs, plain, "weight 10", &same, &info), ERR_OK);
    assert_int_equal(make(arena, &load_jobs, plain, "weight 20", &step, &info), ERR_OK);
    assert_int_equal(make(arena, &load_jobs, "{\"template\":\"hey\",\"parallelism\":\"2\"}",
                          "weight 10", &metadata, &info),
                     ERR_OK);
    assert_string_equal(one.name, same.name);
    assert_string_not_equal(one.name, step.name);
    assert_string_not_equal(one.name, metadata.name);
    assert_string_equal(one.of_canary, step.of_canary);
    assert_string_equal(one.of_release, step.of_release);
    assert_string_not_equal(one.of_step, step.of_step);
    assert_string_equal(one.of_step, metadata.of_step);
}
