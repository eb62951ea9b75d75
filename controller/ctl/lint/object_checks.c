#include <ctype.h>
#include <string.h>

#include "ctl/lint/document.h"
#include "decide/alerts.h"
#include "decide/decide.h"
#include "fleet/rules/select.h"
#include "metric/backend.h"
#include "metric/template.h"
#include "notify/notify.h"
#include "proto/application.h"
#include "target/target.h"

enum { NOW_MS = 1000 };

static void found(void *arg, const char *sentence)
{
    verdicts_add(arg, sentence);
}

static void ask(void *arg, struct json_object *object, struct verdicts *out)
{
    struct document *document = arg;
    struct canary *canary = ARENA_NEW(out->arena, struct canary);
    struct errinfo ei;

    if (canary_view(out->arena, object, canary, &ei) != ERR_OK) {
        out->unread = true;
        verdicts_add(out, ei.text);
        return;
    }
    struct tick *tick = tick_new(out->arena, canary, document->lint->settings, NOW_MS, true);
    facts_ask(document->lint, tick, accept_judge, found, out);
}

/* --- metrics: the queries are rendered in the same way as later */

static bool renders(struct document *document, const struct canary *canary, int index,
                    const struct template_means *means, const char *query, struct errinfo *ei)
{
    const struct canary_metric *metric = &canary->analysis.metrics[index];
    const char *interval = metric->interval ? metric->interval : metric->query ? "1m" : "";
    struct render_model model = render_model_of(canary, interval, metric->variables);
    const char *out;

    model.means = means;
    return render_query(document->lint->arena, query, &model, &out, ei) == ERR_OK;
}

static void check_metric(struct document *document, const struct canary *canary, int index,
                         const struct template_means *means)
{
    struct arena *arena = document->lint->arena;
    const struct canary_metric *metric = &canary->analysis.metrics[index];
    const char *namespace_ = metric->template_ref.namespace_, *query;
    const char *at = arena_printf(arena, "spec.%s.metrics[%d]",
                                  canary->analysis.legacy ? "canaryAnalysis" : "analysis", index);
    struct errinfo ei;

    if (metric->query && !renders(document, canary, index, means, metric->query, &ei))
        document_sentence(document, arena_printf(arena, "%s.query: %s", at, ei.text));
    if (!metric->template_ref.name)
        return;
    const struct document *template =
        document_find(document->lint, metric_templates.group, metric_templates.kind,
                      namespace_ ? namespace_ : document->namespace_, metric->template_ref.name);
    query = template ? json_str_at(template->json, "spec", "query", NULL) : NULL;
    /* Mistakes in the template itself are reported at the template. */
    if (query && template_query(arena, query, &ei) &&
        !renders(document, canary, index, means, query, &ei))
        document_sentence(document, arena_printf(arena, "%s.templateRef: MetricTemplate %s: %s", at,
                                                 metric->template_ref.name, ei.text));
}

static void check_metrics(struct document *document, const struct canary *canary)
{
    struct template_budget budget = {.steps = TEMPLATE_TICK_STEPS, .bytes = TEMPLATE_TICK_BYTES};
    const struct template_means means = {.budget = &budget};

    for (int i = 0; i < canary->analysis.n_metrics; i++)
        check_metric(document, canary, i, &means);
}

/* --- the target, if it is in the files */

static enum rule_result read_target(struct tick *tick,
                                    void (*tell)(void *arg, const char *sentence), void *arg)
{
    const struct canary_ref *ref = &tick->canary->target;
    const struct target *target = target_find(ref->api_version, ref->kind);
    struct target_info info = {0};
    enum rule_result verdict = target->read(tick, &info);

    if (verdict == RULE_DONE && info.unusable)
        tell(arg, arena_printf(tick->arena, "spec.targetRef: %s", info.unusable));
    return verdict == RULE_NEEDS_FACTS ? verdict : RULE_CONTINUE;
}

static void check_target(struct document *document, struct tick *tick)
{
    const struct canary_ref *ref = &tick->canary->target;
    const struct target *target = target_find(ref->api_version, ref->kind);
    struct verdicts verdicts = {.arena = document->lint->arena};

    /* A Knative Service has no revision before it is in a cluster. */
    if (!target || kube_resource_same(target->resource, &kube_knative_services) ||
        !document_find(document->lint, target->resource->group, target->resource->kind,
                       document->namespace_, ref->name))
        return;
    facts_ask(document->lint, tick, read_target, found, &verdicts);
    for (size_t i = 0; i < verdicts.count; i++)
        document_sentence(document, verdicts.sentences[i]);
}

