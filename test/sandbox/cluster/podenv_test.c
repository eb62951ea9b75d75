
#include <string.h>

#include "cluster/podenv.h"
#include "test/unit.h"

static struct json_object *lookup(void *arg, struct arena *arena, bool secret, const char *name)
{
    (void)arg;
    if (!secret && strcmp(name, "settings") == 0)
        return json_own(arena, json_tokener_parse("{'data':{'color':'blue','SIZE':'9'}}"));
    if (secret && strcmp(name, "keys") == 0)
        return json_own(arena, json_tokener_parse("{'data':{'token':'aGVsbG8='}}"));
    return NULL;
}

static enum err make(struct arena *arena, const char *container, const char *const **env,
                     struct errinfo *ei)
{
    const struct podenv_in in = {
        .pod =
            json_own(arena, json_tokener_parse("{'metadata':{'name':'web-1','namespace':'test','"
                                               "labels':{'app':'web'}},'spec':{'nodeName':'n0'}}")),
        .container = json_own(arena, json_tokener_parse(container)),
        .address = "127.64.0.9",
        .lookup = lookup,
    };
    assert_non_null(in.container);
    return podenv_make(arena, &in, env, ei);
}

static void values(void **state)
{
    static const struct {
        const char *container, *want;
    } cases[] = {
        {"{}", "HOSTNAME=web-1 "},
        {"{'env':[{'name':'A','value':'1'},{'name':'B','value':'$(A)$(X)$$(A)'}]}",
         "HOSTNAME=web-1 A=1 B=1$(X)$(A) "},
        {"{'env':[{'name':'E'}]}", "HOSTNAME=web-1 E= "},
        {"{'envFrom':[{'configMapRef':{'name':'settings'}},{'prefix':'K_','secretRef':{'name':'"
         "keys'}}]}",
         "HOSTNAME=web-1 color=blue SIZE=9 K_token=hello "},
        {"{'env':[{'name':'C','valueFrom':{'configMapKeyRef':{'name':'settings','key':'color'}}}]}",
         "HOSTNAME=web-1 C=blue "},
        {"{'env':[{'name':'T','valueFrom':{'secretKeyRef':{'name':'keys','key':'token'}}}]}",
         "HOSTNAME=web-1 T=hello "},
        {"{'env':[{'name':'T','valueFrom':{'secretKeyRef':{'name':'no','key':'x','optional':true}}}"
         "]}",
         "HOSTNAME=web-1 "},
        {"{'envFrom':[{'secretRef':{'name':'no','optional':true}}]}", "HOSTNAME=web-1 "},
        {"{\"env\":[{\"name\":\"P\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}},"
         "{\"name\":\"L\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}]"
         "}",
         "HOSTNAME=web-1 P=127.64.0.9 L=web-1 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        const char *const *env;
        struct errinfo ei;
        assert_int_equal(make(arena, cases[i].container, &env, &ei), ERR_OK);
        const char *got = "";
        for (size_t k = 0; env[k]; k++)
            got = arena_printf(arena, "%s%s ", got, env[k]);
        assert_string_equal(got, cases[i].want);
        arena_free(arena);
    }
}

static void missing(void **state)
{
    static const struct {
        const char *container, *says;
    } cases[] = {
        {"{'envFrom':[{'configMapRef':{'name':'no'}}]}", "configmap \"no\" not found"},
        {"{'env':[{'name':'T','valueFrom':{'secretKeyRef':{'name':'no','key':'x'}}}]}",
         "secret \"no\" not found"},
        {"{'env':[{'name':'T','valueFrom':{'configMapKeyRef':{'name':'settings','key':'x'}}}]}",
         "couldn't find key x in configmap test/settings"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        const char *const *env;
        struct errinfo ei = {0};
        assert_int_equal(make(arena, cases[i].container, &env, &ei), ERR_NOT_FOUND);
        assert_string_equal(ei.text, cases[i].says);
        arena_free(arena);
    }
}

static void args(void **state)
{
    struct arena *arena = arena_new();
    static const char *const env[] = {"A=1", "B=x=y", NULL};
    struct json_object *container =
        json_own(arena, json_tokener_parse("{'args':['--a=$(A)','$(B)','$(C)']}"));
    const char *const *list = podenv_args(arena, container, env);
    assert_string_equal(list[0], "--a=1");
    assert_string_equal(list[1], "x=y");
    assert_string_equal(list[2], "$(C)");
    assert_null(list[3]);
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(values), cmocka_unit_test(missing), cmocka_unit_test(args))
