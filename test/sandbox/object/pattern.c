#include "object/pattern.h"

#include <ctype.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { MAX_GROUPS = 64, MAX_HIGH = 32, OUT_MAX = 512 * 1024, RUNE_MAX = 0x10ffff };

/* Any character beyond ASCII, as UTF-8 bytes. */
#define HIGH                                                                                       \
    "[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf][\x80-\xbf]|"                                    \
    "[\xf0-\xf4][\x80-\xbf][\x80-\xbf][\x80-\xbf]"

struct pattern {
    regex_t regex;
};

struct translator {
    const char *text, *p;
    struct buf out;
    struct errinfo *ei;
    bool icase;
    bool atom;                 /* a quantifier may follow */
    int depth;                 /* open groups */
    int repeats;               /* how often the last atom is copied by repeats inside it */
    int inner[MAX_GROUPS + 1]; /* the largest of these so far, per open group */
};

/* A character class while it is read. */
struct set {
    bool ascii[128];
    bool all_high;
    bool negated;
    uint32_t high[MAX_HIGH];
    int high_count;
};

static enum err fail(struct translator *t, const char *why)
{
    return err_set(t->ei, ERR_INVALID, "pattern \"%s\", character %zu: %s", t->text,
                   (size_t)(t->p - t->text) + 1, why);
}

