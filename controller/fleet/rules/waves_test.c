/* Which Canaries are held and which are let go: rows of waves_cases.yaml. Each status that is
 * written is also read back. */
#include "fleet/rules/waves.h"

#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

enum { LEAST_ROWS = 60, NOW_S = 1000 };

static const char *text_at(struct json_object *json, const char *key, const char *missing)
{
    const char *text = json_str_at(json, key, NULL);

    return text ? text : missing;
}

static struct waves_canary read_canary(struct json_object *json)
{
    bool held = json_bool_at(json, false, "held", NULL);

    return (struct waves_canary){
        .namespace_ = "test",
        .name = text_at(json, "name", "podinfo"),
        .phase = phase_parse(json_str_at(json, "phase", NULL)),
        .weight = (int)json_int_at(json, 0, "weight", NULL),
        .applied = text_at(json, "applied", ""),
        .promoted = text_at(json, "promoted", ""),
        .suspended = held || json_bool_at(json, false, "suspended", NULL),
        .mine = held,
        .holder = json_str_at(json, "holder", NULL),
        .order = (int)json_int_at(json, 0, "order", NULL),
        .replicas = (int)json_int_at(json, 0, "replicas", NULL),
        .target = json_str_at(json, "target", NULL),
    };
}

static struct waves_cluster read_cluster(struct arena *arena, struct json_object *json)
{
    struct json_object *list = json_at(json, "canaries", NULL);
    bool unknown = json_bool_at(json, false, "unknown", NULL);
    struct waves_cluster out = {
        .name = json_str_at(json, "c", NULL),
        .labels = json_own(arena, json_object_new_object()),
        .known = !unknown,
        .reachable = !unknown && !json_bool_at(json, false, "unreachable", NULL),
        .why = "no route to host",
        .seen_ms = json_int_at(json, 0, "seen", NULL) * 1000,
        .n_canaries = list ? json_len(list) : !unknown,
    };

    json_set_str(out.labels, "wave", json_str_at(json, "wave", NULL));
    out.canaries = arena_array(arena, out.n_canaries, sizeof(*out.canaries));
    for (size_t i = 0; i < out.n_canaries; i++)
        out.canaries[i] = read_canary(list ? json_elem(list, i) : json);
    return out;
}

static void read_plan(struct arena *arena, struct json_object *base, struct json_object *row,
                      struct releaseplan *out)
{
    struct json_object *json = json_copy(arena, base);
    struct errinfo ei;

