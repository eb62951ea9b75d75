/*
 * A receiver of CloudEvents 1.0, in the structured JSON mode of their HTTP binding. An alert about
 * a change of what serves is an event of CDEvents 0.4.1 (service deployed, upgraded, rolledback),
 * with the alert in its customData; other alerts are events of type app.flagger.alert.
 */
#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "notify/notify.h"

#define CDEVENTS_VERSION       "0.4.1"
#define SERVICE_EVENTS_VERSION "0.2.0"

static struct json_object *object(struct arena *arena)
{
    return json_own(arena, json_object_new_object());
}

/* "clusters/eu/", a prefix for names that must be unique among clusters. */
static const char *cluster_path(struct arena *arena, const struct alert *alert)
{
    return alert->cluster && *alert->cluster
               ? arena_printf(arena, "clusters/%s/", url_encode(arena, alert->cluster))
               : "";
}

/* A URI reference: the path of the Canary in its API, after the cluster's name. */
static const char *source_of(struct arena *arena, const struct alert *alert)
{
    return arena_printf(arena, "/%sapis/flagger.app/v1beta1/namespaces/%s/canaries/%s",
                        cluster_path(arena, alert), alert->namespace_, alert->canary);
}

static const char *environment_of(struct arena *arena, const struct alert *alert)
{
    return arena_printf(arena, "%snamespaces/%s", cluster_path(arena, alert), alert->namespace_);
}

/* The repository as the container runtime reads it: including its registry. */
static const char *repository_of(struct arena *arena, const char *repository)
{
    size_t host = strcspn(repository, "/");
    bool has_path = repository[host] == '/';
    const char *first = arena_strndup(arena, repository, host);

    if (has_path && (strpbrk(first, ".:") || strcmp(first, "localhost") == 0))
        return repository;
    return arena_printf(arena, "docker.io/%s%s", has_path ? "" : "library/", repository);
}

/* Percent-encoded except for the slashes. */
static const char *encoded_path(struct arena *arena, const char *path)
{
    const char *out = "";

    for (;;) {
        size_t len = strcspn(path, "/");
        out = arena_printf(arena, "%s%s", out, url_encode(arena, arena_strndup(arena, path, len)));
        if (!path[len])
            return out;
        out = arena_printf(arena, "%s/", out);
        path += len + 1;
    }
}

/*
 * The package URL of an image, "pkg:oci/NAME@DIGEST?repository_url=...&tag=...", without the digest
 * or the tag if the image has none. A service without an image is pkg:generic/NAME.
 */
static const char *purl_of(struct arena *arena, const struct alert *alert)
{
    const char *image = alert->image ? alert->image : "";
    const char *at = strchr(image, '@');
    const char *named = at ? arena_strndup(arena, image, (size_t)(at - image)) : image;
    const char *slash = strrchr(named, '/'), *last = slash ? slash + 1 : named;
    const char *colon = strchr(last, ':');

    if (!*image)
        return arena_printf(arena, "pkg:generic/%s", url_encode(arena, alert->canary));
    char *name = arena_strndup(arena, last, colon ? (size_t)(colon - last) : strlen(last));
    const char *repository = arena_strndup(arena, named, (size_t)(last - named) + strlen(name));
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return arena_printf(arena, "pkg:oci/%s%s%s?repository_url=%s%s%s", url_encode(arena, name),
                        at ? "@" : "", at ? url_encode(arena, at + 1) : "",
                        encoded_path(arena, repository_of(arena, repository)), colon ? "&tag=" : "",
                        colon ? url_encode(arena, colon + 1) : "");
}

/* The alert as the webhook notifier sends it. */
static struct json_object *alert_data(struct arena *arena, const struct alert *alert)
{
    struct json_object *out = object(arena);

    json_set_str(out, "key", alert->key);
    json_set_str(out, "name", alert->canary);
    json_set_str(out, "namespace", alert->namespace_);
    json_set_str(out, "severity", alert->severity);
    json_set_str(out, "text", alert->text);
    json_set(out, "fields", alert_fields(arena, alert));
    return out;
}

static struct json_object *cdevent(struct arena *arena, const struct alert *alert, const char *type)
{
    struct json_object *out = object(arena);
    struct json_object *context = json_sub(out, "context"), *subject = json_sub(out, "subject");
    struct json_object *content = json_sub(subject, "content");

    json_set_str(context, "version", CDEVENTS_VERSION);
    json_set_str(context, "id", alert->key);
    json_set_str(context, "source", source_of(arena, alert));
    json_set_str(context, "type", type);
    json_set_str(context, "timestamp", alert->at);
    json_set_str(subject, "id", alert->service);
    json_set_str(subject, "type", "service");
    json_set_str(json_sub(content, "environment"), "id", environment_of(arena, alert));
    json_set_str(content, "artifactId", purl_of(arena, alert));
    json_set(out, "customData", alert_data(arena, alert));
    json_set_str(out, "customDataContentType", "application/json");
    return out;
}

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    struct json_object *out = object(arena);
    const char *change = alert->at ? alert_change_name(alert->change) : NULL;
    const char *type =
        change ? arena_printf(arena, "dev.cdevents.service.%s.%s", change, SERVICE_EVENTS_VERSION)
               : "app.flagger.alert";

    (void)address;
    json_set_str(out, "specversion", "1.0");
    json_set_str(out, "id", alert->key);
    json_set_str(out, "source", source_of(arena, alert));
    json_set_str(out, "type", type);
    json_set_str(out, "subject", alert->service);
    if (change)
        json_set_str(out, "time", alert->at);
    json_set_str(out, "datacontenttype", change ? "application/cdevents+json" : "application/json");
    json_set(out, "data", change ? cdevent(arena, alert, type) : alert_data(arena, alert));
    return out;
}

const struct notifier notifier_cloudevents = {
    .type = "cloudevents",
    .body = body,
    .content_type = "application/cloudevents+json; charset=utf-8",
    .takes_token = true,
};
