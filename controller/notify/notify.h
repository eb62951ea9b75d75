/*
 * A notifier: turns an alert into one HTTP request to a chat service, and its reply into success or
 * a sentence. Pure.
 */
#ifndef NOTIFY_NOTIFY_H
#define NOTIFY_NOTIFY_H

#include "net/client.h"
#include "tick/tick.h"

/* Destination: an AlertProvider with its Secret, or one of the controller's options. */
struct address {
    const char *url;
    const char *token;    /* NULL if none */
    const char *proxy;    /* NULL: the one from the environment */
    const char *username; /* "flagger" */
    const char *channel;  /* "general" */
    const char *template; /* spec.body, NULL if there is none; for notifiers that support it */
};

/* A receiver of alerts. */
struct channel {
    const char *name; /* name of the entry in analysis.alerts */
    const struct notifier *notifier;
    bool own;               /* set by an option: --tenant-addresses does not apply */
    struct address address; /* URL and token are not set yet if there is a Secret */
    /* The Secret with the keys `address` and `token`; NULL if none. */
    const char *secret, *secret_namespace;
};

struct alert_field {
    const char *name, *value;
};
enum { ALERT_FIELDS_MAX = 8 };
#define ALERT_REASON "Reason" /* name of the field that holds the reason */

/* The change that a release has made to the service. */
enum alert_change { ALERT_NO_CHANGE, ALERT_DEPLOYED, ALERT_UPGRADED, ALERT_ROLLED_BACK };

struct alert {
    const char *canary, *namespace_;
    const char *severity; /* "info", "warn", "error" */
    const char *text;
    const char *key; /* the same when an alert is repeated */
    /* For notifiers that report changes. */
    const char *service; /* "deployment/podinfo" */
    const char *cluster; /* NULL if it has no name */
    enum alert_change change;
    const char *image; /* for a change: the image that serves after it, "" if there is none */
    const char *at;    /* for a change: its time, RFC 3339 */
    struct alert_field fields[ALERT_FIELDS_MAX];
    int n_fields;
};

struct notifier {
    const char *type; /* AlertProvider spec.type */
    /* The message, in the arena. */
    struct json_object *(*body)(struct arena *arena, const struct address *address,
                                const struct alert *alert);
    /* The URL of the request; NULL: the given URL. */
    const char *(*url)(struct arena *arena, const struct address *address);
    const char *content_type; /* NULL: application/json */
    bool takes_token;         /* sent as a bearer token (RFC 6750) */
    const char *needs_token;  /* name of the required token; NULL if it is optional */
    bool takes_template;      /* spec.body replaces `body` */
};

/* AlertProvider */
extern const struct kube_resource alert_providers;

extern const struct notifier *const notifier_table[];
const struct notifier *notifier_find(const char *type);
/* "discord, gchat, ...", for errors; owned by the arena. */
const char *notifier_names(struct arena *arena);

/*
 * Fills *out; everything lives in the arena. text: output of the template, NULL if there is none.
 * ERR_INVALID if the address is not a URL of the required kind, or a token is missing.
 */
enum err notify_request(struct arena *arena, const struct notifier *notifier,
                        const struct address *address, const struct alert *alert, const char *text,
                        struct http_request *out, struct errinfo *ei);
/*
 * NULL if the alert was accepted. Otherwise the reason, in the arena, which is safe to show: since
 * a service may repeat its input, the path of its URL, the URL's password and the token are
 * removed. *retry: a retry may succeed.
 */
const char *notify_refusal(struct arena *arena, const struct address *address,
                           const struct http_result *result, bool *retry);
/* "upgraded", as in status.pendingAlerts; NULL for ALERT_NO_CHANGE. */
const char *alert_change_name(enum alert_change change);
enum alert_change alert_change_find(const char *name); /* NULL and unknown names: ALERT_NO_CHANGE */
/* "NAME.NAMESPACE" of the Canary. */
const char *alert_subject(struct arena *arena, const struct alert *alert);
/* A one-line summary: "NAME.NAMESPACE: TEXT" and the reason. */
const char *alert_summary(struct arena *arena, const struct alert *alert);
bool alert_is_error(const struct alert *alert);
/* {"Traffic routing": "Blue/Green"}; owned by the arena. */
struct json_object *alert_fields(struct arena *arena, const struct alert *alert);
/* Escapes markup: "&lt;" for "<", as in HTML and Slack. */
const char *alert_escape(struct arena *arena, const char *text);
/* "traffic_routing" for "Traffic routing": names without blanks. */
const char *alert_identifier(struct arena *arena, const char *name);

/* A message for Slack's incoming webhooks, which Discord and Rocket.Chat accept as well. color: the
 * color of the bar beside the text. */
struct json_object *slack_message(struct arena *arena, const struct address *address,
                                  const struct alert *alert, const char *color);

#endif
