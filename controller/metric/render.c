#include "metric/render.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

enum { QUERY_MAX = 64 * 1024 };
static const char spaces[] = " \t\r\n";

struct render_model render_model_of(const struct canary *canary, const char *interval,
                                    struct json_object *variables)
{
    return (struct render_model){
        .name = canary->name,
        .namespace_ = canary->namespace_,
        .target = canary->target.name,
        .service = canary->service.name,
        .ingress = canary->ingress.name ? canary->ingress.name : canary->target.name,
        .route = canary->route.name ? canary->route.name : canary->target.name,
        .interval = interval,
        .variables = variables,
    };
}

static const char *plain_word(struct arena *arena, const char *text)
{
    char *plain = arena_strdup(arena, text);

    for (char *at = plain; *at; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_')
            *at = '_';
    }
    return plain;
}

static const char *function_value(struct arena *arena, const struct render_model *model,
                                  const char *what)
{
    const struct {
        const char *name, *value;
        bool word;
    } functions[] = {
        {"name", model->name, true},          {"namespace", model->namespace_, true},
        {"target", model->target, true},      {"service", model->service, true},
        {"ingress", model->ingress, true},    {"route", model->route, false},
        {"interval", model->interval, false},
    };

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, what) != 0)
            continue;
        const char *value = functions[i].value ? functions[i].value : "";
        return model->plain_words && functions[i].word ? plain_word(arena, value) : value;
    }
    return strcmp(what, "pods") == 0 ? model->pods : NULL;
}

static enum err render_action(struct arena *arena, const struct render_model *model,
                              const char *what, struct buf *out, struct errinfo *ei)
{
    static const char prefix[] = "variables.";
    const char *value = function_value(arena, model, what);

    if (!value && strncmp(what, prefix, strlen(prefix)) == 0) {
        value = json_str_at(model->variables, what + strlen(prefix), NULL);
        if (!value)
            return err_set(ei, ERR_INVALID,
                           "template: no entry for key \"%s\" in templateVariables",
                           what + strlen(prefix));
    }
    if (!value)
        return err_set(ei, ERR_INVALID,
                       "template: \"{{ %s }}\" is not known; expected name, namespace, target, "
                       "service, ingress, route, interval or variables.KEY",
                       what);
    buf_puts(out, value);
    return ERR_OK;
}

/* Renders the action at *at, which stands behind "{{", and moves *at behind it. */
static enum err render_one(struct arena *arena, const struct render_model *model, const char **at,
                           struct buf *out, struct errinfo *ei)
{
    const char *end = strstr(*at, "}}");
    const char *start = *at;

    if (!end)
        return err_set(ei, ERR_INVALID, "template: \"{{\" without \"}}\"");
    *at = end + 2;
    if (start[0] == '-' && start < end && strchr(spaces, start[1])) {
        while (out->len > 0 && strchr(spaces, out->data[out->len - 1]))
            out->data[--out->len] = '\0';
        start++;
    }
    if (end > start + 1 && end[-1] == '-' && strchr(spaces, end[-2])) {
        *at += strspn(*at, spaces);
        end--;
    }
    start += strspn(start, spaces);
    while (end > start && strchr(spaces, end[-1]))
        end--;
    size_t len = end > start ? (size_t)(end - start) : 0;
    return render_action(arena, model, arena_strndup(arena, start, len), out, ei);
}

enum err render_query(struct arena *arena, const char *query, const struct render_model *model,
                      const char **out, struct errinfo *ei)
{
    struct buf buf;
    enum err err = ERR_OK;

    buf_init(&buf, QUERY_MAX);
    while (err == ERR_OK && *query) {
        const char *open = strstr(query, "{{");
        if (!open) {
            buf_puts(&buf, query);
            break;
        }
        buf_add(&buf, query, (size_t)(open - query));
        query = open + 2;
        err = render_one(arena, model, &query, &buf, ei);
    }
    if (err == ERR_OK && buf.truncated)
        err = err_set(ei, ERR_INVALID, "template: the query is longer than %d bytes", QUERY_MAX);
    if (err == ERR_OK)
        *out = arena_strndup(arena, buf.data, buf.len);
    buf_fini(&buf);
    return err;
}
