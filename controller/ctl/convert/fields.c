/* The fields of Argo Rollouts, their counterparts, and those that have none. */
#include <string.h>

#include "ctl/convert/parts.h"

enum fate { SAME, OTHER, LOST };

struct field {
    enum field_kind kind;
    const char *path;
    enum fate fate;
    const char *becomes, *differs;
};

static const struct field fields[] = {
#define FIELD(...) {__VA_ARGS__},
#include "ctl/convert/fields.def"
#undef FIELD
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const struct field *field_find(enum field_kind kind, const char *path)
{
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].kind == kind && strcmp(fields[i].path, path) == 0)
            return &fields[i];
    return NULL;
}

/* True if a row is of a field below this one. */
static bool has_rows_below(enum field_kind kind, const char *path)
{
    size_t len = strlen(path);

    for (int i = 0; i < FIELDS; i++) {
        const char *rest = fields[i].path + len;
        if (fields[i].kind == kind && strncmp(fields[i].path, path, len) == 0 &&
            (*rest == '.' || strncmp(rest, "[].", 3) == 0))
            return true;
    }
    return false;
}

/* A value that is walked: its path as rows have it, and with its indices. */
struct walk {
    struct conversion *conversion;
    enum field_kind kind;
    const char *label;
};

static void look_below(const struct walk *walk, struct json_object *value, const char *pattern,
                       const char *path, bool known);

/* A member of the value with this pattern and path. known: a row above names its counterpart. The
 * depth is bound by that of what is read. */
static void look_at(const struct walk *walk, struct json_object *value, const char *above,
                    const char *key, const char *path, bool known)
{
    struct arena *arena = walk->conversion->arena;
    const char *pattern = arena_printf(arena, "%s%s%s", above, *above ? "." : "", key);
    const struct field *field = field_find(walk->kind, pattern);

    path = arena_printf(arena, "%s.%s", path, key);
    if (!field)
        field = field_find(walk->kind, arena_printf(arena, "%s.*", above));
    if (!value)
        return;
    if (field && field->fate == LOST) {
        /* false is as if it were not there. */
        if (!json_object_is_type(value, json_type_boolean) || json_object_get_boolean(value))
            conversion_lose(walk->conversion, walk->label, path, "%s", field->differs);
    } else if (has_rows_below(walk->kind, pattern)) {
        look_below(walk, value, pattern, path, known || field);
    } else if (!field && !known) {
        conversion_lose(walk->conversion, walk->label, path,
                        "no field of Argo Rollouts that this program knows: it is left out");
    }
}

static void look_below(const struct walk *walk, struct json_object *value, const char *pattern,
                       const char *path, bool known)
{
    struct arena *arena = walk->conversion->arena;

    for (size_t i = 0; i < json_len(value); i++)
        look_below(walk, json_elem(value, i), arena_printf(arena, "%s[]", pattern),
                   arena_printf(arena, "%s[%zu]", path, i), known);
    if (!json_object_is_type(value, json_type_object))
        return;
    json_object_object_foreach(value, key, member) look_at(walk, member, pattern, key, path, known);
}

void fields_lose(struct conversion *conversion, enum field_kind kind, const char *label,
                 struct json_object *spec)
{
    const struct walk walk = {.conversion = conversion, .kind = kind, .label = label};

    look_below(&walk, spec, "", "spec", false);
}

const char *convert_fields(struct arena *arena)
{
    static const char *const heads[] = {[FIELD_ROLLOUT] = "### Rollout",
                                        [FIELD_TEMPLATE] =
                                            "### AnalysisTemplate and ClusterAnalysisTemplate"};
    struct buf out;

    buf_init(&out, CONVERT_MAX_BYTES);
    for (int i = 0; i < FIELDS; i++) {
        const struct field *field = &fields[i];
        if (i == 0 || field->kind != fields[i - 1].kind)
            buf_printf(
                &out,
                "%s%s\n\n| field of `spec` | becomes | differs, or what to do |\n|---|---|---|\n",
                i == 0 ? "" : "\n", heads[field->kind]);
        buf_printf(&out, "| `%s` | %s%s | %s |\n", field->path,
                   field->fate == LOST ? "**no counterpart**" : field->becomes,
                   field->fate == LOST && *field->becomes
                       ? arena_printf(arena, "; %s", field->becomes)
                       : "",
                   field->differs);
    }
    const char *text = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return text;
}