void canary_check(struct document *document)
{
    struct arena *arena = document->lint->arena;
    struct json_object *schema = schema_of(document);
    struct json_object *object = json_copy(arena, document->json);
    struct errinfo ignored;

    json_object_object_del(object, "status");
    schema_check(document, schema, object);
    repair_tell_all(document, schema, object, ask, document);
    struct canary *canary = ARENA_NEW(arena, struct canary);
    if (canary_view(arena, object, canary, &ignored) != ERR_OK)
        return;
    struct tick *tick = tick_new(arena, canary, document->lint->settings, NOW_MS, true);
    check_metrics(document, canary);
    check_target(document, tick);
    canary_warn(document, canary, tick);
    names_warn(document, canary);
}

static struct json_object *checked(struct document *document)
{
    struct arena *arena = document->lint->arena;
    struct json_object *object = json_copy(arena, document->json);

    json_object_object_del(object, "status");
    schema_check(document, schema_of(document), object);
    return object;
}

/* Canaries set the variables: any text will do. */
static struct json_object *variables_of(struct arena *arena, const char *query)
{
    static const char word[] = "variables.";
    struct json_object *map = json_own(arena, json_object_new_object());

    for (const char *at = strstr(query, word); at; at = strstr(at, word)) {
        const char *end = at += strlen(word);
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        if (end > at)
            json_set_str(map, arena_strndup(arena, at, (size_t)(end - at)), "x");
    }
    return map;
}

/* The Secret that the spec names, if it is in the files. False: its content is not known. */
static bool find_secret(struct document *document, struct json_object *spec,
                        struct json_object **out)
{
    const char *name = json_str_at(spec, "secretRef", "name", NULL);
    const struct document *secret =
        name ? document_find(document->lint, "", "Secret", document->namespace_, name) : NULL;

    *out = secret ? document_object(document->lint, secret) : NULL;
    return !name || secret;
}

static bool render(struct arena *arena, const char *query, const char **out, struct errinfo *ei)
{
    const struct render_model model = {.name = "app",
                                       .namespace_ = "test",
                                       .target = "app",
                                       .service = "app",
                                       .ingress = "app",
                                       .route = "app",
                                       .interval = "1m",
                                       .workload = "app",
                                       .variables = variables_of(arena, query)};

    return render_query(arena, query, &model, out, ei) == ERR_OK;
}

bool template_query(struct arena *arena, const char *query, struct errinfo *ei)
{
    const char *out;

    return render(arena, query, &out, ei);
}

/* If a repair has changed the type, nothing can be said. */
static bool is_changed(struct document *document, const char *field)
{
    struct json_path place;
    const char *rest;

    return json_path_parse(document->lint->arena, field, &place, &rest) &&
           json_paths_have(&document->changed, &place);
}

/* Renders the query and, if the backend has them, path and body. False: there is a mistake, which
 * has been reported. */
static bool render_question(struct document *document, const struct metric_backend *backend,
                            const char *query, struct metric_question *question)
{
    static const char *const fields[] = {"method", "path", "body", "timeout", NULL};
    struct arena *arena = document->lint->arena;
    struct errinfo ei;
    const char *field = "spec.query";
    const char *path = json_str_at(question->spec, "path", NULL);
    const char *body = json_str_at(question->spec, "body", NULL);
    bool good = render(arena, query, &question->query, &ei);

    for (int i = 0; fields[i] && !backend->own_request; i++) {
        if (json_at(question->spec, fields[i], NULL))
            document_warn(document, arena_printf(arena, "spec.provider.%s", fields[i]),
                          "has no effect with type %s", backend->type);
    }
    if (good && backend->own_request && path) {
        field = "spec.provider.path";
        good = render(arena, path, &question->path, &ei);
    }
    if (good && backend->own_request && body) {
        field = "spec.provider.body";
        good = render(arena, body, &question->body, &ei);
    }
    if (!good)
        document_sentence(document, arena_printf(arena, "%s: %s", field, ei.text));
    return good;
}

