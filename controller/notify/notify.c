#include "notify/notify.h"

#include <string.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "base/json.h"

enum {
    TIMEOUT_MS = 5000,
    MAX_ANSWER = 64 * 1024,
    SAID_MAX = 300,
    ESCAPED_MAX = 64 * 1024,
};

const struct kube_resource alert_providers = {.group = "flagger.app",
                                              .version = "v1beta1",
                                              .plural = "alertproviders",
                                              .kind = "AlertProvider"};

const struct notifier *notifier_find(const char *type)
{
    for (size_t i = 0; type && notifier_table[i]; i++) {
        if (strcmp(notifier_table[i]->type, type) == 0)
            return notifier_table[i];
    }
    return NULL;
}

const char *notifier_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; notifier_table[i]; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", notifier_table[i]->type);
    return all;
}

static bool is_url(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

/* A template does not declare the content type of its output, so it is guessed. */
static const char *content_type(const struct notifier *notifier, const char *text)
{
    if (notifier->content_type)
        return notifier->content_type;
    return !text || *text == '{' || *text == '[' ? "application/json" : "text/plain; charset=utf-8";
}

enum err notify_request(struct arena *arena, const struct notifier *notifier,
                        const struct address *address, const struct alert *alert, const char *text,
                        struct http_request *out, struct errinfo *ei)
{
    struct http_header *headers = arena_array(arena, 4, sizeof(*headers));
    int n = 0;

    if (!is_url(address->url))
        return err_set(ei, ERR_INVALID, "the address is not a URL; expected https://...");
    if (notifier->needs_token && !(address->token && *address->token))
        return err_set(ei, ERR_INVALID, "expected the key token in its Secret: %s",
                       notifier->needs_token);
    headers[n++] = (struct http_header){"Content-Type", content_type(notifier, text)};
    headers[n++] = (struct http_header){"Idempotency-Key", alert->key};
    if (notifier->takes_token && address->token && *address->token)
        headers[n++] =
            (struct http_header){"Authorization", arena_printf(arena, "Bearer %s", address->token)};
    const char *body = text ? text : json_text(arena, notifier->body(arena, address, alert));
    *out = (struct http_request){
        .method = "POST",
        .url = notifier->url ? notifier->url(arena, address) : address->url,
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
        .proxy = address->proxy,
        .timeout_ms = TIMEOUT_MS,
        .max_body = MAX_ANSWER,
        .secret_path = true,
    };
    return ERR_OK;
}

/* --- replies */

/* Slack's Web API responds with 200 to rejected messages: {"ok": false, "error":
 * "invalid_auth"}. */
static const char *slack_error(struct arena *arena, const struct http_result *result)
{
    struct json_object *reply;
    struct errinfo ei;

    if (result->body_len == 0 || result->body[0] != '{' ||
        json_parse(arena, result->body, result->body_len, MAX_ANSWER, &reply, &ei) != ERR_OK)
        return NULL;
    struct json_object *ok = json_at(reply, "ok", NULL);
    if (!json_object_is_type(ok, json_type_boolean) || json_object_get_boolean(ok))
        return NULL;
    const char *error = json_str_at(reply, "error", NULL);
    return error ? error : "ok is false";
}

/* Errors that are temporary according to Slack's documentation. */
static bool slack_error_passes(const char *error)
{
    static const char *const passing[] = {"ratelimited", "rate_limited",    "internal_error",
                                          "fatal_error", "request_timeout", "service_unavailable"};

    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        if (strcmp(error, passing[i]) == 0)
            return true;
    return false;
}

/* There was no connection: the certificate may still be corrected. */
static bool may_pass(const struct http_result *result)
{
    if (result->err != ERR_OK)
        return result->err == ERR_RETRY || result->err == ERR_DENIED;
    return result->status == 429 || (result->status >= 500 && result->status != 501);
}

/* In a chat service's URL, the path is the secret. */
static const char *redact_url(struct arena *arena, const char *text, const char *url)
{
    enum { LEAST = 6 };
    const char *scheme = strstr(url, "://");
    char *rest = NULL, *pieces = arena_strdup(arena, scheme ? scheme + 3 : url);

    for (char *piece = strtok_r(pieces, ":@/?&=#", &rest); piece;
         piece = strtok_r(NULL, ":@/?&=#", &rest)) {
        if (strlen(piece) >= LEAST)
            text = arena_strike_out(arena, text, piece);
    }
    return text;
}

/* As one line, shortened for readers. */
static const char *shown(struct arena *arena, const struct address *address, const char *text)
{
    if (address->token && *address->token)
        text = arena_strike_out(arena, text, address->token);
    text = redact_url(arena, text, address->url);
    size_t len = strlen(text);
    char *line = arena_strndup(arena, text, len <= SAID_MAX ? len : utf8_cut(text, SAID_MAX));
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return line;
}

const char *notify_refusal(struct arena *arena, const struct address *address,
                           const struct http_result *result, bool *retry)
{
    *retry = may_pass(result);
    if (result->err != ERR_OK)
        return arena_strdup(arena, result->info->text);
    if (result->redirect_url)
        return arena_printf(arena, "bad response %d: it leads to %s, expected the final address",
                            result->status, url_origin(arena, result->redirect_url));
    if (result->status < 200 || result->status >= 300)
        return arena_printf(arena, "bad response %d: %s", result->status,
                            shown(arena, address, result->body));
    const char *error = slack_error(arena, result);
    if (!error)
        return NULL;
    *retry = slack_error_passes(error);
    return arena_printf(arena, "refused: %s", shown(arena, address, error));
}

/* --- parts of a message */

static const char *const change_names[] = {[ALERT_DEPLOYED] = "deployed",
                                           [ALERT_UPGRADED] = "upgraded",
                                           [ALERT_ROLLED_BACK] = "rolledback"};

const char *alert_change_name(enum alert_change change)
{
    return change_names[change];
}

enum alert_change alert_change_find(const char *name)
{
    for (int i = ALERT_DEPLOYED; name && i <= ALERT_ROLLED_BACK; i++) {
        if (strcmp(change_names[i], name) == 0)
            return (enum alert_change)i;
    }
    return ALERT_NO_CHANGE;
}

const char *alert_subject(struct arena *arena, const struct alert *alert)
{
    return arena_printf(arena, "%s.%s", alert->canary, alert->namespace_);
}

const char *alert_summary(struct arena *arena, const struct alert *alert)
{
    const char *said = arena_printf(arena, "%s: %s", alert_subject(arena, alert), alert->text);

    for (int i = 0; i < alert->n_fields; i++)
        if (strcmp(alert->fields[i].name, ALERT_REASON) == 0)
            return arena_printf(arena, "%s - %s", said, alert->fields[i].value);
    return said;
}

bool alert_is_error(const struct alert *alert)
{
    return strcmp(alert->severity, "error") == 0;
}

struct json_object *alert_fields(struct arena *arena, const struct alert *alert)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    for (int i = 0; i < alert->n_fields; i++)
        json_set_str(out, alert->fields[i].name, alert->fields[i].value);
    return out;
}

