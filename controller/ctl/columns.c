#include "ctl/columns.h"

#include <assert.h>
#include <string.h>

enum { MOST = 16, GAP = 2, LEAST = 8 };

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

/* The column that goes first, of those that are there; -1: none. */
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
