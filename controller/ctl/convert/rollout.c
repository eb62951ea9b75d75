#include "ctl/convert/parts.h"

#include <string.h>

#include "base/clock.h"
#include "base/yaml.h"
#include "ctl/convert/rollout.h"
#include "ctl/lint/document.h"
#include "ctl/output.h"

struct loss {
    struct loss *next;
    const char *label, *path, *text;
};

void conversion_lose(struct conversion *conversion, const char *label, const char *path,
                     const char *fmt, ...)
{
    struct loss *loss = ARENA_NEW(conversion->arena, struct loss);
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(conversion->arena, fmt, args);
    va_end(args);
    for (struct loss *old = conversion->losses; old; old = old->next)
        if (strcmp(old->label, label) == 0 && strcmp(old->path, path) == 0 &&
            strcmp(old->text, text) == 0)
            return;
    *loss = (struct loss){.label = label, .path = path, .text = text};
    *conversion->last_loss = loss;
    conversion->last_loss = &loss->next;
    conversion->lost++;
}

/* --- the objects of the files */

static bool is_of(struct json_object *object, const char *group, const char *kind)
{
    const char *own = json_str_at(object, "kind", NULL);
    const char *version = json_str_at(object, "apiVersion", NULL);
    size_t len = strlen(group);

    if (!own || !version || strcmp(own, kind) != 0)
        return false;
    return len == 0 ? !strchr(version, '/')
                    : strncmp(version, group, len) == 0 && version[len] == '/';
}

static bool is_in(struct json_object *object, const char *namespace_)
{
    const char *own = json_str_at(object, "metadata", "namespace", NULL);

    return !own || !*namespace_ || strcmp(own, namespace_) == 0;
}

bool conversion_each(const struct conversion *conversion, const char *group, const char *kind,
                     const char *namespace_, bool (*each)(void *arg, struct json_object *object),
                     void *arg)
{
    for (size_t i = 0; i < json_len(conversion->objects); i++) {
        struct json_object *object = json_elem(conversion->objects, i);
        if (is_of(object, group, kind) && is_in(object, namespace_) && each(arg, object))
            return true;
    }
    return false;
}

struct search {
    const char *name;
    struct json_object *found;
};

static bool has_name(void *arg, struct json_object *object)
{
    struct search *search = arg;
    const char *name = json_str_at(object, "metadata", "name", NULL);

    if (!name || strcmp(name, search->name) != 0)
        return false;
    search->found = object;
    return true;
}

struct json_object *conversion_find(const struct conversion *conversion, const char *group,
                                    const char *kind, const char *namespace_, const char *name)
{
    struct search search = {.name = name};

    (void)conversion_each(conversion, group, kind, namespace_, has_name, &search);
    return search.found;
}

const char *conversion_absent(const struct conversion *conversion, const char *group,
                              const char *kind, const char *namespace_, const char *name)
{
    struct json_object *other = conversion_find(conversion, group, kind, "", name);

    if (!other)
        return "is not in the files";
    return arena_printf(conversion->arena,
                        "is in the files in namespace %s, and not in that of the Rollout, %s",
                        json_str_at(other, "metadata", "namespace", NULL), namespace_);
}

struct commented *conversion_add(struct conversion *conversion, struct json_object *object)
{
    struct commented *commented = commented_new(conversion->arena, object);

    *conversion->last = commented;
    conversion->last = &commented->next;
    return commented;
}

struct json_object *object_new(struct arena *arena, const char *api_version, const char *kind,
                               const char *namespace_, const char *name)
{
    struct json_object *object = json_own(arena, json_object_new_object());
    struct json_object *metadata;

    json_set_str(object, "apiVersion", api_version);
    json_set_str(object, "kind", kind);
    metadata = json_sub(object, "metadata");
    json_set_str(metadata, "name", name);
    if (*namespace_)
        json_set_str(metadata, "namespace", namespace_);
    return object;
}

/* --- values */

struct json_object *object_as_written(struct arena *arena, struct json_object *object)
{
    static const char *const keys[] = {
        "uid",           "resourceVersion",   "generation",       "selfLink",
        "managedFields", "creationTimestamp", "deletionTimestamp"};
    static const char applied[] = "kubectl.kubernetes.io/last-applied-configuration";
    struct json_object *copy = json_copy(arena, object);
    struct json_object *metadata = json_at(copy, "metadata", NULL);

    json_del(copy, "status");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        json_del(metadata, keys[i]);
    json_del(json_at(metadata, "annotations", NULL), applied);
    return copy;
}