static size_t utf8_encode(uint32_t rune, char bytes[5])
{
    size_t n = 0;
    if (rune < 0x80) {
        bytes[n++] = (char)rune;
    } else if (rune < 0x800) {
        bytes[n++] = (char)(0xc0 | rune >> 6);
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    } else if (rune < 0x10000) {
        bytes[n++] = (char)(0xe0 | rune >> 12);
        bytes[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | rune >> 18);
        bytes[n++] = (char)(0x80 | (rune >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (rune & 0x3f));
    }
    bytes[n] = 0;
    return n;
}

/* The pattern comes out of a JSON tree, so it is valid UTF-8; what is not is read as single bytes.
 */
static uint32_t utf8_next(const char **p)
{
    unsigned char c = (unsigned char)**p;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    uint32_t rune = more == 3 ? c & 7u : more == 2 ? c & 15u : more == 1 ? c & 31u : c;
    (*p)++;
    for (; more > 0 && ((unsigned char)**p & 0xc0) == 0x80; more--)
        rune = rune << 6 | ((unsigned char)*(*p)++ & 0x3fu);
    return rune;
}

static void put_literal(struct translator *t, uint32_t rune)
{
    char bytes[5];
    utf8_encode(rune, bytes);
    if (rune >= 0x80)
        buf_printf(&t->out, "(%s)", bytes);
    else if (rune != 0 && strchr("\\.[]()*+?{}|^$", (int)rune))
        buf_printf(&t->out, "\\%s", bytes);
    else
        buf_puts(&t->out, bytes);
    t->atom = true;
    t->repeats = 1;
}

/* ---- escapes ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* After "\x": two digits, or any number in braces. */
static enum err read_hex(struct translator *t, uint32_t *rune)
{
    bool braces = *t->p == '{';
    t->p += braces;
    uint32_t value = 0;
    int digits = 0;
    for (; hex_digit(*t->p) >= 0 && (braces || digits < 2); digits++) {
        value = value * 16 + (uint32_t)hex_digit(*t->p++);
        if (value > RUNE_MAX)
            return fail(t, "there is no such character");
    }
    if (digits == 0 || (braces && *t->p != '}') || (!braces && digits < 2))
        return fail(t, "\\x needs two hexadecimal digits, or some in braces");
    t->p += braces;
    *rune = value;
    return ERR_OK;
}

/* After a backslash: an escape that stands for one character. */
static enum err read_escaped(struct translator *t, uint32_t *rune)
{
    static const char from[] = "abfnrtv";
    static const char to[] = "\a\b\f\n\r\t\v";
    char c = *t->p;
    const char *found = c ? strchr(from, c) : NULL;
    if (c == 'b')
        return fail(t, "word boundaries are not supported");
    if (c == 'x') {
        t->p++;
        return read_hex(t, rune);
    }
    if (found) {
        t->p++;
        *rune = (uint32_t)to[found - from];
        return ERR_OK;
    }
    if (c == 0 || isalnum((unsigned char)c) || (unsigned char)c >= 0x80)
        return fail(t, "this escape is not supported");
    t->p++;
    *rune = (uint32_t)c;
    return ERR_OK;
}

static bool is_class_escape(char c)
{
    return c && strchr("dDwWsS", c);
}

static bool in_perl_class(char name, int c)
{
    switch (name) {
    case 'd':
        return c >= '0' && c <= '9';
    case 'w':
        return c < 128 && (isalnum(c) || c == '_');
    default:
        return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == ' ';
    }
}

static void add_perl_class(struct set *set, char name)
{
    bool upper = isupper((unsigned char)name);
    for (int c = 0; c < 128; c++)
        set->ascii[c] |= in_perl_class((char)tolower(name), c) != upper;
    set->all_high |= upper;
}

/* ---- classes ---- */

static bool in_posix_class(const char *name, size_t len, int c)
{
    static const struct {
        const char *name;
        int (*test)(int c);
    } rows[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
                {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
                {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return rows[i].test(c) != 0;
    if (len == 4 && memcmp(name, "word", 4) == 0)
        return isalnum(c) || c == '_';
    return len == 5 && memcmp(name, "ascii", 5) == 0;
}

/* "[:alpha:]" or "[:^alpha:]" at t->p. */
static enum err read_posix_class(struct translator *t, struct set *set)
{
    const char *name = t->p + 2;
    bool negated = *name == '^';
    name += negated;
    const char *end = strstr(name, ":]");
    if (!end)
        return fail(t, "\"[:\" without \":]\"");
    bool any = false;
    for (int c = 0; c < 128; c++) {
        bool in = in_posix_class(name, (size_t)(end - name), c);
        any |= in;
        set->ascii[c] |= in != negated;
    }
    if (!any)
        return fail(t, "unknown character class");
    set->all_high |= negated;
    t->p = end + 2;
    return ERR_OK;
}

static enum err add_range(struct translator *t, struct set *set, uint32_t from, uint32_t to)
{
    if (to < from)
        return fail(t, "the range ends before it starts");
    for (uint32_t c = from; c <= to && c < 128; c++)
        set->ascii[c] = true;
    if (to < 128)
        return ERR_OK;
    if (to == RUNE_MAX && from <= 128) {
        set->all_high = true;
        return ERR_OK;
    }
    if (to > from && from < 128)
        return fail(t, "a range that ends beyond ASCII is not supported");
    if (to - from >= (uint32_t)(MAX_HIGH - set->high_count))
        return fail(t, "a large range beyond ASCII is not supported");
    for (uint32_t c = from; c <= to; c++)
        set->high[set->high_count++] = c;
    return ERR_OK;
}

static enum err read_class_char(struct translator *t, uint32_t *rune)
{
    if (*t->p == 0)
        return fail(t, "\"[\" without \"]\"");
    if (*t->p != '\\') {
        *rune = utf8_next(&t->p);
        return ERR_OK;
    }
    t->p++;
    return read_escaped(t, rune);
}

static enum err read_class_item(struct translator *t, struct set *set)
{
    if (t->p[0] == '[' && t->p[1] == ':')
        return read_posix_class(t, set);
    if (t->p[0] == '\\' && is_class_escape(t->p[1])) {
        add_perl_class(set, t->p[1]);
        t->p += 2;
        return ERR_OK;
    }
    uint32_t from = 0, to;
    enum err err = read_class_char(t, &from);
    if (err)
        return err;
    to = from;
    if (t->p[0] == '-' && t->p[1] != ']' && t->p[1] != 0) {
        t->p++;
        if (t->p[0] == '\\' && is_class_escape(t->p[1]))
            return fail(t, "a range cannot end in a class");
        err = read_class_char(t, &to);
        if (err)
            return err;
    }
    return add_range(t, set, from, to);
}

/* The characters of members as the inside of a POSIX bracket. */
static void put_bracket(struct translator *t, const bool *members)
{
    size_t before = t->out.len;
    buf_puts(&t->out, members[']'] ? "[]" : "[");
    for (int c = 1; c < 128; c++) {
        if (!members[c] || strchr("]^-[", c))
            continue;
        int end = c;
        while (end + 1 < 128 && members[end + 1] && !strchr("]^-[", end + 1))
            end++;
        char first = (char)c, last = (char)end;
        buf_add(&t->out, &first, 1);
        if (end > c + 1)
            buf_puts(&t->out, "-");
        if (end > c)
            buf_add(&t->out, &last, 1);
        c = end;
    }
    if (members['['])
        buf_puts(&t->out, "[");
    bool empty = t->out.len == before + 1;
    if (empty && members['^'] && !members['-']) {
        t->out.len = before; /* "[^]" would mean something else */
        buf_puts(&t->out, "\\^");
        return;
    }
    buf_puts(&t->out, members['-'] && members['^'] && empty ? "-^"
                      : members['^'] && members['-']        ? "^-"
                      : members['^']                        ? "^"
                      : members['-']                        ? "-"
                                                            : "");
    buf_puts(&t->out, "]");
}

static enum err put_set(struct translator *t, struct set *set)
{
    bool any = false;
    if (set->negated) {
        if (set->high_count > 0 && !set->all_high)
            return fail(t, "a negated class with characters beyond ASCII is not supported");
        set->all_high = !set->all_high;
        set->high_count = 0;
        for (int c = 0; c < 128; c++)
            set->ascii[c] = !set->ascii[c];
    }
    for (int c = 1; c < 128; c++)
        any |= set->ascii[c];
    if (!any && !set->all_high && set->high_count == 0)
        return fail(t, "the class is empty");
    bool group = set->all_high || set->high_count > 0;
    const char *bar = "";
    buf_puts(&t->out, group ? "(" : "");
    if (any) {
        put_bracket(t, set->ascii);
        bar = "|";
    }
    if (set->all_high) {
        buf_printf(&t->out, "%s%s", bar, HIGH);
    } else {
        for (int i = 0; i < set->high_count; i++) {
            char bytes[5];
            utf8_encode(set->high[i], bytes);
            buf_printf(&t->out, "%s%s", bar, bytes);
            bar = "|";
        }
    }
    buf_puts(&t->out, group ? ")" : "");
    t->atom = true;
    t->repeats = 1;
    return ERR_OK;
}

static enum err read_class(struct translator *t)
{
    struct set set = {0};
    t->p++;
    if (*t->p == '^') {
        set.negated = true;
        t->p++;
    }
    for (bool first = true; first || *t->p != ']'; first = false) {
        enum err err = read_class_item(t, &set);
        if (err)
            return err;
    }
    t->p++;
    return put_set(t, &set);
}

/* ---- groups, repeats, the rest ---- */

static enum err open_group(struct translator *t)
{
    if (t->depth == MAX_GROUPS)
        return fail(t, "groups are nested too deep");
    if (strncmp(t->p, "(?i)", 4) == 0 && t->p == t->text) {
        t->icase = true;
        t->p += 4;
        return ERR_OK;
    }
    if (strncmp(t->p, "(?:", 3) == 0) {
        t->p += 3;
    } else if (strncmp(t->p, "(?P<", 4) == 0) {
        const char *end = strchr(t->p, '>');
        if (!end)
            return fail(t, "the group's name does not end");
        t->p = end + 1;
    } else if (t->p[1] == '?') {
        return fail(t, "this kind of group is not supported");
    } else {
        t->p++;
    }
    t->inner[++t->depth] = 1;
    t->atom = false;
    buf_puts(&t->out, "(");
    return ERR_OK;
}

static enum err close_group(struct translator *t)
{
    if (t->depth == 0)
        return fail(t, "\")\" without \"(\"");
    t->repeats = t->inner[t->depth--];
    if (t->repeats > t->inner[t->depth])
        t->inner[t->depth] = t->repeats;
    t->atom = true;
    t->p++;
    buf_puts(&t->out, ")");
    return ERR_OK;
}

/* "{n}", "{n,}" or "{n,m}" at t->p; false when it is not one and "{" is just a character. */
static bool read_counts(const char *p, int *min, int *max, const char **end)
{
    int counts[2] = {0, -1};
    int n = 0;
    for (p++;; p++, n++) {
        int digits = 0;
        int value = 0;
        for (; isdigit((unsigned char)*p) && digits < 6; digits++)
            value = value * 10 + (*p++ - '0');
        if ((digits == 0 && n == 0) || digits == 6)
            return false;
        counts[n] = digits ? value : -1;
        if (*p == '}')
            break;
        if (*p != ',' || n == 1)
            return false;
    }
    *min = counts[0];
    *max = n == 0 ? counts[0] : counts[1];
    *end = p + 1;
    return true;
}

static enum err read_repeat(struct translator *t)
{
    int min, max;
    const char *end = t->p + 1;
    bool counted = *t->p == '{';
    if (counted && !read_counts(t->p, &min, &max, &end)) {
        t->p++;
        put_literal(t, '{');
        return ERR_OK;
    }
    if (!t->atom)
        return fail(t, "there is nothing to repeat");
    if (counted) {
        int most = max > min ? max : min;
        if ((max >= 0 && max < min) || (most > 1 && t->repeats > PATTERN_MAX_REPEAT / most))
            return fail(t, "the repeat is too large or its bounds are the wrong way round");
        t->repeats *= most > 1 ? most : 1;
        if (t->repeats > t->inner[t->depth])
            t->inner[t->depth] = t->repeats;
    }
    buf_add(&t->out, t->p, (size_t)(end - t->p));
    t->p = end;
    if (*t->p == '?') /* lazy: the same texts match */
        t->p++;
    t->atom = false;
    return ERR_OK;
}

static enum err read_escape(struct translator *t)
{
    t->p++;
    if (is_class_escape(*t->p)) {
        struct set set = {0};
        add_perl_class(&set, *t->p++);
        return put_set(t, &set);
    }
    if (*t->p == 'A' || *t->p == 'z') {
        buf_puts(&t->out, *t->p++ == 'A' ? "^" : "$");
        t->atom = false;
        return ERR_OK;
    }
    uint32_t rune = 0;
    enum err err = read_escaped(t, &rune);
    if (err)
        return err;
    if (rune == 0)
        return fail(t, "a NUL character is not supported");
    put_literal(t, rune);
    return ERR_OK;
}

static enum err read_one(struct translator *t)
{
    switch (*t->p) {
    case '\\':
        return read_escape(t);
    case '[':
        return read_class(t);
    case '(':
        return open_group(t);
    case ')':
        return close_group(t);
    case '*':
    case '+':
    case '?':
    case '{':
        return read_repeat(t);
    case '.': {
        struct set newline = {.negated = true, .ascii = {['\n'] = true}};
        t->p++;
        return put_set(t, &newline);
    }
    case '^':
    case '$':
    case '|':
        buf_add(&t->out, t->p++, 1);
        t->atom = false;
        return ERR_OK;
    default:
        put_literal(t, utf8_next(&t->p));
        return ERR_OK;
    }
}

static enum err translate(struct translator *t)
{
    if (strlen(t->text) > PATTERN_MAX_BYTES)
        return err_set(t->ei, ERR_INVALID, "the pattern is longer than %d bytes",
                       PATTERN_MAX_BYTES);
    while (*t->p) {
        enum err err = read_one(t);
        if (err)
            return err;
    }
    if (t->depth > 0)
        return fail(t, "\"(\" without \")\"");
    if (t->out.truncated)
        return fail(t, "the pattern is too large");
    return ERR_OK;
}

enum err pattern_translate(struct arena *arena, const char *text, const char **out, bool *icase,
                           struct errinfo *ei)
{
    struct translator t = {.text = text, .p = text, .ei = ei, .inner = {1}};
    buf_init(&t.out, OUT_MAX);
    enum err err = translate(&t);
    if (!err) {
        *out = arena_strndup(arena, t.out.data, t.out.len);
        *icase = t.icase;
    }
    buf_fini(&t.out);
    return err;
}

enum err pattern_compile(const char *text, struct pattern **out, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    const char *posix = NULL;
    bool icase = false;
    enum err err = pattern_translate(arena, text, &posix, &icase, ei);
    if (!err) {
        struct pattern *pattern = heap_alloc(sizeof(*pattern));
        int rc =
            regcomp(&pattern->regex, posix, REG_EXTENDED | REG_NOSUB | (icase ? REG_ICASE : 0));
        if (rc != 0) {
            char why[128];
            regerror(rc, &pattern->regex, why, sizeof(why));
            err = err_set(ei, ERR_INVALID, "pattern \"%s\": %s", text, why);
            free(pattern);
        } else {
            *out = pattern;
        }
    }
    arena_free(arena);
    return err;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    regfree(&pattern->regex);
    free(pattern);
}

bool pattern_match(const struct pattern *pattern, const char *text, size_t len)
{
    /* NUL cannot be written in a POSIX expression, so such a text matches nothing. */
    if (memchr(text, 0, len))
        return false;
    return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}
