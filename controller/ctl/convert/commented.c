#include "ctl/convert/commented.h"

#include <string.h>

#include "base/yaml.h"
#include "ctl/lint/document.h"
#include "ctl/output.h"

struct comment {
    struct comment *next;
    const char *path, *text;
    size_t line; /* while it is written: above which line of the YAML, from 1 */
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

/* --- comment lines */

static void write_line(struct buf *out, int indent, const char *before, const char *text,
                       size_t len)
{
    buf_printf(out, "%*s#%s%s%.*s\n", indent, "", len > 0 ? " " : "", before, (int)len, text);
}

/* Words of one line of the text, as many as fit into each line; below a "- " they are indented. */
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

/* One line for readers of YAML as well, which take U+2028 and U+2029 for ends of lines. */
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

/* The line of the field, or of the nearest one above it. */
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

/* Those above a line; with a dash each if there are several. */
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

    /* Without places, which cannot be, all comments stand in front. */
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
