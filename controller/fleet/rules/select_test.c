#include "fleet/rules/select.h"

#include <string.h>

#include "base/encoding.h"
#include "test/rows.h"
#include "test/unit.h"

/* Content of the namespace, the same in all rows. */
static const char fleets[] =
    "[{'metadata':{'name':'f'},'spec':{'clusters':[{'name':'a','kind':'AttachedCluster'},"
    "{'name':'b','kind':'Cluster'},{'name':'c'},{'name':'d','kind':'Cluster'},{'name':'e','kind':"
    "'Machine'},{'name':'a'}]}},{'metadata':{'name':'empty'}},{'metadata':{'name':'odd'},'spec':{"
    "'clusters':[{'kind':'Cluster'}]}}]";
static const char attached[] =
    "[{'metadata':{'name':'a','labels':{'env':'prod'}},'spec':{'kubeconfig':{'name':'a-config',"
    "'key':'k'}}},{'metadata':{'name':'c','labels':{'env':'test'}},'spec':{}}]";
static const char clusters[] = "[{'metadata':{'name':'b','labels':{'env':'prod','zone':'x'}},"
                               "'status':{'kubeconfigSecretRef':'b-config'}}]";
static const char secrets[] =
    "[{'metadata':{'name':'s1','labels':{'flagger.app/cluster':'g','env':'prod'}}},{'metadata':{"
    "'name':'s2','labels':{'flagger.app/cluster':'h','flagger.app/fleet':'own'}}},{'metadata':{"
    "'name':'s3','labels':{'flagger.app/cluster':'a','flagger.app/fleet':'f'}}},{'metadata':{"
    "'name':'s4'}}]";

static const struct {
    const char *fleet, *labels, *found;
} rows[] = {
    {NULL, NULL, "host"},
    {"f", NULL,
     "a:a-config/k b:b-config/- c:(AttachedCluster c: spec.kubeconfig.name: expected the name of a "
     "Secret, found none) d:(there is no Cluster d) e:(Fleet f: spec.clusters[4].kind: expected "
     "AttachedCluster or Cluster, found \"Machine\") g:s1/-"},
    {"f", "{'env':'prod'}",
     "a:a-config/k b:b-config/- d:(there is no Cluster d) e:(Fleet f: spec.clusters[4].kind: "
     "expected AttachedCluster or Cluster, found \"Machine\") g:s1/-"},
    {"f", "{'env':'prod','zone':'x'}",
     "b:b-config/- d:(there is no Cluster d) e:(Fleet f: spec.clusters[4].kind: expected "
     "AttachedCluster or Cluster, found \"Machine\")"},
    /* without a Fleet, only Secrets */
    {"own", NULL, "g:s1/- h:s2/-"},
    /* an empty Fleet is known, like one that no cluster matches; if a Fleet is missing, its
     * clusters are unknown */
    {"empty", "{'env':'none'}", "no cluster of fleet empty has the labels of clusterSelector"},
    {"own", "{'env':'none'}", "no cluster of fleet own has the labels of clusterSelector"},
    {"odd", "{'env':'none'}",
     "Fleet odd: spec.clusters[0].name: expected the name of a cluster, found none"},
};

static const char *print(struct arena *arena, const struct fleet_choice *choice)
{
    const char *text = choice->host ? "host" : choice->mistake ? choice->mistake : "";

    if (choice->lost)
        text = arena_printf(arena, "lost: %s", text);
    for (size_t i = 0; i < choice->count; i++) {
        const struct fleet_member *member = &choice->members[i];
        const char *where = member->mistake ? arena_printf(arena, "(%s)", member->mistake)
                                            : arena_printf(arena, "%s/%s", member->secret,
                                                           member->key ? member->key : "-");
        assert_true((member->mistake != NULL) == (member->secret == NULL));
        text = arena_printf(arena, "%s%s%s:%s", text, *text ? " " : "", member->name, where);
    }
    return text;
}

static const char *selected(struct arena *arena, const char *fleet, const char *labels,
                            const struct fleet_known *known)
{
    const struct application_destination destination = {
        .fleet = fleet, .labels = labels ? rows_json(arena, labels) : NULL};
    struct fleet_choice choice;

    fleet_select(arena, &destination, known, &choice);
    return print(arena, &choice);
}

CASE(who_is_meant)
{
    const struct fleet_known known = {.fleets = rows_json(arena, fleets),
                                      .attached = rows_json(arena, attached),
                                      .clusters = rows_json(arena, clusters),
                                      .secrets = rows_json(arena, secrets)};

    EACH_ROW (row, rows)
        assert_string_equal(selected(arena, row->fleet, row->labels, &known), row->found);
}

CASE(nobody_is_there)
{
    const struct fleet_known fleets_alone = {.fleets = rows_json(arena, fleets)}, none = {0};

    assert_string_equal(selected(arena, "empty", NULL, &fleets_alone),
                        "no cluster of fleet empty is there: its list is empty");
    assert_string_equal(selected(arena, "f", NULL, &none),
                        "lost: there is neither a Fleet f nor a Secret with the label "
                        "flagger.app/cluster for it");
}

/* --- the kubeconfig of a member */

static const char good[] =
    "{clusters: [{name: c, cluster: {server: \"https://one:6443\"}}], users: [{name: u, user: "
    "{token: "
    "abc}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}";

static struct json_object *secret_of(struct arena *arena, const char *key, const char *text)
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
    } kinds[] = {{"value", NULL}, {"kubeconfig", NULL}, {"k", "k"}};
    struct kube_config config;
    struct errinfo ei;
    const char *text;

    EACH_ROW (row, kinds) {
        assert_int_equal(fleet_kubeconfig(arena, secret_of(arena, row->in, coded), row->key, &text,
                                          &config, &ei),
                         ERR_OK);
        assert_string_equal(config.server, "https://one:6443");
        assert_string_equal(text, good);
    }
}

CASE(a_mistake_names_the_secret_and_nothing_in_it)
{
    static const struct {
        const char *in, *key, *text, *says;
    } mistakes[] = {
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

    EACH_ROW (row, mistakes) {
        assert_int_equal(fleet_kubeconfig(arena, secret_of(arena, row->in, row->text), row->key,
                                          &text, &config, &ei),
                         ERR_INVALID);
        assert_memory_equal(ei.text, row->says, strlen(row->says));
        assert_null(strstr(ei.text, "secret"));
    }
}
