#include "ctl/lint/document.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "kube/resource.h"

enum { TEXT_MAX = 4096 };

static const char special[] = ".[]\" \t\r\n";

const char *json_path_text(struct arena *arena, const struct json_path *place)
{
    struct buf out;

    buf_init(&out, TEXT_MAX);
    for (int i = 0; i < place->depth; i++) {
        const char *key = place->steps[i].key;
        if (!key) {
            buf_printf(&out, "[%zu]", place->steps[i].index);
        } else if (*key && !key[strcspn(key, special)]) {
            buf_printf(&out, "%s%s", out.len > 0 ? "." : "", key);
        } else {
            buf_puts(&out, "[");
            json_quote(&out, key, strlen(key));
            buf_puts(&out, "]");
        }
    }
    const char *text = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

/* The position after the closing quote of the string that begins here; NULL if it is not closed. */
static const char *end_of_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at == '"' ? at + 1 : NULL;
}

/* "[3]" or "["a.b"]" */
static const char *parse_bracket(struct arena *arena, const char *at, struct json_path *out)
{
    struct json_object *key;
    struct errinfo ignored;

    if (isdigit((unsigned char)at[1])) {
        char *end;
        unsigned long index = strtoul(at + 1, &end, 10);
        *out = json_path_in(out, NULL, index);
        return *end == ']' ? end + 1 : NULL;
    }
    const char *end = at[1] == '"' ? end_of_string(at + 1) : NULL;
    if (!end || *end != ']' ||
        json_parse(arena, at + 1, (size_t)(end - at - 1), JSON_MAX_BYTES, &key, &ignored) != ERR_OK)
        return NULL;
    *out = json_path_in(out, json_object_get_string(key), 0);
    return end + 1;
}

bool json_path_parse(struct arena *arena, const char *sentence, struct json_path *out,
                     const char **rest)
{
    const char *at = sentence;

    *out = (struct json_path){0};
    if (*at == '-')
        return false; /* the name of an option of the controller */
    while (at && *at && *at != ':' && out->depth < JSON_PATH_DEPTH) {
        if (*at == '[') {
            at = parse_bracket(arena, at, out);
            continue;
        }
        at += *at == '.' && out->depth > 0;
        size_t len = strcspn(at, ".[]\" \t\r\n:,");
        if (len == 0)
            return false;
        *out = json_path_in(out, arena_strndup(arena, at, len), 0);
        at += len;
    }
    if (!at || at[0] != ':' || at[1] != ' ' || out->depth == 0 || !out->steps[0].key)
        return false;
    *rest = at + 2;
    return true;
}

struct json_path json_path_in(const struct json_path *place, const char *key, size_t index)
{
    struct json_path in = *place;

    if (in.depth < JSON_PATH_DEPTH)
        in.steps[in.depth++] = (struct json_path_step){.key = key, .index = index};
    return in;
}

struct json_path json_path_above(const struct json_path *place)
{
    struct json_path above = *place;

    if (above.depth > 0)
        above.depth--;
    return above;
}

struct json_object *json_path_get(const struct json_path *place, struct json_object *root)
{
    for (int i = 0; root && i < place->depth; i++) {
        const struct json_path_step *step = &place->steps[i];
        root = step->key ? json_at(root, step->key, NULL) : json_elem(root, step->index);
    }
    return root;
}

static bool is_same_step(const struct json_path_step *a, const struct json_path_step *b)
{
    if (!a->key || !b->key)
        return !a->key && !b->key && a->index == b->index;
    return strcmp(a->key, b->key) == 0;
}