void template_check(struct document *document)
{
    struct arena *arena = document->lint->arena;
    struct json_object *object = checked(document);
    struct json_object *provider = json_at(object, "spec", "provider", NULL);
    const char *query = json_str_at(object, "spec", "query", NULL);
    const char *type = json_str_at(provider, "type", NULL);
    const struct metric_backend *backend = type ? metric_backend_find(type) : NULL;
    struct metric_question question = {.id = "metric",
                                       .backend = type,
                                       .address = json_str_at(provider, "address", NULL),
                                       .interval_ms = 60000,
                                       .spec = provider};
    struct metric_request request;
    struct errinfo ei;

    if (!query || !backend || is_changed(document, "spec.provider.type: "))
        return;
    if (!render_question(document, backend, query, &question))
        return;
    const char *headers = backend_headers_refusal(arena, provider);
    if (headers)
        document_sentence(document, headers);
    if (headers || !find_secret(document, provider, &question.secret))
        return;
    if (metric_backend_is_ambient(backend, question.secret)) {
        if (question.address)
            document_warn(
                document, "spec.provider.address",
                "has no effect: the credentials of the controller go to %s alone, and the "
                "Secret has none of its own",
                type);
        return;
    }
    if (backend->request(arena, &question, NOW_MS, &request, &ei) != ERR_OK)
        document_sentence(document, arena_printf(arena, "spec.provider: %s", ei.text));
}

/* If there is a Secret, address and token come from it. */
static bool address_of(struct document *document, struct json_object *spec, struct address *out)
{
    struct json_object *secret;
    const char *username = json_str_at(spec, "username", NULL);
    const char *channel = json_str_at(spec, "channel", NULL);

    *out = (struct address){.url = json_str_at(spec, "address", NULL),
                            .proxy = json_str_at(spec, "proxy", NULL),
                            .username = username ? username : "flagger",
                            .channel = channel ? channel : "general",
                            .template = json_str_at(spec, "body", NULL)};
    return !json_at(spec, "secretRef", NULL) && out->url && find_secret(document, spec, &secret);
}

void provider_check(struct document *document)
{
    struct arena *arena = document->lint->arena;
    struct json_object *spec = json_at(checked(document), "spec", NULL);
    const char *type = json_str_at(spec, "type", NULL), *text;
    const struct alert alert = {.canary = "app",
                                .namespace_ = "test",
                                .severity = "info",
                                .text = "New revision detected",
                                .key = "key"};
    struct channel channel = {.name = "lint", .notifier = type ? notifier_find(type) : NULL};
    struct http_request request;
    struct errinfo ei;

    if (!channel.notifier || is_changed(document, "spec.type: "))
        return;
    bool known = address_of(document, spec, &channel.address);
    if (channel.address.template && !channel.notifier->takes_template)
        document_warn(document, "spec.body", "has no effect with type %s", type);
    if (alert_template_render(arena, &channel, &alert, &text, &ei) != ERR_OK)
        document_sentence(document, arena_printf(arena, "spec.body: %s", ei.text));
    else if (known && notify_request(arena, channel.notifier, &channel.address, &alert, text,
                                     &request, &ei) != ERR_OK)
        document_sentence(document, arena_printf(arena, "spec.address: %s", ei.text));
}

/* A request is evaluated only once, at the moment of its creation. */
void request_check(struct document *document)
{
    (void)checked(document);
    document_warn(
        document, "kind",
        "it is carried out once and then deleted: kept in files, it is asked for each time "
        "they are applied");
}

/* --- Applications */

bool application_is(const struct document *document)
{
    static const char group[] = "apps.kurator.dev/";

    return strncmp(document->api_version, group, strlen(group)) == 0 &&
           strcmp(document->kind, "Application") == 0;
}

/* The Namespace that may grant it is in a cluster that lint does not see: it is an error only if
 * nothing can grant it. */
static void check_place(struct document *document, const struct application *app, int index)
{
    static const char *const none[] = {NULL}, *const closed[] = {"flagger-system", NULL};
    static const struct grants grants = {.pairs = none, .closed = closed};
    struct arena *arena = document->lint->arena;
    const char *in = app->policies[index].rollout->workload.namespace_;
    const char *field =
        arena_printf(arena, "spec.syncPolicies[%d].rollout.workload.namespace", index);
    const struct document *namespace_ = document_find(document->lint, "", "Namespace", "", in);
    const char *refusal = grants_refusal(arena, &grants, field, app->namespace_, in,
                                         namespace_ ? namespace_->json : NULL);

    if (!refusal)
        return;
    if (grants_is_closed(&grants, in))
        document_sentence(document, refusal);
    else if (*document->namespace_)
        document_warn(document, field, "%s", refusal + strlen(field) + 2);
}

void application_check(struct document *document)
{
    struct application app;
    struct errinfo ei;

    if (application_view(document->lint->arena, document->json, &app, &ei) != ERR_OK) {
        document_sentence(document, arena_strdup(document->lint->arena, ei.text));
        return;
    }
    for (int i = 0; i < app.n_policies; i++)
        if (app.policies[i].rollout)
            check_place(document, &app, i);
}