const char *value_text(struct arena *arena, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        return strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value)
                   ? json_object_get_string(value)
                   : NULL;
    case json_type_int:
    case json_type_double:
    case json_type_boolean:
        return json_text(arena, value);
    default:
        return NULL;
    }
}

bool value_duration(struct json_object *value, int64_t *ms)
{
    enum { LONGEST_S = 366 * 24 * 3600 };
    const char *text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
    int64_t seconds;

    if (json_to_int(value, &seconds)) {
        *ms = seconds * 1000;
        return seconds >= 0 && seconds <= LONGEST_S;
    }
    if (!text)
        return false;
    if (*text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10) {
        *ms = strtoll(text, NULL, 10) * 1000;
        return true;
    }
    return duration_parse_ms(text, ms, NULL) == ERR_OK && *ms <= (int64_t)LONGEST_S * 1000;
}

const char *duration_text(struct arena *arena, int64_t ms)
{
    char text[DURATION_TEXT];
    size_t len = strlen(duration_format(ms * 1000000, text));

    /* 1h0m0s becomes 1h */
    if (len > 3 && strcmp(text + len - 3, "m0s") == 0)
        len -= 2;
    if (len > 3 && strncmp(text + len - 3, "h0m", 3) == 0)
        len -= 2;
    return arena_strndup(arena, text, len);
}

/* --- Rollouts */

/* The strategy: canary if it is one or if there is none. */
static bool read_strategy(struct rollout *r)
{
    struct json_object *strategy = json_at(r->spec, "strategy", NULL);

    r->canary = json_at(strategy, "canary", NULL);
    r->green = json_at(strategy, "blueGreen", NULL);
    if (r->canary && r->green) {
        json_object_array_add(
            r->conversion->mistakes,
            json_object_new_string(arena_printf(
                r->arena, "%s: spec.strategy: expected canary or blueGreen, found both",
                r->label)));
        return false;
    }
    return true;
}

static void convert_rollout(struct conversion *conversion, struct json_object *object)
{
    struct arena *arena = conversion->arena;
    struct rollout *r = ARENA_NEW(arena, struct rollout);
    const char *name = json_str_at(object, "metadata", "name", NULL);
    const char *namespace_ = json_str_at(object, "metadata", "namespace", NULL);

    *r = (struct rollout){.conversion = conversion,
                          .arena = arena,
                          .object = object,
                          .spec = json_at(object, "spec", NULL),
                          .name = name,
                          .namespace_ = namespace_ ? namespace_
                                        : conversion->options->namespace_
                                            ? conversion->options->namespace_
                                            : ""};
    conversion->found++;
    if (!name || !*name || !json_object_is_type(r->spec, json_type_object)) {
        json_object_array_add(conversion->mistakes,
                              json_object_new_string(arena_printf(
                                  arena, "Rollout %s: expected metadata.name and a spec",
                                  name ? name : "without a name")));
        return;
    }
    r->label =
        arena_printf(arena, "Rollout %s%s%s", r->namespace_, *r->namespace_ ? "/" : "", name);
    fields_lose(conversion, FIELD_ROLLOUT, r->label, r->spec);
    if (!read_strategy(r) || !workload_convert(r))
        return;
    *conversion->last_rollout = r;
    conversion->last_rollout = &r->next;
    struct json_object *canary =
        object_new(arena, "flagger.app/v1beta1", "Canary", r->namespace_, r->target);
    r->out = commented_new(arena, canary);
    traffic_convert(r);
    workload_scalers(r);
    r->analysis = json_sub(json_sub(canary, "spec"), "analysis");
    steps_convert(r);
    metrics_convert(r);
    /* after the templates that it names */
    *conversion->last = r->out;
    conversion->last = &r->out->next;
}

/* --- objects that no Rollout refers to */

struct leftovers {
    struct conversion *conversion;
    const char *kind;
};

static bool on_template(void *arg, struct json_object *object)
{
    const struct leftovers *left = arg;
    struct arena *arena = left->conversion->arena;
    const char *name = json_str_at(object, "metadata", "name", NULL);
    const char *namespace_ = json_str_at(object, "metadata", "namespace", NULL);
    const char *label = arena_printf(arena, "%s %s%s%s", left->kind, namespace_ ? namespace_ : "",
                                     namespace_ ? "/" : "", name ? name : "without a name");

    if (!json_bool_at(left->conversion->used, false, label, NULL))
        conversion_lose(left->conversion, label, "",
                        "no Rollout of these files names it: it is not converted");
    return false;
}

static bool on_experiment(void *arg, struct json_object *object)
{
    const struct leftovers *left = arg;
    const char *name = json_str_at(object, "metadata", "name", NULL);

    conversion_lose(
        left->conversion,
        arena_printf(left->conversion->arena, "%s %s", left->kind, name ? name : "without a name"),
        "", "it has no counterpart: analysis.judge compares the canary with the primary");
    return false;
}

