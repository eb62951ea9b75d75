/* Google Chat: a card, as its incoming webhooks accept it (Chat API, cards v1). Texts are HTML, and
 * may contain the response of a webhook. */
#include "base/json.h"
#include "notify/notify.h"

static void add_section(struct json_object *sections, const char *text)
{
    struct json_object *section = json_object_new_object();
    struct json_object *widgets = json_object_new_array();
    struct json_object *widget = json_object_new_object();

    json_set_str(json_sub(widget, "textParagraph"), "text", text);
    json_object_array_add(widgets, widget);
    json_object_object_add(section, "widgets", widgets);
    json_object_array_add(sections, section);
}

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    static const char grey[] = "<font color=#848484><strong>%s</strong></font>";
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *cards = json_object_new_array();
    struct json_object *card = json_object_new_object();
    struct json_object *header = json_sub(card, "header");
    struct json_object *sections = json_object_new_array();

    (void)address;
    json_set_str(header, "title", "Flagger");
    json_set_str(header, "subtitle", alert_subject(arena, alert));
    json_set_str(header, "imageUrl", "https://flagger.app/favicon.png");
    add_section(sections, arena_printf(arena, grey, alert_escape(arena, alert->text)));
    for (int i = 0; i < alert->n_fields; i++) {
        const struct alert_field *field = &alert->fields[i];
        const char *value = arena_printf(arena, grey, alert_escape(arena, field->value));
        add_section(sections,
                    arena_printf(arena, "%s<br>%s", alert_escape(arena, field->name), value));
    }
    json_object_object_add(card, "sections", sections);
    json_object_array_add(cards, card);
    json_object_object_add(out, "cards", cards);
    return out;
}

const struct notifier notifier_gchat = {.type = "gchat", .body = body};
