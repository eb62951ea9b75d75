/* The --help text. */
#include <string.h>

#include "base/buf.h"
#include "base/option.h"
#include "base/utf8.h"

enum { WIDTH = 100, INDENT = 2, WIDEST_FLAG = 36, SPACE = 2, MAX_TEXT = 1024 * 1024 };

static const char no_effect[] = "Accepted so that existing manifests start, without effect";

struct page {
    struct arena *arena;
    struct buf out;
    bool color;
    size_t column; /* where the explanations begin */
    size_t width;
};

static size_t width(const char *text)
{
    return utf8_count(text, strlen(text));
}

static void put_bold(struct page *page, const char *text)
{
    buf_printf(&page->out, "%s%s%s", page->color ? "\033[1m" : "", text,
               page->color ? "\033[0m" : "");
}

static void put_spaces(struct page *page, size_t count)
{
    buf_printf(&page->out, "%*s", (int)count, "");
}

/* Words, wrapped at the width; the first line goes on at column at, the others are indented. Ends the
 * line. */
static void put_wrapped(struct page *page, const char *text, size_t at, size_t indent)
{
    bool first = true;
    while (*text) {
        size_t len = strcspn(text, " \n");
        size_t cells = utf8_count(text, len);
        if (!first && at + 1 + cells > page->width) {
            buf_puts(&page->out, "\n");
            put_spaces(page, indent);
            at = indent;
            first = true;
        }
        buf_printf(&page->out, "%s%.*s", first ? "" : " ", (int)len, text);
        at += cells + !first;
        first = false;
        text += len;
        text += strspn(text, " \n");
    }
    buf_puts(&page->out, "\n");
}

/* Lines that begin with a blank (examples) stay as they are; the others are wrapped. */
static void put_paragraphs(struct page *page, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        const char *line = arena_strndup(page->arena, text, len);
        if (line[0] == ' ' || !line[0])
            buf_printf(&page->out, "%s\n", line);
        else
            put_wrapped(page, line, 0, 0);
        text += len + (text[len] == '\n');
    }
}

static const char *flag_text(struct arena *arena, const struct option_row *row)
{
    if (!row->arg && (row->type == OPTION_BOOL || row->type == OPTION_IGNORED))
        return arena_printf(arena, "--%s", row->name);
    return arena_printf(arena, "--%s %s", row->name, row->arg ? row->arg : "VALUE");
}

/* "help: debug, info or warn (default: info; environment: LEVEL)" */
static const char *explanation(struct arena *arena, const struct option_row *row)
{
    const char *text = row->help ? row->help : "", *notes = "";
    for (const char *const *choice = row->choices; choice && *choice; choice++)
        text = arena_printf(arena, "%s%s%s", text,
                            choice == row->choices ? ": "
                            : choice[1]            ? ", "
                                                   : " or ",
                            *choice);
    bool has_default = row->value && *row->value && row->type != OPTION_IGNORED && !row->secret &&
                       !(row->type == OPTION_BOOL && strcmp(row->value, "false") == 0);
    if (has_default)
        notes = arena_printf(arena, "default: %s", row->value);
    if (row->env)
        notes = arena_printf(arena, "%s%senvironment: %s%s", notes, *notes ? "; " : "", row->env,
                             row->env_wins ? ", which wins over the flag" : "");
    return *notes ? arena_printf(arena, "%s (%s)", text, notes) : text;
}

static void put_flag(struct page *page, const char *flag, const char *text)
{
    size_t cells = INDENT + width(flag);
    put_spaces(page, INDENT);
    put_bold(page, flag);
    if (cells + SPACE > page->column) {
        buf_puts(&page->out, "\n");
        cells = 0;
    }
    put_spaces(page, page->column - cells);
    put_wrapped(page, text, page->column, page->column);
}

static const char *group_of(const struct option_row *row)
{
    if (row->type == OPTION_IGNORED)
        return no_effect;
    return row->group ? row->group : "Options";
}

static void put_group(struct page *page, const struct option_row *rows, const char *group)
{
    buf_puts(&page->out, "\n");
    put_bold(page, group);
    buf_puts(&page->out, "\n");
    for (const struct option_row *row = rows; row->name; row++) {
        if (strcmp(group_of(row), group) == 0)
            put_flag(page, flag_text(page->arena, row), explanation(page->arena, row));
    }
}

static bool is_first_of_group(const struct option_row *rows, const struct option_row *row)
{
    for (const struct option_row *before = rows; before < row; before++) {
        if (strcmp(group_of(before), group_of(row)) == 0)
            return false;
    }
    return true;
}

/* Groups in the order of their first row; those without effect come last. */
static void put_groups(struct page *page, const struct option_row *rows)
{
    bool ignored = false;
    for (const struct option_row *row = rows; row->name; row++) {
        if (row->type == OPTION_IGNORED)
            ignored = true;
        else if (is_first_of_group(rows, row))
            put_group(page, rows, group_of(row));
    }
    buf_puts(&page->out, "\n");
    put_bold(page, "Help");
    buf_puts(&page->out, "\n");
    put_flag(page, "--help", "show this text");
    put_flag(page, "--version", "show the version");
    if (ignored)
        put_group(page, rows, no_effect);
}

static size_t column_for(struct arena *arena, const struct option_row *rows)
{
    size_t widest = width("--version");
    for (const struct option_row *row = rows; row->name; row++) {
        size_t cells = width(flag_text(arena, row));
        if (cells > widest && cells <= WIDEST_FLAG)
            widest = cells;
    }
    return INDENT + widest + SPACE;
}

const char *option_help(const struct option_program *program, struct arena *arena, bool color)
{
    struct page page = {.arena = arena,
                        .color = color,
                        .column = column_for(arena, program->rows),
                        .width = program->width > 0 ? (size_t)program->width : WIDTH};
    buf_init(&page.out, MAX_TEXT);
    const char *intro = arena_printf(arena, ": %s", program->summary ? program->summary : "");
    put_bold(&page, program->name);
    put_wrapped(&page, intro, width(program->name), 0);
    buf_puts(&page.out, "\n");
    put_bold(&page, "Usage");
    buf_printf(&page.out, "\n  %s %s\n", program->name,
               program->synopsis ? program->synopsis : "[OPTION...]");
    if (program->before) {
        buf_puts(&page.out, "\n");
        put_paragraphs(&page, program->before);
    }
    put_groups(&page, program->rows);
    if (program->details) {
        buf_puts(&page.out, "\n");
        put_paragraphs(&page, program->details);
    }
    const char *text = arena_strndup(arena, page.out.data, page.out.len);
    buf_fini(&page.out);
    return text;
}
