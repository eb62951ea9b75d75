#include "lint/document.h"

#include <string.h>

#include "base/base64.h"
#include "kube/resource.h"

static bool is_of_group(const struct document *document, const char *group)
{
    size_t len = strlen(group);

    if (len == 0)
        return !strchr(document->api_version, '/');
    return strncmp(document->api_version, group, len) == 0 && document->api_version[len] == '/';
}

const struct document *document_find(const struct lint *lint, const char *api_group,
                                     const char *kind, const char *namespace_, const char *name)
{
    for (const struct document *d = lint->first; d; d = d->next)
        if (strcmp(d->kind, kind) == 0 && strcmp(d->name, name) == 0 && is_of_group(d, api_group) &&
            (!*d->namespace_ || !*namespace_ || strcmp(d->namespace_, namespace_) == 0))
            return d;
    return NULL;
}

struct json_object *document_object(const struct lint *lint, const struct document *document)
{
    struct json_object *object = json_copy(lint->arena, document->json);
    struct json_object *texts = json_at(object, "stringData", NULL);

    if (strcmp(document->kind, "Secret") != 0 || !json_object_is_type(texts, json_type_object))
        return object;
    struct json_object *data = json_sub(object, "data");
    json_object_object_foreach(texts, key, value)
    {
        if (json_object_is_type(value, json_type_string))
            json_set_str(data, key,
                         base64_encode(lint->arena, json_object_get_string(value),
                                       (size_t)json_object_get_string_len(value)));
    }
    return object;
}

/* Where the place is, or as much of it as there is. */
static struct yaml_place where(const struct document *document, const struct place *place)
{
    struct yaml_place found = {.line = 1, .column = 1};
    struct json_object *at = document->json;

    (void)yaml_mark(document->marks, document->parent, NULL, document->index, &found);
    for (int i = 0; at && i < place->depth; i++) {
        const struct place_step *step = &place->steps[i];
        if (!yaml_mark(document->marks, at, step->key, step->index, &found))
            break;
        at = step->key ? json_at(at, step->key, NULL) : json_elem(at, step->index);
    }
    return found;
}

static void add(struct document *document, enum lint_level level, const struct place *place,
                const char *text)
{
    struct lint *lint = document->lint;
    struct yaml_place at = where(document, place);
    bool last = lint->count == LINT_MAX_MISTAKES;

    if (document->count > LINT_MAX_PER_OBJECT || lint->count > LINT_MAX_MISTAKES)
        return;
    if (last || document->count == LINT_MAX_PER_OBJECT)
        text = "there is more that is wrong, which is not told";
    document->count++;
    lint->count++;
    struct lint_mistake *mistake = ARENA_NEW(lint->arena, struct lint_mistake);
    *mistake = (struct lint_mistake){.next = lint->mistakes,
                                     .level = last ? LINT_ERROR : level,
                                     .file = document->file,
                                     .line = at.line,
                                     .column = at.column,
                                     .object = document->label,
                                     .path = place_text(lint->arena, place),
                                     .text = text};
    lint->mistakes = mistake;
}

static void add_error(struct document *document, const struct place *place, const char *text)
{
    if (places_have(&document->reported, place))
        return;
    places_add(document->lint->arena, &document->reported, place);
    add(document, LINT_ERROR, place, text);
}

void document_error(struct document *document, const struct place *place, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(document->lint->arena, fmt, args);
    va_end(args);
    add_error(document, place, text);
}

void document_warn(struct document *document, const char *field, const char *fmt, ...)
{
    struct place place = {0};
    const char *rest;
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(document->lint->arena, fmt, args);
    va_end(args);
    struct arena *arena = document->lint->arena;
    (void)place_parse(arena, arena_printf(arena, "%s: ", field), &place, &rest);
    if (!places_have_near(&document->changed, &place))
        add(document, LINT_WARNING, &place, text);
}

void document_sentence(struct document *document, const char *sentence)
{
    struct place place;
    const char *rest;

    if (!place_parse(document->lint->arena, sentence, &place, &rest)) {
        place = (struct place){0};
        rest = sentence;
    }
    if (!places_have_above(&document->changed, &place))
        add_error(document, &place, rest);
}
