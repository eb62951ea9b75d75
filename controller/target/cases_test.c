/* Targets, their primaries, and the configs that they read: cases of cases.yaml. */
#include "tick/cases_test.h"
#include "target/shared/configs.h"
#include "target/shared/primary.h"
#include "target/shared/workload.h"
#include "tick/edit.h"

static const struct target *target_of(const struct called *called)
{
    return target_find(called->f->canary.target.api_version, called->f->canary.target.kind);
}

static void tell_info(struct called *called)
{
    static const char *const pins[] = {"none", "holds", "placed", "broken"};
    const struct target_info *info = called->own;
    struct json_object *got = called->got;

    json_set(got, "object", info->object);
    json_set(got, "primary", info->primary);
    json_set(got, "template", info->template);
    json_set(got, "configs", info->configs);
    if (info->configs)
        json_set_int(got, "n configs", json_object_object_length(info->configs));
    json_set_str(got, "revision", info->revision);
    json_set_str(got, "label", info->label);
    json_set_str(got, "label value", info->label_value);
    json_set_str(got, "hash", info->hash);
    json_set_str(got, "next", info->next);
    json_set_str(got, "unusable", info->unusable);
    json_set_str(got, "missing", info->missing);
    json_set_str(got, "pin", pins[info->pin]);
    json_set_int(got, "waiting", info->queue.n);
    json_set_bool(got, "kept", info->queue.kept);
    json_set_bool(got, "news", info->queue.news);
    json_set_bool(got, "overtaken", info->queue.overtaken);
    json_set_bool(got, "at zero", info->at_zero);
    json_set_bool(got, "stopped", info->stopped);
}

/* --- preparations */

/* with: {object, primary, at zero}: as if they had been read */
static enum rule_result given(struct called *called)
{
    struct target_info *info = called->own;

    *info = (struct target_info){.object = json_at(called->with, "object", NULL),
                                 .primary = json_at(called->with, "primary", NULL),
                                 .at_zero = json_bool_at(called->with, false, "at zero", NULL)};
    return RULE_CONTINUE;
}

/* The same for a workload whose primary does not exist yet. */
static enum rule_result chosen(struct called *called)
{
    struct target_info *info = called->own;
    struct tick *tick = called->f->tick;

    *info = (struct target_info){.object = json_at(called->with, "object", NULL),
                                 .primary = json_at(called->with, "primary", NULL),
                                 .configs = edit_object(unit_arena),
                                 .hash = "abc"};
    info->template =
        edit_overlay(unit_arena, NULL, json_at(info->object, "spec", "template", NULL));
    assert_true(primary_selector(tick, info->object, info));
    tell_info(called);
    return RULE_CONTINUE;
}

static enum rule_result read_target(struct called *called)
{
    struct target_info *info = called->own;

    *info = (struct target_info){0};
    enum rule_result verdict = target_of(called)->read(called->f->tick, info);
    tell_info(called);
    return verdict;
}

static enum rule_result find_target(struct called *called)
{
    struct target_info *info = called->own;

    *info = (struct target_info){0};
    enum rule_result verdict = target_of(called)->find(called->f->tick, info);
    tell_info(called);
    return verdict;
}

/* --- a target */

static enum rule_result own_services(struct called *called)
{
    return target_of(called)->own_services(called->f->tick, called->own);
}

static enum rule_result ensure_primary(struct called *called)
{
    return target_of(called)->ensure_primary(called->f->tick, called->own);
}

static enum rule_result promote(struct called *called)
{
    return target_of(called)->promote(called->f->tick, called->own);
}

/* with: {revision: 'x'}: the hash of that text */
static enum rule_result is_promoted(struct called *called)
{
    struct target_info info = *(struct target_info *)called->own;
    const char *revision = json_str_at(called->with, "revision", NULL);

    if (revision)
        spechash_string(revision, info.hash);
    json_set_bool(called->got, "promoted", target_of(called)->is_promoted(called->f->tick, &info));
    return RULE_CONTINUE;
}

