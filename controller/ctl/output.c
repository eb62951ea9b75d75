#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/yaml.h"
#include "ctl/output.h"

enum { GAP = 2 }; /* blanks between columns */

enum { MAX_LINE = 64 * 1024 };

const char *print_on(const struct ctl *ctl, enum print_color color)
{
    static const char *const codes[] = {
        [PRINT_PLAIN] = "",         [PRINT_BOLD] = "\033[1m",    [PRINT_DIM] = "\033[2m",
        [PRINT_GREEN] = "\033[32m", [PRINT_YELLOW] = "\033[33m", [PRINT_RED] = "\033[31m"};

    return ctl->color ? codes[color] : "";
}

const char *print_off(const struct ctl *ctl, enum print_color color)
{
    return ctl->color && color != PRINT_PLAIN ? "\033[0m" : "";
}

const char *print_in(const struct ctl *ctl, enum print_color color, const char *text)
{
    return arena_printf(ctl->arena, "%s%s%s", print_on(ctl, color), text, print_off(ctl, color));
}

/* True for control characters, including those of C1, and for marks that change the text
 * direction. */
static bool obeyed(const unsigned char *c, size_t len)
{
    if (len == 1)
        return *c < 0x20 || *c == 0x7f;
    if (len == 2)
        return c[0] == 0xc2 && c[1] < 0xa0;
    if (len == 3 && c[0] == 0xe2)
        return (c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
               (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9) || (c[1] == 0x80 && c[2] <= 0x8f);
    return false;
}

const char *print_clean(struct arena *arena, const char *text)
{
    size_t len = text ? strlen(text) : 0, n = 0;
    char *out = arena_alloc(arena, len + 1);

    for (size_t i = 0; i < len;) {
        size_t taken = utf8_sequence(text + i, len - i);
        bool blank = strchr("\n\r\t", text[i]) != NULL;
        if (taken == 0 || obeyed((const unsigned char *)text + i, taken)) {
            out[n++] = blank ? ' ' : '?';
        } else {
            memcpy(out + n, text + i, taken);
            n += taken;
        }
        i += taken ? taken : 1;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return out;
}

int print_width(const char *text)
{
    return (int)utf8_count(text, strlen(text));
}

/* Number of bytes at the start of the text that fill this number of columns. */
static size_t bytes_of(const char *text, int columns)
{
    size_t len = strlen(text), at = 0;

    while (columns-- > 0 && at < len) {
        size_t taken = utf8_sequence(text + at, len - at);
        at += taken ? taken : 1;
    }
    return at;
}

const char *print_cut(struct arena *arena, const char *text, int width)
{
    if (print_width(text) <= width)
        return text;
    return arena_printf(arena, "%.*s…", (int)bytes_of(text, width > 0 ? width - 1 : 0), text);
}

void print_wrapped(const struct ctl *ctl, const char *first, const char *text)
{
    int indent = print_width(first), at = indent;

    fputs(first, ctl->out);
    text = print_clean(ctl->arena, text);
    for (bool begun = false; *text; begun = true) {
        size_t len = strcspn(text, " ");
        const char *word = arena_strndup(ctl->arena, text, len);
        int cells = print_width(word);
        if (begun && ctl->width > 0 && at + 1 + cells > ctl->width) {
            fprintf(ctl->out, "\n%*s", indent, "");
            at = indent;
        } else if (begun) {
            fputc(' ', ctl->out);
            at++;
        }
        fputs(word, ctl->out);
        at += cells;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', ctl->out);
}

const char *print_span(struct arena *arena, int64_t ms)
{
    static const struct {
        int64_t ms;
        char letter;
    } units[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
    enum { UNITS = sizeof(units) / sizeof(units[0]) };
    size_t i = 0;

    if (ms < 1000)
        return "0s";
    while (i < UNITS - 1 && ms < units[i].ms)
        i++;
    long long high = ms / units[i].ms;
    long long low = i + 1 < UNITS ? ms % units[i].ms / units[i + 1].ms : 0;
    if (low == 0 || high >= 10)
        return arena_printf(arena, "%lld%c", high, units[i].letter);
    return arena_printf(arena, "%lld%c%lld%c", high, units[i].letter, low, units[i + 1].letter);
}

const char *print_age(struct arena *arena, const char *rfc3339, int64_t now_ms)
{
    int64_t at;

    if (!rfc3339 || clock_parse(rfc3339, &at, NULL) != ERR_OK)
        return "?";
    return print_span(arena, now_ms > at ? now_ms - at : 0);
}

const char *print_bar(struct arena *arena, int percent, int cells)
{
    char *bar = arena_alloc(arena, (size_t)cells + 3);
    int full = (percent * cells + 50) / 100;

    if (percent > 0 && full == 0)
        full = 1; /* a small share is not drawn as zero */
    if (percent < 100 && full == cells)
        full = cells - 1;
    bar[0] = '[';
    for (int i = 0; i < cells; i++)
        bar[i + 1] = i < full ? '#' : '-';
    bar[cells + 1] = ']';
    return bar;
}

void print_object(const struct ctl *ctl, struct json_object *object)
{
    if (ctl->output == CTL_YAML)
        fputs(yaml_print(ctl->arena, object), ctl->out);
    else
        fprintf(ctl->out, "%s\n",
                json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
                                                           JSON_C_TO_STRING_SPACED |
                                                           JSON_C_TO_STRING_NOSLASHESCAPE));
}

void print_name(const struct ctl *ctl, const char *kind, const char *name)
{
    fprintf(ctl->out, "%s/%s\n", kind, print_clean(ctl->arena, name));
}

enum { MOST = 16, LEAST = 8 };

struct cell {
    const char *text;
    enum print_color color;
};

struct columns {
    const struct ctl *ctl;
    struct columns_head heads[MOST];
    int widths[MOST]; /* 0: left out */
    int count;
    struct cell *cells;
    size_t n_cells, cap;
};

struct columns *columns_new(const struct ctl *ctl, const struct columns_head *heads)
{
    struct columns *columns = ARENA_NEW(ctl->arena, struct columns);

    columns->ctl = ctl;
    while (heads[columns->count].text) {
        assert(columns->count < MOST);
        columns->heads[columns->count] = heads[columns->count];
        columns->count++;
    }
    return columns;
}

void columns_put(struct columns *columns, enum print_color color, const char *text)
{
    if (columns->n_cells == columns->cap) {
        size_t cap = columns->cap ? columns->cap * 2 : 64;
        struct cell *cells = arena_array(columns->ctl->arena, cap, sizeof(*cells));
        if (columns->n_cells > 0)
            memcpy(cells, columns->cells, columns->n_cells * sizeof(*cells));
        columns->cells = cells;
        columns->cap = cap;
    }
    columns->cells[columns->n_cells++] =
        (struct cell){.text = print_clean(columns->ctl->arena, text), .color = color};
}

static void measure(struct columns *columns, bool with_heads)
{
    for (int i = 0; i < columns->count; i++)
        columns->widths[i] = with_heads ? print_width(columns->heads[i].text) : 1;
    for (size_t i = 0; i < columns->n_cells; i++) {
        int width = print_width(columns->cells[i].text);
        int *column = &columns->widths[i % (size_t)columns->count];
        *column = width > *column ? width : *column;
    }
}

static int total(const struct columns *columns)
{
    int sum = -GAP;

    for (int i = 0; i < columns->count; i++)
        sum += columns->widths[i] ? columns->widths[i] + GAP : 0;
    return sum;
}

/* The column to leave out first, of those that are left; -1: none. */
static int most_spare(const struct columns *columns)
{
    int at = -1, spare = 0;

    for (int i = 0; i < columns->count; i++) {
        if (columns->widths[i] && columns->heads[i].spare > spare) {
            spare = columns->heads[i].spare;
            at = i;
        }
    }
    return at;
}

static int widest(const struct columns *columns)
{
    int at = 0;

    for (int i = 1; i < columns->count; i++)
        if (columns->widths[i] > columns->widths[at])
            at = i;
    return at;
}

static void fit(struct columns *columns, int width)
{
    int at;

    while (total(columns) > width && (at = most_spare(columns)) >= 0)
        columns->widths[at] = 0;
    while (total(columns) > width && columns->widths[at = widest(columns)] > LEAST)
        columns->widths[at]--;
}

static void print_line(const struct columns *columns, const char *indent, const struct cell *cells)
{
    const struct ctl *ctl = columns->ctl;
    int pending = 0;

    fputs(indent, ctl->out);
    for (int i = 0; i < columns->count; i++) {
        if (!columns->widths[i])
            continue;
        const char *text = print_cut(ctl->arena, cells[i].text, columns->widths[i]);
        if (*text)
            fprintf(ctl->out, "%*s%s", pending, "", print_in(ctl, cells[i].color, text));
        pending = (*text ? 0 : pending) + columns->widths[i] - print_width(text) + GAP;
    }
    fputc('\n', ctl->out);
}

void columns_print(struct columns *columns, const char *indent)
{
    struct cell heads[MOST];

    measure(columns, !indent);
    if (columns->ctl->width > 0)
        fit(columns, columns->ctl->width - (indent ? print_width(indent) : 0));
    for (int i = 0; i < columns->count; i++)
        heads[i] = (struct cell){.text = columns->heads[i].text, .color = PRINT_PLAIN};
    if (!indent)
        print_line(columns, "", heads);
    for (size_t i = 0; i + (size_t)columns->count <= columns->n_cells; i += (size_t)columns->count)
        print_line(columns, indent ? indent : "", &columns->cells[i]);
}

enum { WIDEST_LABEL = 24, LEAST_TEXT = 16 };

struct tree {
    const struct ctl *ctl;
    const char *label, *text;
    enum print_color color;
    struct tree *first, *last, *next;
};

struct tree *tree_new(const struct ctl *ctl, const char *text)
{
    struct tree *tree = ARENA_NEW(ctl->arena, struct tree);

    *tree = (struct tree){.ctl = ctl, .text = print_clean(ctl->arena, text), .color = PRINT_BOLD};
    return tree;
}

struct tree *tree_add(struct tree *parent, const char *label, enum print_color color,
                      const char *text)
{
    struct tree *line = tree_new(parent->ctl, text);

    line->label = label ? print_clean(parent->ctl->arena, label) : NULL;
    line->color = color;
    if (parent->last)
        parent->last->next = line;
    else
        parent->first = line;
    parent->last = line;
    return line;
}

/* Width of the labels below this line; those longer than WIDEST_LABEL do not count. */
static int label_width(const struct tree *tree)
{
    int widest = 0;

    for (const struct tree *line = tree->first; line; line = line->next) {
        int width = line->label ? print_width(line->label) : 0;
        if (width > widest && width <= WIDEST_LABEL)
            widest = width;
    }
    return widest;
}

/* Prints the words of the text; each further line is preceded by the guide and the indent. */
static void print_words(const struct ctl *ctl, enum print_color color, const char *text, int at,
                        const char *guide, int indent)
{
    fputs(print_on(ctl, color), ctl->out);
    for (int begun = at; *text; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        const char *word = arena_strndup(ctl->arena, text, len);
        int cells = print_width(word);
        if (at > begun && ctl->width > 0 && at + 1 + cells > ctl->width) {
            fprintf(ctl->out, "%s\n%s%*s%s", print_off(ctl, color), guide,
                    indent - print_width(guide), "", print_on(ctl, color));
            at = begun = indent;
        } else if (at > begun) {
            fputc(' ', ctl->out);
            at++;
        }
        fputs(word, ctl->out);
        at += cells;
        text += len;
    }
    fprintf(ctl->out, "%s\n", print_off(ctl, color));
}

/* Prints one line after `head`; if it is wrapped, its other lines come after `guide`. */
static void print_tree_line(const struct tree *line, int labels, const char *head,
                            const char *guide)
{
    const struct ctl *ctl = line->ctl;
    int at = print_width(head), indent = at + (labels ? labels + GAP : 0);

    fputs(head, ctl->out);
    if (line->label) {
        fputs(line->label, ctl->out);
        at += print_width(line->label);
    }
    if (line->label && at + GAP > indent)
        indent = at + GAP; /* a label that is wider than its column */
    if (at < indent && *line->text) {
        fprintf(ctl->out, "%*s", indent - at, "");
        at = indent;
    }
    if (ctl->width > 0 && indent + LEAST_TEXT > ctl->width)
        indent = print_width(head) + GAP;
    print_words(ctl, line->color, line->text, at, guide, indent);
}

/* Prints the lines below; the caller limits the depth. */
static void print_below(const struct tree *tree, const char *guide)
{
    struct arena *a = tree->ctl->arena;
    int labels = label_width(tree);

    for (const struct tree *line = tree->first; line; line = line->next) {
        const char *head = arena_printf(a, "%s%s", guide, line->next ? "├─ " : "└─ ");
        const char *below = arena_printf(a, "%s%s", guide, line->next ? "│  " : "   ");
        print_tree_line(line, labels, head, line->first ? arena_printf(a, "%s│", below) : below);
        print_below(line, below);
    }
}

void tree_print(const struct tree *tree)
{
    print_tree_line(tree, 0, "", tree->first ? "│" : "");
    print_below(tree, "");
}

enum { MAX_TEXT = 64 * 1024 * 1024 };

struct writing {
    struct arena *arena;
    struct buf out;
};

static void put_value(struct writing *w, struct json_object *value, int indent, bool in_list);

static bool is_filled(struct json_object *value)
{
    return (json_object_is_type(value, json_type_object) && json_object_object_length(value) > 0) ||
           json_len(value) > 0;
}

static void put_indent(struct writing *w, int indent)
{
    buf_printf(&w->out, "%*s", indent, "");
}

/* True for plain text that YAML reads as this string, and as nothing else. */
static bool is_plain(struct arena *arena, const char *text)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./ ()%+,";
    struct json_object *docs = NULL;
    size_t len = strlen(text);

    if (len == 0 || len > 200 || strspn(text, fine) != len || strchr("-_./ ()%+,", text[0]) ||
        text[len - 1] == ' ')
        return false;
    return yaml_parse(arena, "", text, len, len, &docs, NULL) == ERR_OK && json_len(docs) == 1 &&
           json_object_is_type(json_elem(docs, 0), json_type_string);
}

/* True for lines of a script, which are written literally. If a line begins with a blank, or
 * contains control characters, it would be read back differently. */
static bool is_block(const char *text)
{
    if (!strchr(text, '\n') || strchr(" \n", text[0]) || text[strlen(text) - 1] != '\n')
        return false;
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || (unsigned char)*c >= 0x7f ||
            (*c == ' ' && c[1] == '\n'))
            return false;
    return !strstr(text, "\n\n\n") && strcmp(text + strlen(text) - 2, "\n\n") != 0;
}

static void put_block(struct writing *w, const char *text, int indent)
{
    buf_puts(&w->out, "|\n");
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            put_indent(w, indent);
        buf_printf(&w->out, "%.*s\n", (int)len, text);
        text += len + 1;
    }
}

