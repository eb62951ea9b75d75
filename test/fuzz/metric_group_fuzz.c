/* Answers to a query that was asked for many workloads: what each of them gets is what it would have
 * got of an answer with its own series alone. The first bytes choose the status, and whether the
 * series have a namespace. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "metric/backend.h"

enum { PICKS = 3, MAX_BODY = 256 * 1024 };

static const struct metric_pick workloads[PICKS] = {
    {.namespace_label = "ns", .namespace_ = "test", .label = "w", .value = "a"},
    {.namespace_label = "ns", .namespace_ = "test", .label = "w", .value = "b"},
    {.namespace_label = "ns", .namespace_ = "other", .label = "w", .value = "a"},
};

static bool is_of(struct json_object *series, const char *label, const char *value)
{
    struct json_object *metric, *found;

    return json_object_is_type(series, json_type_object) &&
           json_object_object_get_ex(series, "metric", &metric) &&
           json_object_is_type(metric, json_type_object) &&
           json_object_object_get_ex(metric, label, &found) &&
           json_object_is_type(found, json_type_string) &&
           strcmp(json_object_get_string(found), value) == 0;
}

static struct metric_answer read_text(struct arena *arena, const char *text, int status,
                                      struct metric_pick *picks)
{
    const struct metric_question question = {
        .backend = "prometheus", .query = "q", .picks = picks, .n_picks = picks ? PICKS : 0};
    const struct http_result result = {
        .status = status, .body = text, .body_len = strlen(text), .content_type = ""};

    return metric_backend_find("prometheus")->answer(arena, &question, &result);
}

static void check_same(const struct metric_answer *one, const struct metric_answer *other)
{
    assert(one->outcome == other->outcome && one->at_ms == other->at_ms);
    assert(!one->note == !other->note && (!one->note || strcmp(one->note, other->note) == 0));
    if (one->outcome == METRIC_VALUE)
        assert(!isnan(one->value) && one->value == other->value);
    else
        assert(one->text && *one->text && strcmp(one->text, other->text) == 0);
}

/* The reply with the series of one workload alone. */
static const char *own_part(struct arena *arena, struct json_object *reply,
                            const struct metric_pick *pick)
{
    struct json_object *own = json_own(arena, json_dup(reply));
    struct json_object *list = json_at(reply, "data", "result", NULL);
    struct json_object *kept = json_object_new_array();

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *series = json_elem(list, i);
        if (is_of(series, pick->label, pick->value) &&
            (!pick->namespace_label || is_of(series, pick->namespace_label, pick->namespace_)))
            json_object_array_add(kept, json_object_get(series));
    }
    json_object_object_add(json_at(own, "data", NULL), "result", kept);
    return json_text(arena, own);
}

FUZZ_TARGET(arena, data, size)
{
    struct metric_pick picks[PICKS];
    struct json_object *reply = NULL;
    struct errinfo ei;

    if (size < 2)
        return;
    const char *body = arena_strndup(arena, (const char *)data + 2, size - 2);
    int status = data[0] % 8 == 7 ? 503 : 200;
    memcpy(picks, workloads, sizeof(picks));
    for (int i = 0; i < PICKS; i++) {
        picks[i].answer = (struct metric_answer){.outcome = METRIC_ERROR, .text = "not read"};
        if (data[1] % 2)
            picks[i].namespace_label = NULL;
    }
    struct metric_answer answer = read_text(arena, body, status, picks);
    assert(answer.outcome == METRIC_VALUE || (answer.text && *answer.text));
    assert(answer.outcome != METRIC_NO_VALUES);
    if (answer.outcome == METRIC_VALUE) {
        enum err err = json_parse(arena, body, strlen(body), MAX_BODY, &reply, &ei);
        assert(err == ERR_OK);
        for (int i = 0; i < PICKS; i++) {
            const char *text = own_part(arena, reply, &picks[i]);
            struct metric_answer own = read_text(arena, text, status, NULL);
            check_same(&picks[i].answer, &own);
        }
    }
}
