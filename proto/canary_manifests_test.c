/* The view accepts real Canaries: the examples of Flagger's documents, if available. */
#include "proto/canary_testing.h"

#include <dirent.h>
#include <stdio.h>

#include "base/yaml.h"

static const char manifests[] = "../shared/manifests";

static int read_file(const char *path)
{
    struct arena *arena = arena_new();
    struct json_object *docs;
    struct errinfo ei;
    int n = 0;
    if (yaml_parse_file(arena, path, 1024 * 1024, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *object = json_elem(docs, i);
        const char *kind = json_str_at(object, "kind", NULL);
        if (kind == NULL || strcmp(kind, "Canary") != 0)
            continue;
        struct canary out;
        if (canary_view(arena, object, &out, &ei) != ERR_OK)
            fail_msg("%s: document %zu: %s", path, i + 1, ei.text);
        assert_non_null(out.target.name);
        assert_true(out.skip_analysis || out.analysis.json != NULL);
        n++;
    }
    arena_free(arena);
    return n;
}

CASE(test_published_manifests)
{
    DIR *dir = opendir(manifests);
    if (dir == NULL)
        skip();
    int n = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char path[512];
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 5, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", manifests, entry->d_name);
        n += read_file(path);
    }
    closedir(dir);
    assert_true(n >= 60);
}

/* A manifest from 2019, with the fields of v1alpha3. */
CASE(test_a_manifest_of_v1alpha3)
{
    struct json_object *docs;
    struct errinfo ei;
    if (yaml_parse_file(arena, "proto/testdata/canary-v1alpha3.yaml", 65536, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    struct canary c;
    if (canary_view(arena, json_elem(docs, 0), &c, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_string_equal(c.api_version, "flagger.app/v1alpha3");
    assert_true(c.analysis.legacy);
    assert_false(c.skip_analysis);
    assert_int_equal(c.analysis.interval_ms, 60000);
    assert_int_equal(c.analysis.max_weight, 5000);
    assert_int_equal(c.analysis.step_weight, 500);
    assert_int_equal(c.analysis.n_metrics, 3);
    assert_true(c.analysis.metrics[0].has_threshold && c.analysis.metrics[0].threshold == 99);
    assert_non_null(c.analysis.metrics[2].query);
    assert_int_equal(c.analysis.metrics[2].interval_ms, CANARY_UNSET);
    assert_int_equal(c.analysis.n_webhooks, 2);
    assert_int_equal(c.analysis.webhooks[1].timeout_ms, 180000);
}