static void put_string(struct writing *w, const char *text, size_t len, int indent)
{
    if (strlen(text) == len && is_plain(w->arena, text))
        buf_puts(&w->out, text);
    else if (strlen(text) == len && len > 1 && is_block(text)) {
        put_block(w, text, indent);
        return;
    } else
        json_quote(&w->out, text, len);
    buf_puts(&w->out, "\n");
}

static void put_members(struct writing *w, struct json_object *object, int indent, bool in_list)
{
    bool first = in_list; /* after "- " */

    json_object_object_foreach(object, key, value)
    {
        if (!first)
            put_indent(w, indent);
        first = false;
        if (is_plain(w->arena, key))
            buf_puts(&w->out, key);
        else
            json_quote(&w->out, key, strlen(key));
        buf_puts(&w->out, ":");
        if (is_filled(value)) {
            buf_puts(&w->out, "\n");
            put_value(w, value, json_len(value) > 0 ? indent : indent + 2, false);
        } else {
            buf_puts(&w->out, " ");
            put_value(w, value, indent + 2, false);
        }
    }
}

static void put_elements(struct writing *w, struct json_object *array, int indent, bool in_list)
{
    for (size_t i = 0; i < json_len(array); i++) {
        if (i > 0 || !in_list)
            put_indent(w, indent);
        buf_puts(&w->out, "- ");
        put_value(w, json_elem(array, i), indent + 2, true);
    }
}

/* The depth is limited by that of the input (JSON_MAX_DEPTH). */
static void put_value(struct writing *w, struct json_object *value, int indent, bool in_list)
{
    if (json_object_is_type(value, json_type_object) && is_filled(value))
        put_members(w, value, indent, in_list);
    else if (is_filled(value))
        put_elements(w, value, indent, in_list);
    else if (json_object_is_type(value, json_type_string))
        put_string(w, json_object_get_string(value), (size_t)json_object_get_string_len(value),
                   indent);
    else
        buf_printf(&w->out, "%s\n",
                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE));
}

const char *yaml_print(struct arena *arena, struct json_object *object)
{
    struct writing w = {.arena = arena};

    buf_init(&w.out, MAX_TEXT);
    put_value(&w, object, 0, false);
    const char *text = arena_strndup(arena, w.out.data, w.out.len);
    buf_fini(&w.out);
    return text;
}
