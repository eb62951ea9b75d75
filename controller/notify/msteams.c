/*
 * Microsoft Teams. The URL of a workflow, the current interface, accepts an Adaptive Card; any
 * other URL belongs to a retired Office 365 connector, which accepts a MessageCard.
 */
#include <string.h>

#include "base/json.h"
#include "notify/notify.h"

/* Facts of both kinds have a value; their name is in "name" in a MessageCard, and in "title" in an
 * Adaptive Card. */
static struct json_object *facts(const struct alert *alert, const char *key)
{
    struct json_object *out = json_object_new_array();

    for (int i = 0; i < alert->n_fields; i++) {
        struct json_object *fact = json_object_new_object();
        json_set_str(fact, key, alert->fields[i].name);
        json_set_str(fact, "value", alert->fields[i].value);
        json_object_array_add(out, fact);
    }
    return out;
}

static struct json_object *message_card(struct arena *arena, const struct alert *alert)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *sections = json_object_new_array();
    struct json_object *section = json_object_new_object();
    const char *subject = alert_subject(arena, alert);

    json_set_str(out, "@type", "MessageCard");
    json_set_str(out, "@context", "http://schema.org/extensions");
    json_set_str(out, "themeColor", alert_is_error(alert) ? "FF0000" : "0076D7");
    json_set_str(out, "summary", subject);
    json_set_str(section, "activityTitle", alert->text);
    json_set_str(section, "activitySubtitle", subject);
    json_object_object_add(section, "facts", facts(alert, "name"));
    json_object_array_add(sections, section);
    json_object_object_add(out, "sections", sections);
    return out;
}

static void add_text(struct json_object *list, const char *text, const char *weight,
                     const char *color)
{
    struct json_object *block = json_object_new_object();

    json_set_str(block, "type", "TextBlock");
    json_set_str(block, "text", text);
    json_set_str(block, "weight", weight);
    json_set_str(block, "color", color);
    json_object_object_add(block, "wrap", json_object_new_boolean(true));
    json_object_array_add(list, block);
}

static struct json_object *card_body(struct arena *arena, const struct alert *alert)
{
    struct json_object *out = json_object_new_array();

    add_text(out, alert_subject(arena, alert), "Bolder", "Default");
    add_text(out, alert->text, "Default", alert_is_error(alert) ? "Attention" : "Default");
    if (alert->n_fields > 0) {
        struct json_object *set = json_object_new_object();
        json_set_str(set, "type", "FactSet");
        json_object_object_add(set, "facts", facts(alert, "title"));
        json_object_array_add(out, set);
    }
    return out;
}

static struct json_object *adaptive_card(struct arena *arena, const struct alert *alert)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *attachments = json_object_new_array();
    struct json_object *attachment = json_object_new_object();
    struct json_object *card = json_sub(attachment, "content");

    json_set_str(attachment, "contentType", "application/vnd.microsoft.card.adaptive");
    json_set_str(card, "$schema", "http://adaptivecards.io/schemas/adaptive-card.json");
    json_set_str(card, "type", "AdaptiveCard");
    json_set_str(card, "version", "1.4");
    json_object_object_add(card, "body", card_body(arena, alert));
    json_object_array_add(attachments, attachment);
    json_set_str(out, "type", "message");
    json_object_object_add(out, "attachments", attachments);
    return out;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);

    return len >= end_len && strncmp(text + len - end_len, end, end_len) == 0;
}

/* Workflows have hosts in the domains of Azure Logic Apps and of the Power Platform. */
static bool is_workflow(const char *url)
{
    const char *host = strstr(url, "://");

    if (!host)
        return false;
    host += 3;
    size_t len = strcspn(host, ":/?#");
    return ends_with(host, len, ".logic.azure.com") || ends_with(host, len, ".powerplatform.com");
}

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    return is_workflow(address->url) ? adaptive_card(arena, alert) : message_card(arena, alert);
}

const struct notifier notifier_msteams = {.type = "msteams", .body = body};