static void report_leftovers(struct conversion *conversion)
{
    static const struct {
        const char *kind;
        bool (*each)(void *arg, struct json_object *object);
    } kinds[] = {{"AnalysisTemplate", on_template},
                 {"ClusterAnalysisTemplate", on_template},
                 {"AnalysisRun", on_experiment},
                 {"Experiment", on_experiment}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct leftovers left = {.conversion = conversion, .kind = kinds[i].kind};
        (void)conversion_each(conversion, "argoproj.io", kinds[i].kind, "", kinds[i].each, &left);
    }
}

static bool on_rollout(void *arg, struct json_object *object)
{
    struct conversion *conversion = arg;
    const char *wanted = conversion->options->rollout;
    const char *name = json_str_at(object, "metadata", "name", NULL);

    if (!wanted || !*wanted || (name && strcmp(name, wanted) == 0))
        convert_rollout(conversion, object);
    return false;
}

struct conversion *convert_objects(struct arena *arena, const struct convert_options *options,
                                   struct json_object *objects)
{
    struct conversion *conversion = ARENA_NEW(arena, struct conversion);

    *conversion = (struct conversion){.arena = arena,
                                      .objects = objects,
                                      .options = options,
                                      .last = &conversion->first,
                                      .last_rollout = &conversion->rollouts,
                                      .last_loss = &conversion->losses,
                                      .used = json_own(arena, json_object_new_object()),
                                      .templates = json_own(arena, json_object_new_object()),
                                      .mistakes = json_own(arena, json_object_new_array())};
    (void)conversion_each(conversion, "argoproj.io", "Rollout", "", on_rollout, conversion);
    if (conversion->found > 0 && !(options->rollout && *options->rollout))
        report_leftovers(conversion);
    return conversion;
}

/* --- the text */

static void write_losses(const struct conversion *conversion, struct buf *out)
{
    struct arena *arena = conversion->arena;
    const char *label = "";

    if (!conversion->losses)
        return;
    comment_write(arena, out, 0, "\nNo counterpart here, why, and the way:");
    for (const struct loss *loss = conversion->losses; loss; loss = loss->next) {
        if (strcmp(loss->label, label) != 0)
            comment_write(arena, out, 0, arena_printf(arena, "\n%s", loss->label));
        label = loss->label;
        comment_write(
            arena, out, 0,
            arena_printf(arena, "- %s%s%s", loss->path, *loss->path ? ": " : "", loss->text));
    }
}

/* True if documents of the kind are requested. */
static bool is_wanted(const struct conversion *conversion, struct json_object *object)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *const *only = conversion->options->only;

    for (; only && *only; only++)
        if (strcmp(*only, kind) == 0)
            return true;
    return !conversion->options->only;
}