static enum rule_result compare(struct called *called)
{
    bool same = false;
    enum rule_result verdict = target_of(called)->compare(called->f->tick, called->own, &same);

    json_set_bool(called->got, "same", same);
    return verdict;
}

/* with: {side: primary}; otherwise the canary */
static enum side side_of(const struct called *called)
{
    return json_at(called->with, "side", NULL) ? SIDE_PRIMARY : SIDE_CANARY;
}

static enum rule_result ready(struct called *called)
{
    static const char *const names[] = {"ready", "not yet", "never"};
    const char *why = NULL;
    enum side side = side_of(called);

    json_set_str(called->got, "is",
                 names[target_of(called)->ready(called->f->tick, called->own, side, &why)]);
    json_set_str(called->got, "why", why);
    json_set_bool(called->got, "serves", target_of(called)->serves(called->own, side));
    return RULE_CONTINUE;
}

static enum rule_result serves(struct called *called)
{
    json_set_bool(called->got, "serves", target_of(called)->serves(called->own, side_of(called)));
    return RULE_CONTINUE;
}

static enum rule_result scale_to_zero(struct called *called)
{
    target_of(called)->scale_to_zero(called->f->tick, called->own);
    return RULE_CONTINUE;
}

/* with: {replicas: 2} */
static int replicas_of(const struct called *called)
{
    return (int)json_int_at(called->with, 0, "replicas", NULL);
}

static enum rule_result scale_from_zero(struct called *called)
{
    target_of(called)->scale_from_zero(called->f->tick, called->own, replicas_of(called));
    return RULE_CONTINUE;
}

static enum rule_result restore(struct called *called)
{
    target_of(called)->restore(called->f->tick, called->own, replicas_of(called));
    return RULE_CONTINUE;
}

static enum rule_result pin(struct called *called)
{
    json_set_bool(called->got, "pinned", target_of(called)->pin(called->f->tick, called->own));
    return RULE_CONTINUE;
}

static enum rule_result unpin(struct called *called)
{
    target_of(called)->unpin(called->f->tick, called->own);
    return RULE_CONTINUE;
}

/* with: {deed: next} */
static enum rule_result queue(struct called *called)
{
    static const char *const deeds[] = {"note", "hold", "place", "next", "drop"};
    static const char *const results[] = {"written", "replaced", "too large"};
    const char *deed = json_str_at(called->with, "deed", NULL);
    enum queue_deed n = QUEUE_NOTE;

    while (strcmp(deeds[n], deed) != 0)
        n++;
    json_set_str(called->got, "queued",
                 results[target_of(called)->queue(called->f->tick, called->own, n)]);
    return RULE_CONTINUE;
}

/* The revisions of primary and target, in addition to the facts that were read. */
static enum rule_result hashes(struct called *called)
{
    const struct target_info *info = called->own;
    const struct target *target = target_of(called);
    char own[SPECHASH_TEXT];

    assert_int_equal(target->revision(unit_arena, info->object, own, NULL), ERR_OK);
    json_set_bool(called->got, "revision is it", strcmp(own, info->hash) == 0);
    json_set_bool(called->got, "primary has it",
                  strcmp(target->primary_hash(called->f->tick, info), info->hash) == 0);
    return RULE_CONTINUE;
}

/* Since 2026-01-02T00:00:00Z. */
static enum rule_result untouched(struct called *called)
{
    json_set_bool(called->got, "untouched",
                  past_untouched_since(called->f->tick, called->own, 1767312000000));
    return RULE_CONTINUE;
}

/* --- content of a primary */

static enum rule_result template_of_primary(struct called *called)
{
    const struct target_info *info = called->own;
    struct tick *tick = called->f->tick;
    const char *before = json_text(unit_arena, info->object);
    struct json_object *made = primary_template(tick, info);