    if (json_at(row, "plan", NULL))
        json_set(json, "spec",
                 json_merge(arena, json_at(json, "spec", NULL), json_at(row, "plan", NULL)));
    if (releaseplan_view(arena, json, out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    out->accept = json_str_at(row, "accept", NULL);
    out->deleting = json_bool_at(row, false, "deleting", NULL);
}

static struct waves_facts read_facts(struct arena *arena, struct json_object *row,
                                     const struct releaseplan *plan, struct waves_status *status)
{
    struct json_object *clusters = json_at(row, "clusters", NULL);
    struct json_object *answer = json_at(row, "answer", NULL);
    struct waves_facts facts = {
        .plan = plan,
        .now_ms = json_int_at(row, NOW_S, "now", NULL) * 1000,
        .n_clusters = json_len(clusters),
        .status = status,
        .answer = {.wave = json_str_at(answer, "wave", NULL),
                   .revision = json_str_at(answer, "revision", NULL),
                   .open = json_bool_at(answer, false, "open", NULL),
                   .says = json_str_at(answer, "says", NULL),
                   .at_ms = json_int_at(answer, 0, "at", NULL) * 1000},
    };

    *status = waves_status_read(arena, row);
    facts.clusters = arena_array(arena, facts.n_clusters, sizeof(*facts.clusters));
    for (size_t i = 0; i < facts.n_clusters; i++)
        facts.clusters[i] = read_cluster(arena, json_elem(clusters, i));
    return facts;
}

static void add_text(struct arena *arena, struct json_object *out, const char *key,
                     const char *text)
{
    struct json_object *array = json_at(out, key, NULL);

    if (!array) {
        array = json_own(arena, json_object_new_array());
        json_set(out, key, array);
    }
    json_object_array_add(array, json_object_new_string(text));
}

/* In the form of `want` in a row; the message only if the row has one. */
static struct json_object *out_json(struct arena *arena, const struct waves_facts *facts,
                                    const struct waves_out *out, struct json_object *want)
{
    struct json_object *json = json_own(arena, json_object_new_object());
    struct json_object *status =
        waves_status_json(arena, facts->plan, &out->status, NULL, facts->now_ms);

    for (size_t i = 0; i < out->n_steps; i++)
        add_text(arena, json, "steps",
                 arena_printf(arena, "%s %s", out->steps[i].hold ? "hold" : "go",
                              facts->clusters[out->steps[i].cluster].name));
    for (size_t i = 0; i < out->n_looks; i++)
        add_text(arena, json, "looks", facts->clusters[out->looks[i].cluster].name);
    for (size_t i = 0; i < out->status.n_let_go; i++)
        add_text(arena, json, "let_go", out->status.let_go[i]);
    json_set_str(json, "phase", json_str_at(status, "phase", NULL));
    if (json_at(want, "message", NULL))
        json_set_str(json, "message", out->status.message);
    json_set_str(json, "revision", out->status.revision);
    json_set_str(json, "ask", out->ask ? out->ask->name : NULL);
    if (out->again_ms > 0)
        json_set_int(json, "again", out->again_ms / 1000);
    if (out->status.late)
        json_object_object_add(json, "late", json_object_new_boolean(true));
    if (out->given_back)
        json_object_object_add(json, "given_back", json_object_new_boolean(true));
    if (json_at(want, "says", NULL)) {
        struct json_object *says = json_own(arena, json_object_new_object());
        for (size_t i = 0; i < out->status.n_clusters; i++)
            if (json_at(want, "says", out->status.clusters[i].cluster, NULL))
                json_set_str(says, out->status.clusters[i].cluster, out->status.clusters[i].says);
        json_set(json, "says", says);
    }
    if (json_at(want, "rows", NULL))
        json_set(json, "rows", json_at(status, "clusters", NULL));
    return json;
}

/* Checks that the state of a cluster is the one that its sentence describes. */
static void check_states(const char *name, const struct waves_status *status)
{
    static const struct {
        const char *says;
        enum waves_state state;
    } all[] = {
        {"has no Canary of this plan", WAVES_IS_Empty},
        {"waits for its turn", WAVES_IS_Held},
        {"is held", WAVES_IS_Held},
        {"is suspended", WAVES_IS_Held},
        {"has promoted", WAVES_IS_Promoted},
        {"is being initialised", WAVES_IS_Initializing},
        {"is let go", WAVES_IS_Releasing},
        {"releases revision", WAVES_IS_Releasing},
        {"has failed", WAVES_IS_Failed},
        {"cannot be reached", WAVES_IS_Unreachable},
    };

    for (size_t i = 0; i < status->n_clusters; i++) {
        const struct waves_says *row = &status->clusters[i];
        size_t j = 0;
        while (j < sizeof(all) / sizeof(all[0]) && !strstr(row->says, all[j].says))
            j++;
        if (j == sizeof(all) / sizeof(all[0]) || all[j].state != row->state)
            fail_msg("%s: cluster %s has state %d and says: %s", name, row->cluster, row->state,
                     row->says);
    }
}

/* Passes the status of this call to the next call. */
static void check_status(struct arena *arena, const char *name, const struct waves_facts *facts,
                         const struct waves_out *out)
{
    struct json_object *plan = json_own(arena, json_object_new_object());

    json_set(plan, "status",
             waves_status_json(arena, facts->plan, &out->status, NULL, facts->now_ms));
    struct waves_status back = waves_status_read(arena, plan);
    assert_string_equal(back.revision, out->status.revision);
    assert_int_equal(back.n_let_go, out->status.n_let_go);
    assert_int_equal(back.n_revisions, out->status.n_revisions);
    assert_int_equal(back.n_waves, out->status.n_waves);
    for (size_t i = 0, j = 0; i < out->status.n_clusters; i++)
        if (out->status.clusters[i].replicas > 0)
            assert_int_equal(back.clusters[j++].replicas, out->status.clusters[i].replicas);
    for (size_t i = 0; i < back.n_waves; i++) {
        assert_string_equal(back.waves[i].name, out->status.waves[i].name);
        assert_int_equal(back.waves[i].completed_ms, out->status.waves[i].completed_ms);
        assert_int_equal(back.waves[i].began_ms, out->status.waves[i].began_ms);
        assert_int_equal(back.waves[i].passed, out->status.waves[i].passed);
    }
    /* with nothing else changed, the result is the same again */
    struct waves_facts again = *facts;
    struct waves_out second;
    again.status = &back;
    waves_decide(arena, &again, &second);
    struct json_object *want = json_own(arena, json_object_new_object());
    if (!json_same(out_json(arena, facts, out, want), out_json(arena, &again, &second, want)))
        fail_msg("%s: said again\n%s", name,
                 json_text(arena, out_json(arena, &again, &second, want)));
}

static void check_row(struct arena *arena, struct json_object *base, struct json_object *row)
{
    const char *name = json_str_at(row, "case", NULL);
    struct json_object *want = json_at(row, "want", NULL);
    struct releaseplan plan;
    struct waves_status status;
    struct waves_out out;

    read_plan(arena, base, row, &plan);
    struct waves_facts facts = read_facts(arena, row, &plan, &status);
    waves_decide(arena, &facts, &out);
    struct json_object *found = out_json(arena, &facts, &out, want);
    if (!json_same(found, want))
        fail_msg("%s: found\n%s", name, json_text(arena, found));
    check_states(name, &out.status);
    check_status(arena, name, &facts, &out);
}

CASE(rows_of_waves_cases)
{
    struct json_object *file =
        json_elem(rows_read(arena, "controller/fleet/rules/waves_cases.yaml"), 0);
    struct json_object *base = json_elem(json_at(file, "parts", NULL), 0);
    struct json_object *rows = json_at(file, "cases", NULL);

    assert_true(json_len(rows) >= LEAST_ROWS);
    for (size_t i = 0; i < json_len(rows); i++)
        check_row(arena, base, json_elem(rows, i));
}

CASE(a_condition_keeps_its_time)
{
    const struct releaseplan plan = {.generation = 2};
    const struct waves_status first = {.phase = WAVES_Stopped, .message = "m", .revision = "r"};
    const struct waves_status then = {.phase = WAVES_Completed, .message = "n", .revision = "r"};
    struct json_object *one = waves_status_json(arena, &plan, &first, NULL, 1000);
    struct json_object *two = waves_status_json(arena, &plan, &first, one, 9000);
    struct json_object *three = waves_status_json(arena, &plan, &then, two, 9000);

    assert_true(json_same(one, two));
    struct json_object *ready = json_elem(json_at(three, "conditions", NULL), 0);
    assert_string_equal(json_str_at(ready, "status", NULL), "True");
    assert_string_equal(json_str_at(ready, "lastTransitionTime", NULL), "1970-01-01T00:00:09Z");
}

/* A plan may want to let go of more Canaries than the limit. */
CASE(no_more_are_let_go_than_the_status_can_hold)
{
    enum { MANY = WAVES_MAX_LET_GO + 10 };
    struct releaseplan plan;
    struct errinfo ei;
    struct waves_status status = {.revision = ""};
    struct waves_canary first = {.namespace_ = "test",
                                 .name = "a",
                                 .phase = PHASE_Succeeded,
                                 .applied = "r",
                                 .promoted = "r"};
    struct waves_canary *held = arena_array(arena, MANY, sizeof(*held));
    struct waves_cluster clusters[] = {
        {.name = "one",
         .labels = rows_json(arena, "{'w':'1'}"),
         .known = true,
         .reachable = true,
         .canaries = &first,
         .n_canaries = 1},
        {.name = "two", .known = true, .reachable = true, .canaries = held, .n_canaries = MANY}};
    const struct waves_facts facts = {
        .plan = &plan, .now_ms = 1, .clusters = clusters, .n_clusters = 2, .status = &status};
    struct waves_out out;

    for (int i = 0; i < MANY; i++)
        held[i] = (struct waves_canary){.namespace_ = "test",
                                        .name = "a",
                                        .phase = PHASE_Succeeded,
                                        .applied = "q",
                                        .promoted = "q",
                                        .suspended = true,
                                        .mine = true,
                                        .target = "r"};
    assert_int_equal(
        releaseplan_view(arena,
                         rows_json(arena, "{'metadata':{'name':'p'},'spec':{'application':'a',"
                                          "'waves':[{'name':'first','clusterSelector':{"
                                          "'matchLabels':{'w':'1'}}},{'name':'rest'}]}}"),
                         &plan, &ei),
        ERR_OK);
    waves_decide(arena, &facts, &out);
    assert_int_equal(out.status.n_let_go, WAVES_MAX_LET_GO);
}