const char *convert_text(const struct conversion *conversion)
{
    struct buf out;

    buf_init(&out, CONVERT_MAX_BYTES);
    for (const struct commented *at = conversion->first; at; at = at->next) {
        if (!is_wanted(conversion, at->object))
            continue;
        if (out.len > 0)
            buf_puts(&out, "---\n");
        commented_write(conversion->arena, at, &out);
    }
    if (!conversion->options->only) {
        write_losses(conversion, &out);
        for (const struct rollout *r = conversion->rollouts; r; r = r->next)
            if (conversion->options->live)
                live_write(r, &out);
    }
    const char *text = arena_strndup(conversion->arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

/* --- documents with comments */

struct comment {
    struct comment *next;
    const char *path, *text;
    size_t line; /* set while writing: number of the YAML line that it is above, from 1 */
};

struct commented *commented_new(struct arena *arena, struct json_object *object)
{
    struct commented *commented = ARENA_NEW(arena, struct commented);

    *commented = (struct commented){.object = object, .last = &commented->first};
    return commented;
}

void commented_add(struct arena *arena, struct commented *commented, const char *path,
                   const char *fmt, ...)
{
    struct comment *comment = ARENA_NEW(arena, struct comment);
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(arena, fmt, args);
    va_end(args);
    *comment = (struct comment){.path = path, .text = text};
    *commented->last = comment;
    commented->last = &comment->next;
}

static void write_line(struct buf *out, int indent, const char *before, const char *text,
                       size_t len)
{
    buf_printf(out, "%*s#%s%s%.*s\n", indent, "", len > 0 ? " " : "", before, (int)len, text);
}

/* Writes the words of one line of the text, as many as fit into each line; those after a "- " are
 * indented. */
static void write_wrapped(struct buf *out, int indent, const char *text, size_t len)
{
    const char *below = strncmp(text, "- ", 2) == 0 ? "  " : "", *before = "";
    size_t room = (size_t)(COMMENT_WIDTH - 2 - indent), from = 0, end = 0;

    for (size_t at = 0; at < len;) {
        size_t word = at + strspn(text + at, " ");
        size_t word_end = word + strcspn(text + word, " ");
        if (word_end > len)
            word_end = len;
        if (word_end - from + strlen(before) > room && end > from) {
            write_line(out, indent, before, text + from, end - from);
            from = word;
            before = below;
        }
        end = at = word_end;
    }
    write_line(out, indent, before, text + from, len - from);
}

/* One line, for readers of YAML as well, which treat U+2028 and U+2029 as ends of lines. */
static const char *one_line(struct arena *arena, const char *text, size_t len)
{
    char *line = arena_strdup(arena, print_clean(arena, arena_strndup(arena, text, len)));

    for (char *c = line; (c = strstr(c, "\xe2\x80"));) {
        bool end = c[2] == '\xa8' || c[2] == '\xa9';
        for (int i = 0; end && i < 3; i++)
            c[i] = ' ';
        c += 2;
    }
    return line;
}

void comment_write(struct arena *arena, struct buf *out, int indent, const char *text)
{
    if (indent > COMMENT_WIDTH / 2)
        indent = 0;
    for (bool more = true; more;) {
        size_t len = strcspn(text, "\n");
        const char *line = one_line(arena, text, len);
        if (strncmp(line, "  ", 2) == 0)
            write_line(out, indent, "", line, strlen(line));
        else
            write_wrapped(out, indent, line, strlen(line));
        more = text[len] == '\n';
        text += len + 1;
    }
}

/* --- the object */

struct lines {
    struct json_object *docs;
    const struct yaml_marks *marks;
};

/* The line of the field, or of the nearest field above it. */
static size_t line_of(struct arena *arena, const struct lines *lines, const char *path)
{
    struct json_object *at = json_elem(lines->docs, 0);
    struct yaml_place found = {.line = 1};
    struct json_path place;
    const char *rest;

    if (!json_path_parse(arena, arena_printf(arena, "%s: ", path), &place, &rest))
        return 1;
    for (int i = 0; at && i < place.depth; i++) {
        const struct json_path_step *step = &place.steps[i];
        if (!yaml_mark(lines->marks, at, step->key, step->index, &found))
            break;
        at = step->key ? json_at(at, step->key, NULL) : json_elem(at, step->index);
    }
    return found.line;
}

/* Writes the comments above a line, each after a dash if there are several. */
static void write_comments(struct arena *arena, const struct commented *commented, size_t line,
                           int indent, struct buf *out)
{
    int count = 0;

    for (const struct comment *comment = commented->first; comment; comment = comment->next)
        count += comment->line == line;
    for (const struct comment *comment = commented->first; comment; comment = comment->next)
        if (comment->line == line)
            comment_write(arena, out, indent,
                          count > 1 ? arena_printf(arena, "- %s", comment->text) : comment->text);
}

void commented_write(struct arena *arena, const struct commented *commented, struct buf *out)
{
    const char *text = yaml_print(arena, commented->object);
    struct lines lines = {0};
    size_t line = 1, len = strlen(text);
    struct errinfo ei;

    /* if positions are missing, which cannot happen, all comments come first */
    if (yaml_parse_marked(arena, "", text, len, len, &lines.docs,
                          (struct yaml_marks **)&lines.marks, &ei) != ERR_OK)
        lines = (struct lines){0};
    for (struct comment *comment = commented->first; comment; comment = comment->next)
        comment->line = lines.docs ? line_of(arena, &lines, comment->path) : 1;
    for (; *text; line++) {
        size_t end = strcspn(text, "\n");
        write_comments(arena, commented, line, (int)strspn(text, " "), out);
        buf_printf(out, "%.*s\n", (int)end, text);
        text += end + (text[end] == '\n');
    }
}

/* --- the fields of Argo Rollouts, with their counterparts, and the fields without one */

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

/* True if there is a row for a field below this one. */
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

/* A value that is visited: its path as in the rows, and its path with indices. */
struct walk {
    struct conversion *conversion;
    enum field_kind kind;
    const char *label;
};

static void look_below(const struct walk *walk, struct json_object *value, const char *pattern,
                       const char *path, bool known);

/* Visits a member of the value, with this pattern and path. known: a row further up names its
 * counterpart. The depth is limited by that of the input. */
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
        /* false counts as missing */
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
