/*
 * A notifier: turns an alert into one HTTP request to a chat service, and its reply into "taken" or
 * a sentence. Pure.
 */
#ifndef NOTIFY_NOTIFY_H
#define NOTIFY_NOTIFY_H

#include "net/client.h"
#include "tick/tick.h"

/* Where to: an AlertProvider with its Secret looked up, or one of the controller's options. */
struct address {
    const char *url;
    const char *token;    /* NULL: none */
    const char *proxy;    /* NULL: that of the environment */
    const char *username; /* "flagger" */
    const char *channel;  /* "general" */
    const char *template; /* spec.body, NULL: none; where the notifier takes one */
};

/* Whom an alert is for. */
struct channel {
    const char *name; /* of the entry of analysis.alerts */
    const struct notifier *notifier;
    bool own;               /* of an option: --tenant-addresses does not hold */
    struct address address; /* the URL and token are not known yet where there is a Secret */
    /* The Secret with the keys `address` and `token`; NULL: none. */
    const char *secret, *secret_namespace;
};

struct alert_field {
    const char *name, *value;
};
enum { ALERT_FIELDS_MAX = 8 };
#define ALERT_REASON "Reason" /* the name of the field that says why */

struct alert {
    const char *canary, *namespace_;
    const char *severity; /* "info", "warn", "error" */
    const char *text;
    const char *key; /* the same when it is told once more */
    struct alert_field fields[ALERT_FIELDS_MAX];
    int n_fields;
};

struct notifier {
    const char *type; /* AlertProvider spec.type */
    /* What the service is sent, in the arena. */
    struct json_object *(*body)(struct arena *arena, const struct address *address,
                                const struct alert *alert);
    /* Where it is sent to; NULL: to the URL as it is. */
    const char *(*url)(struct arena *arena, const struct address *address);
    bool takes_token;        /* it is sent as a bearer token (RFC 6750) */
    const char *needs_token; /* what it is; NULL: it can be left out */
    bool takes_template;     /* spec.body says what is sent instead of `body` */
};

/* AlertProvider */
extern const struct kube_resource alert_providers;

extern const struct notifier *const notifier_table[];
const struct notifier *notifier_find(const char *type);
/* "discord, gchat, ...", for errors; owned by the arena. */
const char *notifier_names(struct arena *arena);

/*
 * Fills *out, everything in the arena. text: what the template makes of the alert, NULL: none.
 * ERR_INVALID: the address is no URL of the kind that it takes, or a token is missing.
 */
enum err notify_request(struct arena *arena, const struct notifier *notifier,
                        const struct address *address, const struct alert *alert, const char *text,
                        struct http_request *out, struct errinfo *ei);
/*
 * NULL: the alert was taken. Otherwise why not, in the arena, as text that may be shown: of what the
 * service has said, without the path of its URL, the URL's password and the token, for a service may
 * answer with what it got. *again: asked once more it may be taken.
 */
const char *notify_refusal(struct arena *arena, const struct address *address,
                           const struct http_result *result, bool *again);
/* "NAME.NAMESPACE" of the Canary that the alert is about. */
const char *alert_subject(struct arena *arena, const struct alert *alert);
/* "NAME.NAMESPACE: TEXT", and behind it the reason: for who sees a single line. */
const char *alert_summary(struct arena *arena, const struct alert *alert);
bool alert_is_error(const struct alert *alert);
/* {"Traffic routing": "Blue/Green"}; owned by the arena. */
struct json_object *alert_fields(struct arena *arena, const struct alert *alert);
/* A text that is shown and not read as markup: "&lt;" for "<", as HTML and Slack want it. */
const char *alert_escape(struct arena *arena, const char *text);
/* "traffic_routing" of "Traffic routing", for names that allow no blanks. */
const char *alert_identifier(struct arena *arena, const char *name);

#endif