    primary_rewrite_affinity(tick, info, json_sub(made, "spec"), true);
    assert_string_equal(json_str_at(made, "metadata", "annotations", PRIMARY_ID, NULL),
                        primary_id(tick, info));
    json_object_object_del(json_at(made, "metadata", "annotations", NULL), PRIMARY_ID);
    assert_string_equal(json_text(unit_arena, info->object), before);
    json_set(called->got, "template", made);
    json_set(called->got, "labels", primary_labels(tick, info));
    return RULE_CONTINUE;
}

/* with: {spec: {...}}, for pods of the target */
static enum rule_result affinity(struct called *called)
{
    struct json_object *spec = json_copy(unit_arena, json_at(called->with, "spec", NULL));

    primary_rewrite_affinity(called->f->tick, called->own, spec, true);
    json_set(called->got, "of the primary", json_copy(unit_arena, spec));
    primary_rewrite_affinity(called->f->tick, called->own, spec, false);
    json_set(called->got, "and back", spec);
    return RULE_CONTINUE;
}

/* with: {live: the current selector of the Service} */
static enum rule_result pods(struct called *called)
{
    struct json_object *live = json_at(called->with, "live", NULL);

    json_set(called->got, "primary", primary_pods(called->f->tick, called->own, true, live));
    json_set(called->got, "target", primary_pods(called->f->tick, called->own, false, live));
    return RULE_CONTINUE;
}

/* with: {spec: {...}} */
static enum rule_result ports(struct called *called)
{
    json_set(called->got, "ports",
             primary_ports(called->f->tick, json_at(called->with, "spec", NULL)));
    return RULE_CONTINUE;
}

/* --- configs; with: {spec: the pods' spec} */

static enum rule_result configs(struct called *called)
{
    struct target_info *info = called->own;
    struct json_object *spec = json_at(called->with, "spec", NULL);

    *info = (struct target_info){0};
    enum rule_result verdict = configs_read(called->f->tick, spec, info);
    tell_info(called);
    json_set_bool(called->got, "tracked", info->configs && info->config_refs);
    return verdict;
}

static enum rule_result rename_configs(struct called *called)
{
    struct json_object *spec = json_copy(unit_arena, json_at(called->with, "spec", NULL));

    configs_rename(called->f->tick, called->own, spec);
    json_set_str(called->got, "spec", json_text(unit_arena, spec));
    return RULE_CONTINUE;
}

static enum rule_result copy_configs(struct called *called)
{
    return configs_copy(called->f->tick, called->own);
}

static enum rule_result compare_configs(struct called *called)
{
    bool same = false;
    enum rule_result verdict = configs_compare(called->f->tick, called->own, &same);

    json_set_bool(called->got, "same", same);
    return verdict;
}

static const struct called_word words[] = {
    {.name = "given", .call = given},
    {.name = "chosen", .call = chosen},
    {.name = "read", .call = read_target},
    {.name = "find", .call = find_target},
    {.name = "own services", .call = own_services},
    {.name = "ensure primary", .call = ensure_primary},
    {.name = "promote", .call = promote},
    {.name = "is promoted", .call = is_promoted},
    {.name = "compare", .call = compare},
    {.name = "ready", .call = ready},
    {.name = "serves", .call = serves},
    {.name = "scale to zero", .call = scale_to_zero},
    {.name = "scale from zero", .call = scale_from_zero},
    {.name = "restore", .call = restore},
    {.name = "pin", .call = pin},
    {.name = "unpin", .call = unpin},
    {.name = "queue", .call = queue},
    {.name = "hashes", .call = hashes},
    {.name = "untouched", .call = untouched},
    {.name = "template", .call = template_of_primary},
    {.name = "affinity", .call = affinity},
    {.name = "pods", .call = pods},
    {.name = "ports of pods", .call = ports},
    {.name = "configs", .call = configs},
    {.name = "rename configs", .call = rename_configs},
    {.name = "copy configs", .call = copy_configs},
    {.name = "compare configs", .call = compare_configs},
};

CASES_OF("controller/target/cases.yaml", words, struct target_info);

/* --- cases without rows */

