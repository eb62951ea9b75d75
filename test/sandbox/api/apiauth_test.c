/* What a ServiceAccount may do: what Roles and bindings say, and nothing else. */
#include "api/tryapi.h"

#define IN(ns, rest) "/api/v1/namespaces/" ns "/" rest
#define ROLE(plural) "/apis/rbac.authorization.k8s.io/v1/" plural

static const char *const objects[][2] = {
    {IN("default", "serviceaccounts"), "{'metadata':{'name':'robot'}}"},
    {ROLE("clusterroles"),
     "{'metadata':{'name':'reader'},'rules':[{'apiGroups':[''],'resources':['configmaps'],"
     "'verbs':['get','list']},{'apiGroups':['apps'],'resources':['*/scale'],'verbs':['*']}]}"},
    {ROLE("clusterrolebindings"),
     "{'metadata':{'name':'reader'},'roleRef':{'kind':'ClusterRole','name':'reader'},'subjects':[{"
     "'kind':'ServiceAccount','namespace':'default','name':'robot'}]}"},
    {ROLE("namespaces/kube-system/roles"),
     "{'metadata':{'name':'one'},'rules':[{'apiGroups':[''],'resources':['secrets'],"
     "'resourceNames':['mine'],'verbs':['get']},{'apiGroups':[''],'resources':['namespaces'],"
     "'verbs':['get']}]}"},
    {ROLE("namespaces/kube-system/rolebindings"),
     "{'metadata':{'name':'one'},'roleRef':{'kind':'Role','name':'one'},'subjects':[{'kind':"
     "'Group','name':'system:serviceaccounts:default'}]}"},
    {ROLE("namespaces/kube-system/rolebindings"),
     "{'metadata':{'name':'wide'},'roleRef':{'kind':'ClusterRole','name':'reader'},'subjects':[{"
     "'kind':'User','name':'system:serviceaccount:default:nobody'}]}"},
};

static const struct {
    const char *ask;
    int status;
} asks[] = {
    {"GET " IN("default", "configmaps"), 200},
    {"GET /api/v1/configmaps", 200},
    {"GET " IN("default", "configmaps?watch=true"), 403},
    {"GET " IN("default", "configmaps/none"), 404},
    {"POST " IN("default", "configmaps"), 403},
    {"DELETE " IN("default", "configmaps/none"), 403},
    {"GET /apis/apps/v1/namespaces/default/deployments/none", 403},
    {"GET /apis/apps/v1/namespaces/default/deployments/none/scale", 404},
    {"GET /apis/apps/v1/namespaces/default/deployments/none/status", 403},
    {"GET " IN("kube-system", "secrets/mine"), 404},
    {"GET " IN("kube-system", "secrets/other"), 403},
    {"GET " IN("kube-system", "secrets"), 403},
    {"GET " IN("default", "secrets/mine"), 403},
    {"GET /api/v1/namespaces/kube-system", 200},
    {"GET /api/v1/namespaces/default", 403},
    {"GET /api/v1/namespaces", 403},
    {"GET /apis/none.io/v1/things", 403},
    {"GET /apis", 200},
    {"GET /api/v1", 200},
    {"GET /sandbox/stats", 403},
    {"POST " IN("default", "serviceaccounts/robot/token"), 403},
};

static struct json_object *with(struct arena *arena, const char *token)
{
    struct json_object *step = json_own(arena, json_object_new_object());
    json_set_str(step, "token", token);
    return step;
}

static const char *token_of(struct tryapi *a, const char *name)
{
    const char *line =
        arena_printf(a->t.arena, "POST " IN("default", "serviceaccounts/%s/token"), name);
    struct talk_answer answer = talk_ask(&a->talk, NULL, line, "{'spec':{}}");
    return json_str_at(answer.body, "status", "token", NULL);
}

CASE(test_account)
{
    struct tryapi a;
    tryapi_open(&a);
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        const char *line = arena_printf(a.t.arena, "POST %s", objects[i][0]);
        assert_int_equal(talk_ask(&a.talk, NULL, line, objects[i][1]).status, 201);
    }
    const char *token = token_of(&a, "robot");
    assert_non_null(token);
    assert_null(token_of(&a, "nobody"));
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        struct talk_answer answer = talk_ask(&a.talk, with(a.t.arena, token), asks[i].ask, NULL);
        if (answer.status != asks[i].status)
            fail_msg("%s: %d, not %d: %s", asks[i].ask, answer.status, asks[i].status, answer.text);
    }
    struct talk_answer denied =
        talk_ask(&a.talk, with(a.t.arena, token), "GET " IN("default", "secrets/mine"), NULL);
    assert_string_equal(
        json_str_at(denied.body, "message", NULL),
        "secrets \"mine\" is forbidden: User \"system:serviceaccount:default:robot\" "
        "cannot get resource \"secrets\" in API group \"\" in the namespace "
        "\"default\"");
    tryapi_close(&a);
}

/* Nobody makes a token himself, and one ends with its ServiceAccount. */
CASE(test_token)
{
    struct tryapi a;
    static const char *const made_up[] = {"", "default/robot", "default/robot/x",
                                          "default/robot/x.y", "//."};
    tryapi_open(&a);
    (void)talk_ask(&a.talk, NULL, arena_printf(a.t.arena, "POST %s", objects[0][0]), objects[0][1]);
    struct json_object *step = with(a.t.arena, token_of(&a, "robot"));
    assert_int_equal(talk_ask(&a.talk, step, "GET /api", NULL).status, 200);
    for (size_t i = 0; i < sizeof(made_up) / sizeof(made_up[0]); i++)
        assert_int_equal(talk_ask(&a.talk, with(a.t.arena, made_up[i]), "GET /api", NULL).status,
                         401);
    assert_int_equal(
        talk_ask(&a.talk, NULL, "DELETE " IN("default", "serviceaccounts/robot"), NULL).status,
        200);
    assert_int_equal(talk_ask(&a.talk, step, "GET /api", NULL).status, 401);
    tryapi_close(&a);
}
