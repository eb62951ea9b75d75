#include "lint/others.h"

#include <ctype.h>
#include <string.h>

#include "engine/alert_template.h"
#include "fleet/grants.h"
#include "lint/schema.h"
#include "metric/ask.h"
#include "metric/render.h"
#include "notify/notify.h"
#include "proto/application.h"

enum { NOW_MS = 1000 };

static struct json_object *checked(struct document *document)
{
    struct arena *arena = document->lint->arena;
    struct json_object *object = json_copy(arena, document->json);

    json_object_object_del(object, "status");
    schema_check(document, schema_of(document), object);
    return object;
}

/* Nobody knows what Canaries will give them; each has some text. */
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

/* The Secret that the spec names, where it is in the files. False: what it says is not known. */
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
                                       .variables = variables_of(arena, query)};

    return render_query(arena, query, &model, out, ei) == ERR_OK;
}

bool template_query(struct arena *arena, const char *query, struct errinfo *ei)
{
    const char *out;

    return render(arena, query, &out, ei);
}

/* Of another type than was written nothing can be said. */
static bool is_changed(struct document *document, const char *field)
{
    struct place place;
    const char *rest;

    return place_parse(document->lint->arena, field, &place, &rest) &&
           places_have(&document->changed, &place);
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
    if (!render(arena, query, &question.query, &ei)) {
        document_sentence(document, arena_printf(arena, "spec.query: %s", ei.text));
        return;
    }
    const char *headers = ask_headers_refusal(arena, provider);
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

/* The address and the token of a Secret come from there. */
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

/* It is asked for once, at the moment at which it is made. */
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

/* The Namespace that may grant it is on a cluster that lint does not see: an error is only one that
 * nothing opens. */
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
