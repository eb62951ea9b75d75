#include "fleet/access.h"

#include <string.h>

#include "base/base64.h"
#include "test/rows.h"
#include "test/unit.h"

static const char good[] =
    "{clusters: [{name: c, cluster: {server: \"https://one:6443\"}}], users: [{name: u, user: "
    "{token: "
    "abc}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}";

static struct json_object *secret(struct arena *arena, const char *key, const char *text)
{
    struct json_object *out = rows_json(arena, "{'metadata':{'namespace':'n','name':'s'}}");

    if (key)
        json_set_str(json_sub(out, "data"), key, text);
    return out;
}

CASE(a_kubeconfig_is_found_where_it_may_be)
{
    const char *coded = base64_encode(arena, good, strlen(good));
    static const struct {
        const char *in, *key;
    } rows[] = {{"value", NULL}, {"kubeconfig", NULL}, {"k", "k"}};
    struct kube_config config;
    struct errinfo ei;
    const char *text;

    EACH_ROW (row, rows) {
        assert_int_equal(
            fleet_access(arena, secret(arena, row->in, coded), row->key, &text, &config, &ei),
            ERR_OK);
        assert_string_equal(config.server, "https://one:6443");
        assert_string_equal(text, good);
    }
}

CASE(a_mistake_names_the_secret_and_nothing_in_it)
{
    static const struct {
        const char *in, *key, *text, *says;
    } rows[] = {
        {NULL, NULL, NULL,
         "Secret n/s: expected a kubeconfig in the key value or kubeconfig, found none"},
        {"value", "k", "YQ==", "Secret n/s: expected a kubeconfig in the key k, found none"},
        {"value", NULL, "*secret*", "Secret n/s: "},
        {"value", NULL, "c2VjcmV0", "Secret n/s: "},
        {"value", NULL, "", "Secret n/s: "},
    };
    struct kube_config config;
    struct errinfo ei;
    const char *text;

    EACH_ROW (row, rows) {
        assert_int_equal(
            fleet_access(arena, secret(arena, row->in, row->text), row->key, &text, &config, &ei),
            ERR_INVALID);
        assert_memory_equal(ei.text, row->says, strlen(row->says));
        assert_null(strstr(ei.text, "secret"));
    }
}