bool json_path_is_near(const struct json_path *a, const struct json_path *b)
{
    for (int i = 0; i < a->depth && i < b->depth; i++)
        if (!is_same_step(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

void json_paths_add(struct arena *arena, struct json_paths *places, const struct json_path *place)
{
    struct json_paths_item *item = ARENA_NEW(arena, struct json_paths_item);

    *item = (struct json_paths_item){.next = places->first, .place = *place};
    for (int i = 0; i < place->depth; i++)
        item->place.steps[i].key = arena_strdup(arena, place->steps[i].key);
    places->first = item;
}

bool json_paths_have(const struct json_paths *places, const struct json_path *place)
{
    for (const struct json_paths_item *item = places->first; item; item = item->next)
        if (item->place.depth == place->depth && json_path_is_near(&item->place, place))
            return true;
    return false;
}

bool json_paths_have_near(const struct json_paths *places, const struct json_path *place)
{
    for (const struct json_paths_item *item = places->first; item; item = item->next)
        if (json_path_is_near(&item->place, place))
            return true;
    return false;
}

bool json_paths_have_above(const struct json_paths *places, const struct json_path *place)
{
    for (const struct json_paths_item *item = places->first; item; item = item->next)
        if (item->place.depth <= place->depth && json_path_is_near(&item->place, place))
            return true;
    return false;
}

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

/* The position of the path, or of as much of it as exists. */
static struct yaml_place where(const struct document *document, const struct json_path *place)
{
    struct yaml_place found = {.line = 1, .column = 1};
    struct json_object *at = document->json;

    (void)yaml_mark(document->marks, document->parent, NULL, document->index, &found);
    for (int i = 0; at && i < place->depth; i++) {
        const struct json_path_step *step = &place->steps[i];
        if (!yaml_mark(document->marks, at, step->key, step->index, &found))
            break;
        at = step->key ? json_at(at, step->key, NULL) : json_elem(at, step->index);
    }
    return found;
}

static void add(struct document *document, enum lint_level level, const struct json_path *place,
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
                                     .path = json_path_text(lint->arena, place),
                                     .text = text};
    lint->mistakes = mistake;
}

static void add_error(struct document *document, const struct json_path *place, const char *text)
{
    if (json_paths_have(&document->reported, place))
        return;
    json_paths_add(document->lint->arena, &document->reported, place);
    add(document, LINT_ERROR, place, text);
}

void document_error(struct document *document, const struct json_path *place, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(document->lint->arena, fmt, args);
    va_end(args);
    add_error(document, place, text);
}

void document_warn(struct document *document, const char *field, const char *fmt, ...)
{
    struct json_path place = {0};
    const char *rest;
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(document->lint->arena, fmt, args);
    va_end(args);
    struct arena *arena = document->lint->arena;
    (void)json_path_parse(arena, arena_printf(arena, "%s: ", field), &place, &rest);
    if (!json_paths_have_near(&document->changed, &place))
        add(document, LINT_WARNING, &place, text);
}

void document_sentence(struct document *document, const char *sentence)
{
    struct json_path place;
    const char *rest;

    if (!json_path_parse(document->lint->arena, sentence, &place, &rest)) {
        place = (struct json_path){0};
        rest = sentence;
    }
    if (!json_paths_have_above(&document->changed, &place))
        add_error(document, &place, rest);
}

static bool is_before(const struct lint_mistake *one, const struct lint_mistake *other)
{
    return one->line < other->line || (one->line == other->line && one->column < other->column);
}

const struct lint_mistake *lint_part_first(struct arena *arena, const struct lint_part *part)
{
    static const struct settings settings = {0};
    struct lint *lint = lint_new(arena, &settings);
    struct document document = {.lint = lint,
                                .file = part->file,
                                .marks = part->marks,
                                .parent = part->docs,
                                .index = part->index,
                                .json = part->json,
                                .api_version = "",
                                .kind = "",
                                .name = "",
                                .namespace_ = "",
                                .label = ""};
    const struct lint_mistake *first = NULL;

    if (part->schema)
        schema_check_part(&document, part->schema, json_copy(arena, part->json));
    if (part->sentence)
        document_sentence(&document, part->sentence);
    for (const struct lint_mistake *mistake = lint->mistakes; mistake; mistake = mistake->next)
        first = !first || is_before(mistake, first) ? mistake : first;
    return first;
}

/* --- repair */

enum { MAX_ROUNDS = LINT_MAX_PER_OBJECT, MAX_TRIALS = 4000, MAX_VARIANTS = 6, MAX_CHOICES = 40 };

struct repair {
    struct document *document;
    struct arena *arena;
    struct json_object *schema;
    struct json_object *object; /* the object as repaired so far */
    struct json_paths given_up;
    repair_ask *ask;
    void *arg;
    int trials;
    const struct verdicts *last;     /* the mistakes of `object` */
    const struct json_path *mistake; /* the mistake that is being repaired */
};

void verdicts_add(struct verdicts *verdicts, const char *sentence)
{
    if (verdicts->count == verdicts->room) {
        size_t room = verdicts->room ? 2 * verdicts->room : 8;
        const char **more = arena_array(verdicts->arena, room, sizeof(*more));
        for (size_t i = 0; i < verdicts->count; i++)
            more[i] = verdicts->sentences[i];
        verdicts->sentences = more;
        verdicts->room = room;
    }
    verdicts->sentences[verdicts->count++] = arena_strdup(verdicts->arena, sentence);
}

static bool place_of(struct arena *arena, const char *sentence, struct json_path *out)
{
    const char *rest;

    return json_path_parse(arena, sentence, out, &rest);
}

/* True if a is b, or below it. */
static bool is_within(const struct json_path *a, const struct json_path *b)
{
    return a->depth >= b->depth && json_path_is_near(a, b);
}

static bool is_among(const struct verdicts *verdicts, const char *sentence)
{
    for (size_t i = 0; i < verdicts->count; i++)
        if (strcmp(verdicts->sentences[i], sentence) == 0)
            return true;
    return false;
}

/* True if the mistake is gone, and the edit has not caused another one. */
static bool is_better(struct repair *repair, const struct verdicts *verdicts,
                      const struct json_path *edited)
{
    if (verdicts->unread && !repair->last->unread)
        return false;
    for (size_t i = 0; i < verdicts->count; i++) {
        struct json_path place;
        if (!place_of(verdicts->arena, verdicts->sentences[i], &place))
            return false;
        bool same =
            place.depth == repair->mistake->depth && json_path_is_near(&place, repair->mistake);
        bool lacks = place.depth + 1 == edited->depth && is_within(edited, &place) &&
                     !is_among(repair->last, verdicts->sentences[i]);
        if (same || lacks || is_within(&place, edited))
            return false;
        if (!repair->last->unread && !is_among(repair->last, verdicts->sentences[i]))
            return false;
    }
    return true;
}

/* --- edits; a NULL value removes the field */

static void put(struct json_object *root, const struct json_path *at, struct json_object *value)
{
    const struct json_path above = json_path_above(at);
    const struct json_path_step *step = &at->steps[at->depth - 1];
    struct json_object *parent = json_path_get(&above, root);

    if (!parent)
        return;
    if (!step->key)
        json_object_array_put_idx(parent, step->index, json_dup(value));
    else if (value)
        json_object_object_add(parent, step->key, json_dup(value));
    else
        json_object_object_del(parent, step->key);
}

static bool try_edit(struct repair *repair, const struct json_path *at, struct json_object *value)
{
    struct arena *arena = arena_new();
    struct json_object *copy = json_copy(arena, repair->object);
    struct verdicts verdicts = {.arena = arena};

    if (repair->trials++ >= MAX_TRIALS) {
        arena_free(arena);
        return false;
    }
    put(copy, at, value);
    repair->ask(repair->arg, copy, &verdicts);
    bool better = is_better(repair, &verdicts, at);
    if (better) {
        put(repair->object, at, value);
        json_paths_add(repair->arena, &repair->document->changed, at);
    }
    arena_free(arena);
    return better;
}

static struct json_object *schema_at(const struct repair *repair, const struct json_path *place)
{
    struct json_object *node = repair->schema;

    for (int i = 0; node && i < place->depth; i++)
        node = place->steps[i].key ? crd_member(node, place->steps[i].key)
                                   : json_at(node, "items", NULL);
    return node;
}

static bool try_samples(struct repair *repair, const struct json_path *at)
{
    struct json_object *node = schema_at(repair, at), *sample;

    for (int variant = 0; node && variant < MAX_VARIANTS; variant++) {
        sample = crd_sample(repair->arena, node, variant);
        if (sample && try_edit(repair, at, sample))
            return true;
    }
    return false;
}

/* Removes a member that is one too many, or adds one that is missing. */
static bool try_members(struct repair *repair, const struct json_path *at,
                        struct json_object *value)
{
    struct json_object *known = json_at(schema_at(repair, at), "properties", NULL);
    struct json_object *members = json_copy(repair->arena, value);

    json_object_object_foreach(members, key, child)
    {
        const struct json_path in = json_path_in(at, key, 0);
        (void)child;
        if (try_edit(repair, &in, NULL))
            return true;
    }
    if (!known)
        return false;
    json_object_object_foreach(known, name, node)
    {
        const struct json_path in = json_path_in(at, name, 0);
        struct json_object *sample = crd_sample(repair->arena, node, 0);
        if (!json_at(members, name, NULL) && sample && try_edit(repair, &in, sample))
            return true;
    }
    return false;
}

/* For an element of a list of plain values, the whole list, since the other elements may depend on
 * it. */
static struct json_path whole_of(const struct repair *repair, const struct json_path *place)
{
    bool element = place->depth > 0 && !place->steps[place->depth - 1].key;

    if (element && !json_object_is_type(json_path_get(place, repair->object), json_type_object))
        return json_path_above(place);
    return *place;
}

/* The smallest edit that removes the mistake, at its place or above it, but below the spec. */
static bool repair_one(struct repair *repair, const struct json_path *mistake)
{
    struct json_path at = whole_of(repair, mistake);

    repair->mistake = mistake;
    for (; at.depth > 1; at = json_path_above(&at)) {
        struct json_object *value = json_path_get(&at, repair->object);
        if (json_object_is_type(value, json_type_object) && try_members(repair, &at, value))
            return true;
        if (try_samples(repair, &at))
            return true;
        if (value && at.steps[at.depth - 1].key && try_edit(repair, &at, NULL))
            return true;
    }
    return false;
}

/* --- repairing everything */

/* Replaces a value that the schema rejects with the sample that has the fewest other mistakes. */
static void choose(struct repair *repair, const struct json_path *at)
{
    struct json_object *node = schema_at(repair, at), *sample, *best = NULL;
    size_t least = SIZE_MAX;

    for (int variant = 0; node && variant < MAX_CHOICES; variant++) {
        struct arena *arena = arena_new();
        struct verdicts verdicts = {.arena = arena};
        sample = variant == 0 ? json_path_get(at, repair->object)
                              : crd_sample(repair->arena, node, variant - 1);
        if (sample) {
            struct json_object *copy = json_copy(arena, repair->object);
            put(copy, at, sample);
            repair->ask(repair->arg, copy, &verdicts);
            size_t count = verdicts.unread ? SIZE_MAX - 1 : verdicts.count;
            best = count < least ? json_copy(repair->arena, sample) : best;
            least = count < least ? count : least;
        }
        arena_free(arena);
    }
    if (best)
        put(repair->object, at, best);
}

/* Reports the new mistakes; the first that can still be repaired is *next. */
static bool tell(struct repair *repair, const struct verdicts *verdicts, struct json_path *next)
{
    bool more = false;

    for (size_t i = 0; i < verdicts->count; i++) {
        struct json_path place;
        const char *sentence = arena_strdup(repair->arena, verdicts->sentences[i]);
        if (!place_of(repair->arena, sentence, &place)) {
            document_sentence(repair->document, sentence);
            continue;
        }
        document_sentence(repair->document, sentence);
        if (!more && !json_paths_have(&repair->given_up, &place)) {
            *next = place;
            more = true;
        }
    }
    return more;
}

void repair_tell_all(struct document *document, struct json_object *schema,
                     struct json_object *object, repair_ask *ask, void *arg)
{
    struct repair repair = {.document = document,
                            .arena = document->lint->arena,
                            .schema = schema,
                            .object = object,
                            .ask = ask,
                            .arg = arg};

    for (const struct json_paths_item *item = document->changed.first; item; item = item->next)
        choose(&repair, &item->place);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        struct arena *arena = arena_new();
        struct verdicts verdicts = {.arena = arena};
        struct json_path next;
        ask(arg, object, &verdicts);
        repair.last = &verdicts;
        bool more = tell(&repair, &verdicts, &next);
        if (more && !repair_one(&repair, &next))
            json_paths_add(repair.arena, &repair.given_up, &next);
        arena_free(arena);
        if (!more)
            return;
    }
}
