#include "real/history.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#define LINE(revision, kind, gone, time, object)                                                   \
    "{\"revision\":" #revision ",\"kind\":\"" kind "\",\"gone\":" #gone ",\"time\":" #time         \
    ",\"object\":" object "}"
#define POD(revision, time, name, app, ready)                                                      \
    LINE(revision, "Pod", false, time,                                                             \
         "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"app\":\"" app                         \
         "\"}},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" ready "\"}]}}")
#define SERVICE(revision, time, name, app)                                                         \
    LINE(revision, "Service", false, time,                                                         \
         "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"selector\":{\"app\":\"" app "\"}}}")
#define SLICE(revision, time, service, pod)                                                        \
    LINE(revision, "EndpointSlice", false, time,                                                   \
         "{\"metadata\":{\"name\":\"" service                                                      \
         "-1\",\"labels\":{\"kubernetes.io/service-name\":\"" service                              \
         "\"}},\"endpoints\":[{\"conditions\":{\"ready\":true},\"targetRef\":{\"name\":\"" pod     \
         "\"}}]}")
#define ROUTE(revision, time, primary, canary)                                                     \
    LINE(revision, "HTTPRoute", false, time,                                                       \
         "{\"metadata\":{\"name\":\"app\"},\"spec\":{\"rules\":[{\"backendRefs\":["                \
         "{\"name\":\"app-primary\",\"weight\":" #primary "},{\"name\":\"app-canary\","            \
         "\"weight\":" #canary "}]}]}}")
#define CANARY(revision, time, phase, weight)                                                      \
    LINE(revision, "Canary", false, time,                                                          \
         "{\"metadata\":{\"name\":\"app\"},\"spec\":{\"targetRef\":{\"name\":\"app\"}},"           \
         "\"status\":{\"phase\":\"" phase "\",\"canaryWeight\":" #weight "}}")

/* Lines, and the rules that they break, in the order in which that is found. */
static const struct {
    const char *lines, *broken;
} cases[] = {
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "False"), ""}, /* not up yet */
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True"), ""},
    /* The later line came first: what counts is the revision. */
    {POD(4, 9, "b", "app", "True") "," SERVICE(1, 0, "app", "app") "," POD(
         2, 5, "a", "app", "True") "," POD(5, 9, "a", "app", "False"),
     ""},
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," POD(5, 9, "a", "app",
                                                                           "False"),
     "pods"},
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," SERVICE(
         3, 6, "app", "app-primary") "," POD(4, 8, "p", "app-primary", "True"),
     "pods"},
    /* Only who gets weight must have pods. */
    {SERVICE(1, 0, "app-canary", "app") "," POD(2, 5, "a", "app", "True") "," POD(3, 6, "a", "app",
                                                                                  "False"),
     ""},
    {SERVICE(1, 0, "app-canary", "app") "," ROUTE(2, 1, 50, 50) "," POD(
         3, 5, "a", "app", "True") "," POD(4, 6, "a", "app", "False"),
     "pods"},
    {SERVICE(1, 0, "app-canary", "app") "," ROUTE(2, 1, 50, 50) "," POD(
         3, 5, "a", "app", "True") "," ROUTE(4, 6, 100, 0) "," POD(5, 7, "a", "app", "False"),
     ""},
    {ROUTE(1, 0, 100, 0) "," ROUTE(2, 1, 100, 20) "," ROUTE(3, 2, 100, 30), "weights"},
    /* Endpoints may be late, but not for long. */
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," SLICE(
         3, 6, "app", "a") "," POD(4, 10, "b", "app",
                                   "True") "," POD(5, 11, "a", "app",
                                                   "False") "," SLICE(6, 500, "app", "b"),
     ""},
    {SERVICE(1, 0, "app", "app") "," POD(2, 5, "a", "app", "True") "," SLICE(
         3, 6, "app", "a") "," POD(4, 10, "b", "app",
                                   "True") "," POD(5, 11, "a", "app",
                                                   "False") "," SLICE(6, 2500, "app", "b"),
     "endpoints"},
    {CANARY(1, 0, "Succeeded", 0) "," ROUTE(2, 0, 100, 0), ""},
    {CANARY(1, 0, "Failed", 20) "," ROUTE(2, 0, 100, 0), "status"},
    {CANARY(1, 0, "Progressing", 20), "rest"},
};

static void note(void *arg, const char *rule, const char *sentence)
{
    char *broken = arg;
    size_t len = strlen(broken);
    assert_true(sentence[0] != 0);
    snprintf(broken + len, 100 - len, "%s%s", len ? " " : "", rule);
}

CASE(every_rule_is_found_broken_and_kept)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct errinfo ei = {0};
        struct json_object *lines = NULL;
        char broken[100] = "";
        const char *text = arena_printf(arena, "[%s]", cases[i].lines);
        if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &lines, &ei) != ERR_OK)
            fail_msg("case %zu: %s", i, ei.text);
        history_sort(lines);
        size_t count = history_check(lines, note, broken);
        if (strcmp(broken, cases[i].broken) != 0)
            fail_msg("case %zu: broke \"%s\", not \"%s\"", i, broken, cases[i].broken);
        assert_int_equal(count, cases[i].broken[0] != 0);
    }
}