const char *alert_escape(struct arena *arena, const char *text)
{
    struct buf out;

    buf_init(&out, ESCAPED_MAX);
    for (; *text; text++) {
        switch (*text) {
        case '<':
            buf_puts(&out, "&lt;");
            break;
        case '>':
            buf_puts(&out, "&gt;");
            break;
        case '&':
            buf_puts(&out, "&amp;");
            break;
        default:
            buf_add(&out, text, 1);
        }
    }
    const char *copy = arena_strndup(arena, out.data ? out.data : "", out.len);
    buf_fini(&out);
    return copy;
}

const char *alert_identifier(struct arena *arena, const char *name)
{
    char *out = arena_strdup(arena, name);

    for (char *c = out; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
        else if (!(*c >= 'a' && *c <= 'z'))
            *c = '_';
    }
    return out;
}

/* --- messages of Slack */

static struct json_object *field_of(const struct alert_field *field)
{
    struct json_object *out = json_object_new_object();

    json_set_str(out, "title", field->name);
    json_set_str(out, "value", field->value);
    json_object_object_add(out, "short", json_object_new_boolean(false));
    return out;
}

static struct json_object *attachment(struct arena *arena, const struct alert *alert,
                                      const char *color)
{
    struct json_object *out = json_object_new_object();
    struct json_object *markdown_in = json_object_new_array();
    struct json_object *fields = json_object_new_array();

    json_set_str(out, "color", color);
    json_set_str(out, "author_name", alert_subject(arena, alert));
    json_set_str(out, "text", alert->text);
    json_object_array_add(markdown_in, json_object_new_string("text"));
    json_object_object_add(out, "mrkdwn_in", markdown_in);
    for (int i = 0; i < alert->n_fields; i++)
        json_object_array_add(fields, field_of(&alert->fields[i]));
    json_object_object_add(out, "fields", fields);
    return out;
}

struct json_object *slack_message(struct arena *arena, const struct address *address,
                                  const struct alert *alert, const char *color)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *attachments = json_object_new_array();

    json_set_str(out, "channel", address->channel);
    json_set_str(out, "username", address->username);
    json_set_str(out, "icon_url", "");
    json_set_str(out, "icon_emoji", ":rocket:");
    json_object_array_add(attachments, attachment(arena, alert, color));
    json_object_object_add(out, "attachments", attachments);
    return out;
}