/* Flagger's own hashes: for a DaemonSet, at zero or not, and for a Service. */
CASE(hashes_are_flaggers)
{
    struct fixture f = fixture_new("{'spec':{'targetRef':{'kind':'DaemonSet'}}}");
    struct target_info info = {0};
    const char *hash;
    struct json_object *template = fixture_vector(&f, "daemonset-nodeselector-empty", &hash);
    struct json_object *target =
        fixture_json(f.arena, "{'spec':{'selector':{'matchLabels':{'app':'podinfo'}}}}");
    const struct target *kind = target_find("apps/v1", "DaemonSet");

    f.settings.config_tracking = false;
    json_set(json_sub(target, "spec"), "template", template);
    for (int zero = 0; zero < 2; zero++) {
        if (zero)
            json_set_str(json_at(template, "spec", "nodeSelector", NULL),
                         "flagger.app/scale-to-zero", "true");
        fixture_put_tree(&f, "daemonsets/podinfo", target);
        assert_int_equal(fixture_run(&f, kind->read(f.tick, &info)), RULE_CONTINUE);
        assert_string_equal(info.hash, hash);
    }
    f = fixture_new("{'spec':{'targetRef':{'apiVersion':'core/v1','kind':'Service'}}}");
    kind = target_find("v1", "Service");
    target = fixture_json(f.arena, "{}");
    json_set(target, "spec", fixture_vector(&f, "service-spec", &hash));
    fixture_put_tree(&f, "services/podinfo", target);
    info = (struct target_info){0};
    assert_int_equal(fixture_run(&f, kind->read(f.tick, &info)), RULE_CONTINUE);
    assert_string_equal(info.hash, hash);
}

CASE(a_template_that_no_annotation_takes_is_not_pinned)
{
    struct fixture f = fixture_new(NULL);
    const struct target *kind = target_find("apps/v1", "Deployment");
    struct target_info info = {0};
    char *large = arena_array(f.arena, 200 * 1024, 1);

    fixture_put(&f, "deployments/podinfo",
                "{'spec':{'selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{"
                "'app':'x'}},'spec':{'containers':[{'name':'c','image':'podinfo:2'}]}}}}");
    assert_int_equal(fixture_run(&f, kind->read(f.tick, &info)), RULE_CONTINUE);
    memset(large, 'x', 200 * 1024 - 1);
    json_set_str(json_at(info.object, "spec", "template", "spec", NULL), "note", large);
    assert_false(kind->pin(f.tick, &info));
    assert_null(f.tick->plan->first);
}

CASE(the_id_follows_from_what_is_promoted)
{
    struct fixture f = fixture_new(NULL);
    struct target_info info = {
        .object = fixture_json(f.arena, "{}"), .configs = edit_object(f.arena), .hash = "abc"};

    f.tick = tick_new(f.arena, &f.canary, &f.settings, 0, true);
    const char *first = primary_id(f.tick, &info);
    assert_int_equal(strlen(first), 36);
    assert_string_equal(primary_id(f.tick, &info), first);
    json_set_str(info.configs, "configmap/a", "1");
    const char *second = primary_id(f.tick, &info);
    assert_string_not_equal(second, first);
    info.hash[0] = 'x';
    assert_string_not_equal(primary_id(f.tick, &info), second);
}

CASE(kinds_are_found_by_their_group)
{
    static const struct {
        const char *api_version, *group; /* NULL if none */
    } cases[] = {
        {"v1", ""},        {"core/v1", ""},
        {"", ""},          {"serving.knative.dev/v1", "serving.knative.dev"},
        {"x.io/v1", NULL}, {"serving/v1", NULL},
    };

    EACH_ROW (row, cases) {
        const struct target *found = target_find(row->api_version, "Service");
        assert_int_equal(found != NULL, row->group != NULL);
        if (found)
            assert_string_equal(found->group, row->group);
    }
    assert_ptr_equal(target_find("extensions/v1beta1", "Deployment"),
                     target_find("apps/v1", "Deployment"));
    assert_null(target_find("v1", "ServiceX"));
    assert_false(target_find("v1", "Service")->has_replicas);
}
