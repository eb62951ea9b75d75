#include "ctl/print.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "ctl/yaml.h"

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

/* Control characters, of C1 as well, and the marks that turn the direction of what follows. */
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

/* The first bytes of the text that take so many columns. */
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
        full = 1; /* a little is not nothing */
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
