
#include <string.h>

#include "cluster/depstatus.h"
#include "cluster/meta.h"
#include "test/unit.h"

#define T0 1700000000000

struct step {
    const char *what;
    struct depstatus_in in;
    const char *progressing, *reason, *available;
    bool rechecked;
};

static void check(struct arena *arena, struct json_object *dep, const struct step *step)
{
    int64_t recheck;
    struct depstatus_in in = step->in;
    in.deployment = dep;
    in.fresh_name = "web-1";
    struct json_object *status = depstatus_make(arena, &in, &recheck);
    struct json_object *conditions = json_at(status, "conditions", NULL);
    struct json_object *c = meta_condition(conditions, "Progressing");
    assert_string_equal(json_str_at(c, "status", NULL), step->progressing);
    assert_string_equal(json_str_at(c, "reason", NULL), step->reason);
    c = meta_condition(conditions, "Available");
    assert_string_equal(json_str_at(c, "status", NULL), step->available);
    assert_int_equal(recheck > 0, step->rechecked);
    assert_int_equal(json_int_at(status, -1, "observedGeneration", NULL), 7);
    json_set(dep, "status", status);
}

static void story(void **state)
{
    static const struct step steps[] = {
        {"made",
         {.desired = 2, .spec_replicas = 2, .created = true, .now_ms = T0},
         "True",
         "NewReplicaSetCreated",
         "False",
         true},
        {"pods",
         {.desired = 2, .spec_replicas = 2, .replicas = 2, .updated = 2, .now_ms = T0 + 1000},
         "True",
         "ReplicaSetUpdated",
         "False",
         true},
        {"nothing happens",
         {.desired = 2, .spec_replicas = 2, .replicas = 2, .updated = 2, .now_ms = T0 + 50000},
         "True",
         "ReplicaSetUpdated",
         "False",
         true},
        {"too long",
         {.desired = 2, .spec_replicas = 2, .replicas = 2, .updated = 2, .now_ms = T0 + 61000},
         "False",
         "ProgressDeadlineExceeded",
         "False",
         false},
        {"late, but it goes on",
         {.desired = 2,
          .spec_replicas = 2,
          .replicas = 2,
          .updated = 2,
          .ready = 1,
          .available = 1,
          .now_ms = T0 + 62000},
         "True",
         "ReplicaSetUpdated",
         "False",
         true},
        {"done",
         {.desired = 2,
          .spec_replicas = 2,
          .replicas = 2,
          .updated = 2,
          .ready = 2,
          .available = 2,
          .now_ms = T0 + 63000},
         "True",
         "NewReplicaSetAvailable",
         "True",
         false},
        {"a pod is down later",
         {.desired = 2,
          .spec_replicas = 2,
          .replicas = 2,
          .updated = 2,
          .ready = 1,
          .available = 1,
          .now_ms = T0 + 900000},
         "True",
         "NewReplicaSetAvailable",
         "False",
         false},
        {"the next rollout",
         {.desired = 2,
          .spec_replicas = 3,
          .replicas = 2,
          .ready = 2,
          .available = 2,
          .created = true,
          .now_ms = T0 + 990000},
         "True",
         "NewReplicaSetCreated",
         "True",
         true},
    };
    struct arena *arena = arena_new();
    struct json_object *dep = json_own(
        arena,
        json_tokener_parse(
            "{'metadata':{'name':'web','generation':7},'spec':{'progressDeadlineSeconds':60}}"));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        check(arena, dep, &steps[i]);
    arena_free(arena);
}

static void times(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *dep = json_own(arena, json_tokener_parse("{'metadata':{'generation':7}}"));
    struct depstatus_in in = {.deployment = dep,
                              .fresh_name = "web-1",
                              .desired = 1,
                              .spec_replicas = 1,
                              .replicas = 1,
                              .updated = 1,
                              .ready = 1,
                              .available = 1,
                              .now_ms = T0};
    int64_t recheck;
    struct json_object *first = depstatus_make(arena, &in, &recheck);
    json_set(dep, "status", first);
    in.now_ms += 60000;
    struct json_object *second = depstatus_make(arena, &in, &recheck);
    assert_true(json_same(first, second)); /* nothing changed: nothing is written */
    assert_null(json_at(second, "unavailableReplicas", NULL));
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(story), cmocka_unit_test(times))
