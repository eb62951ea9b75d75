#include "engine/alert_template.h"

#include <string.h>

#include "metric/template.h"

enum { BODY_MAX = 64 * 1024 };

static void add_quoted(struct arena *arena, struct json_object *map, const char *name,
                       const char *text)
{
    json_set_str(map, name, json_text(arena, json_own(arena, json_object_new_string(text))));
}

enum err alert_template_render(struct arena *arena, const struct channel *channel,
                               const struct alert *alert, const char **out, struct errinfo *ei)
{
    struct json_object *fields = json_own(arena, json_object_new_object());
    struct json_object *quoted = json_own(arena, json_object_new_object());
    const struct template_function functions[] = {{"key", alert->key, NULL},
                                                  {"canary", alert->canary, NULL},
                                                  {"namespace", alert->namespace_, NULL},
                                                  {"severity", alert->severity, NULL},
                                                  {"text", alert->text, NULL},
                                                  {"fields", NULL, fields},
                                                  {"json", NULL, quoted},
                                                  {NULL, NULL, NULL}};

    *out = NULL;
    if (!channel->address.template || !channel->notifier->takes_template)
        return ERR_OK;
    for (int i = 0; i < alert->n_fields; i++) {
        const char *name = alert_identifier(arena, alert->fields[i].name);
        json_set_str(fields, name, alert->fields[i].value);
        add_quoted(arena, quoted, name, alert->fields[i].value);
    }
    for (const struct template_function *f = functions; f->text; f++)
        add_quoted(arena, quoted, f->name, f->text);
    return template_render(arena, channel->address.template, functions, BODY_MAX, NULL, out, ei);
}
