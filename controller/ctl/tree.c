#include "ctl/tree.h"

#include <string.h>

enum { GAP = 2, WIDEST_LABEL = 24, LEAST_TEXT = 16 };

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

/* Of the labels below this line; longer ones than WIDEST_LABEL do not count. */
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

/* The words of the text, each line of it behind the guide and the indent. */
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

/* One line behind `head`, its further ones behind `guide`. */
static void print_line(const struct tree *line, int labels, const char *head, const char *guide)
{
    const struct ctl *ctl = line->ctl;
    int at = print_width(head), indent = at + (labels ? labels + GAP : 0);

    fputs(head, ctl->out);
    if (line->label) {
        fputs(line->label, ctl->out);
        at += print_width(line->label);
    }
    if (line->label && at + GAP > indent)
        indent = at + GAP; /* a label that is longer than the column */
    if (at < indent && *line->text) {
        fprintf(ctl->out, "%*s", indent - at, "");
        at = indent;
    }
    if (ctl->width > 0 && indent + LEAST_TEXT > ctl->width)
        indent = print_width(head) + GAP;
    print_words(ctl, line->color, line->text, at, guide, indent);
}

/* What is below the line; as deep as the caller has built it. */
static void print_below(const struct tree *tree, const char *guide)
{
    struct arena *a = tree->ctl->arena;
    int labels = label_width(tree);

    for (const struct tree *line = tree->first; line; line = line->next) {
        const char *head = arena_printf(a, "%s%s", guide, line->next ? "├─ " : "└─ ");
        const char *below = arena_printf(a, "%s%s", guide, line->next ? "│  " : "   ");
        print_line(line, labels, head, line->first ? arena_printf(a, "%s│", below) : below);
        print_below(line, below);
    }
}

void tree_print(const struct tree *tree)
{
    print_line(tree, 0, "", tree->first ? "│" : "");
    print_below(tree, "");
}
