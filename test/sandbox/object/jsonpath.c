#include "object/jsonpath.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum step_kind { STEP_FIELD, STEP_ALL, STEP_INDEX, STEP_SLICE, STEP_FILTER };
enum compare {
    COMPARE_EXISTS,
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_LE,
    COMPARE_GE,
    COMPARE_LT,
    COMPARE_GT
};

struct step {
    enum step_kind kind;
    const char *name;
    long start, end;
    bool has_start, has_end;
    /* a filter */
    struct jsonpath *left;
    enum compare compare;
    struct json_object *right;
};

struct jsonpath {
    struct arena *arena; /* of the outermost path; NULL in a filter's */
    struct step steps[JSONPATH_MAX_STEPS];
    size_t count;
};

struct parser {
    struct arena *arena;
    const char *text, *p, *end;
    struct errinfo *ei;
};

static enum err fail(struct parser *s, const char *why)
{
    return err_set(s->ei, ERR_INVALID, "JSONPath \"%s\", character %zu: %s", s->text,
                   (size_t)(s->p - s->text) + 1, why);
}

static bool at(const struct parser *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static void skip_space(struct parser *s)
{
    while (s->p < s->end && isspace((unsigned char)*s->p))
        s->p++;
}

static enum err add_step(struct parser *s, struct jsonpath *path, struct step step)
{
    if (path->count == JSONPATH_MAX_STEPS)
        return fail(s, "too many steps");
    path->steps[path->count++] = step;
    return ERR_OK;
}

/* A field after a dot: up to the next special character; a backslash takes one literally. */
static enum err read_field(struct parser *s, struct jsonpath *path)
{
    char *name = arena_alloc(s->arena, (size_t)(s->end - s->p) + 1);
    size_t len = 0;
    if (at(s, '*')) {
        s->p++;
        return add_step(s, path, (struct step){.kind = STEP_ALL});
    }
    if (at(s, '.'))
        return fail(s, "\"..\" is not supported");
    while (s->p < s->end && !strchr(".[]{}()=!<> ", *s->p)) {
        if (*s->p == '\\' && s->p + 1 < s->end)
            s->p++;
        name[len++] = *s->p++;
    }
    if (len == 0)
        return fail(s, "expected a field name after \".\"");
    return add_step(s, path, (struct step){.kind = STEP_FIELD, .name = name});
}

static enum err read_quoted(struct parser *s, const char **out)
{
    char quote = *s->p++;
    char *text = arena_alloc(s->arena, (size_t)(s->end - s->p) + 1);
    size_t len = 0;
    while (s->p < s->end && *s->p != quote) {
        if (*s->p == '\\' && s->p + 1 < s->end)
            s->p++;
        text[len++] = *s->p++;
    }
    if (!at(s, quote))
        return fail(s, "the string does not end");
    s->p++;
    *out = text;
    return ERR_OK;
}

static bool read_number(struct parser *s, long *out)
{
    char digits[12] = {0};
    size_t len = 0;
    while (s->p + len < s->end && len < sizeof(digits) - 1 &&
           (isdigit((unsigned char)s->p[len]) || (len == 0 && s->p[0] == '-'))) {
        digits[len] = s->p[len];
        len++;
    }
    if (len == 0 || (len == 1 && digits[0] == '-'))
        return false;
    *out = strtol(digits, NULL, 10);
    s->p += len;
    return true;
}

/* "", "2", "-1", "1:", ":3", "1:3" */
static enum err read_slice(struct parser *s, struct jsonpath *path)
{
    struct step step = {.kind = STEP_SLICE};
    step.has_start = read_number(s, &step.start);
    if (at(s, ':')) {
        s->p++;
        step.has_end = read_number(s, &step.end);
    } else if (step.has_start) {
        step.kind = STEP_INDEX;
    }
    return add_step(s, path, step);
}

/* ---- filters ---- */

static enum err read_steps(struct parser *s, struct jsonpath *path, bool inside);

static enum err read_literal(struct parser *s, struct json_object **out)
{
    if (at(s, '\'') || at(s, '"')) {
        const char *text;
        enum err err = read_quoted(s, &text);
        if (!err)
            *out = json_own(s->arena, json_object_new_string(text));
        return err;
    }
    const char *start = s->p;
    while (s->p < s->end && (isalnum((unsigned char)*s->p) || strchr("+-.", *s->p)))
        s->p++;
    if (json_parse(s->arena, start, (size_t)(s->p - start), JSONPATH_MAX_BYTES, out, NULL))
        return (s->p = start, fail(s, "expected a string, a number, true or false"));
    return ERR_OK;
}

static void read_compare(struct parser *s, struct step *step)
{
    static const struct {
        const char *text;
        enum compare compare;
    } rows[] = {{"==", COMPARE_EQ}, {"!=", COMPARE_NE}, {"<=", COMPARE_LE},
                {">=", COMPARE_GE}, {"<", COMPARE_LT},  {">", COMPARE_GT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len = strlen(rows[i].text);
        if ((size_t)(s->end - s->p) >= len && strncmp(s->p, rows[i].text, len) == 0) {
            step->compare = rows[i].compare;
            s->p += len;
            return;
        }
    }
}

/* After "[": ?(@.type=="Ready"). No filter inside of a filter, so this does not recurse. */
static enum err read_filter(struct parser *s, struct jsonpath *path)
{
    struct step step = {.kind = STEP_FILTER, .left = ARENA_NEW(s->arena, struct jsonpath)};
    s->p++;
    bool open = at(s, '(');
    s->p += open;
    skip_space(s);
    if (!open || !at(s, '@'))
        return fail(s, "expected a filter like ?(@.type==\"Ready\")");
    s->p++;
    enum err err = read_steps(s, step.left, true);
    if (err)
        return err;
    skip_space(s);
    read_compare(s, &step);
    skip_space(s);
    if (step.compare != COMPARE_EXISTS)
        err = read_literal(s, &step.right);
    if (err)
        return err;
    skip_space(s);
    if (!at(s, ')'))
        return fail(s, "expected \")\" after the filter");
    s->p++;
    return add_step(s, path, step);
}

static enum err read_subscript(struct parser *s, struct jsonpath *path, bool inside)
{
    enum err err;
    s->p++;
    if (at(s, '\'') || at(s, '"')) {
        struct step step = {.kind = STEP_FIELD};
        err = read_quoted(s, &step.name);
        if (!err)
            err = add_step(s, path, step);
    } else if (at(s, '*')) {
        s->p++;
        err = add_step(s, path, (struct step){.kind = STEP_ALL});
    } else if (at(s, '?')) {
        err =
            inside ? fail(s, "a filter inside of a filter is not supported") : read_filter(s, path);
    } else {
        err = read_slice(s, path);
    }
    if (err)
        return err;
    if (!at(s, ']'))
        return fail(s, "expected \"]\"");
    s->p++;
    return ERR_OK;
}

static enum err read_steps(struct parser *s, struct jsonpath *path, bool inside)
{
    while (s->p < s->end) {
        enum err err;
        if (at(s, '.')) {
            s->p++;
            err = read_field(s, path);
        } else if (at(s, '[')) {
            err = read_subscript(s, path, inside);
        } else if (inside) {
            return ERR_OK;
        } else {
            return fail(s, "expected \".\" or \"[\"");
        }
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err jsonpath_compile(const char *text, struct jsonpath **out, struct errinfo *ei)
{
    size_t len = strlen(text);
    if (len > JSONPATH_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "the JSONPath is longer than %d bytes", JSONPATH_MAX_BYTES);
    struct parser s = {.arena = arena_new(), .text = text, .p = text, .end = text + len, .ei = ei};
    struct jsonpath *path = ARENA_NEW(s.arena, struct jsonpath);
    path->arena = s.arena;
    if (len >= 2 && text[0] == '{' && text[len - 1] == '}') {
        s.p++;
        s.end--;
    }
    if (at(&s, '$'))
        s.p++;
    bool bare = s.p + 1 == s.end && *s.p == '.'; /* "." is the whole object */
    enum err err = s.p == text + len ? fail(&s, "it is empty") : ERR_OK;
    if (!err && !bare)
        err = read_steps(&s, path, false);
    if (err) {
        arena_free(s.arena);
        return err;
    }
    *out = path;
    return ERR_OK;
}

void jsonpath_free(struct jsonpath *path)
{
    if (path)
        arena_free(path->arena);
}

/* ---- evaluation ---- */

static void emit(struct jsonpath_result *out, struct json_object *value)
{
    if (out->count < JSONPATH_MAX_RESULTS)
        out->values[out->count++] = value;
}

static int order(struct json_object *left, struct json_object *right, bool *comparable)
{
    bool numbers =
        (json_object_is_type(left, json_type_int) || json_object_is_type(left, json_type_double)) &&
        (json_object_is_type(right, json_type_int) || json_object_is_type(right, json_type_double));
    *comparable = true;
    if (numbers) {
        double a = json_object_get_double(left), b = json_object_get_double(right);
        return (a > b) - (a < b);
    }
    *comparable = json_object_get_type(left) == json_object_get_type(right);
    if (*comparable && json_object_is_type(left, json_type_boolean))
        return json_object_get_boolean(left) - json_object_get_boolean(right);
    if (*comparable && left)
        return strcmp(json_object_get_string(left), json_object_get_string(right));
    return 0;
}

static bool passes(const struct step *step, struct arena *arena, struct json_object *item)
{
    struct jsonpath_result found = jsonpath_find(step->left, arena, item);
    if (found.count == 0 || step->compare == COMPARE_EXISTS)
        return found.count > 0;
    bool comparable;
    int by = order(found.values[0], step->right, &comparable);
    if (!comparable)
        return step->compare == COMPARE_NE;
    switch (step->compare) {
    case COMPARE_EQ:
        return by == 0;
    case COMPARE_NE:
        return by != 0;
    case COMPARE_LE:
        return by <= 0;
    case COMPARE_GE:
        return by >= 0;
    case COMPARE_LT:
        return by < 0;
    case COMPARE_GT:
        return by > 0;
    case COMPARE_EXISTS:
        break;
    }
    return false;
}

static void take_elements(const struct step *step, struct arena *arena, struct json_object *value,
                          struct jsonpath_result *out)
{
    long len = (long)json_len(value);
    long start = step->has_start ? step->start : 0, end = step->has_end ? step->end : len;
    start += start < 0 ? len : 0;
    end += end < 0 ? len : 0;
    if (step->kind == STEP_INDEX)
        end = start + 1;
    for (long i = start < 0 ? 0 : start; i < end && i < len && start >= 0; i++) {
        struct json_object *item = json_elem(value, (size_t)i);
        if (step->kind != STEP_FILTER || passes(step, arena, item))
            emit(out, item);
    }
}

static void take_step(const struct step *step, struct arena *arena, struct json_object *value,
                      struct jsonpath_result *out)
{
    struct json_object *found;
    if (json_object_is_type(value, json_type_array) && step->kind != STEP_FIELD) {
        take_elements(step, arena, value, out);
    } else if (json_object_is_type(value, json_type_object) && step->kind == STEP_FIELD) {
        if (json_object_object_get_ex(value, step->name, &found))
            emit(out, found);
    } else if (json_object_is_type(value, json_type_object) && step->kind == STEP_ALL) {
        json_object_object_foreach(value, key, child)
        {
            (void)key;
            emit(out, child);
        }
    }
}

/* Recursion: a filter evaluates its own path, which holds no filter. */
struct jsonpath_result jsonpath_find(const struct jsonpath *path, struct arena *arena,
                                     struct json_object *obj)
{
    /* A step that picks one value makes no more values than there were. */
    struct jsonpath_result now = {.values = arena_array(arena, 1, sizeof(struct json_object *)),
                                  .count = 1};
    now.values[0] = obj;
    for (size_t i = 0; i < path->count && now.count > 0; i++) {
        const struct step *step = &path->steps[i];
        size_t room =
            step->kind == STEP_FIELD || step->kind == STEP_INDEX ? now.count : JSONPATH_MAX_RESULTS;
        struct jsonpath_result next = {.values =
                                           arena_array(arena, room, sizeof(struct json_object *))};
        for (size_t k = 0; k < now.count; k++)
            take_step(step, arena, now.values[k], &next);
        now = next;
    }
    return now;
}
