/* Parsing of options, and the --help text. */
#include "base/option.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/guess.h"
#include "base/log.h"
#include "base/process.h"

enum { WIDTH = 100, INDENT = 2, WIDEST_FLAG = 36, SPACE = 2, MAX_TEXT = 1024 * 1024 };

static const char no_effect[] = "Accepted so that existing manifests start, without effect";

struct page {
    struct arena *arena;
    struct buf out;
    bool color;
    size_t column; /* column of the explanations */
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

/* Writes words, wrapped at the width; the first line continues at column `at`, the others are
 * indented. Ends the line. */
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

/* Lines that begin with a blank (examples) are not wrapped. */
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

/* Groups in the order of their first row; options without effect come last. */
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

extern char **environ;

enum { SHOWN = 60, BETWEEN = '\n' /* separates the values of a list */ };
enum asked { ASKED_NOTHING, ASKED_HELP, ASKED_VERSION };

/* State of parsing. Values stay text until all flags are read, so that --help works even next to
 * an invalid value. */
struct reading {
    const struct option_program *program;
    struct arena *arena;
    size_t count;
    const char **given; /* texts given by flags, one per row, or NULL */
    int argc, next;
    char **argv;
    enum asked asked;
    struct errinfo *ei;
};

static size_t count_rows(const struct option_row *rows)
{
    size_t count = 0;
    while (rows[count].name)
        count++;
    return count;
}

/* The nearest known name, NULL if none is near. */
static const char *nearest(const struct option_program *program, const char *name)
{
    const char *best = NULL;
    int limit = (int)strlen(name) / 3 + 1, least = limit < 3 ? limit + 1 : 4;
    for (const struct option_row *row = program->rows; row->name; row++) {
        int d = guess_distance(name, row->name);
        if (d < least) {
            least = d;
            best = row->name;
        }
    }
    for (const struct option_row *row = program->rows; !best && strlen(name) >= 4 && row->name;
         row++) {
        if (strncmp(row->name, name, strlen(name)) == 0)
            best = row->name;
    }
    return best;
}

static int shown(const char *text)
{
    size_t len = strlen(text);
    return (int)(len > SHOWN ? utf8_cut(text, SHOWN) : len);
}

static enum err unknown_flag(struct reading *r, const char *name)
{
    const char *near = nearest(r->program, name);
    if (near)
        return err_set(r->ei, ERR_INVALID, "unknown flag --%.*s; did you mean --%s?", shown(name),
                       name, near);
    return err_set(r->ei, ERR_INVALID, "unknown flag --%.*s; see --help for the known ones",
                   shown(name), name);
}

static bool stands_alone(const struct option_row *row)
{
    return row->type == OPTION_BOOL || (row->type == OPTION_IGNORED && !row->arg);
}

static const struct option_row *find_row(const struct option_program *program, const char *name)
{
    for (const struct option_row *row = program->rows; row->name; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

/* "--port --database x": the next word is a flag, so the value is missing. */
static bool is_known_flag(struct reading *r, const char *word)
{
    return strncmp(word, "--", 2) == 0 && find_row(r->program, word + 2) != NULL;
}

/* Parses a word that begins with '-', and the next word if that is its value. */
static enum err read_flag(struct reading *r, const char *word)
{
    const char *body = word + (word[1] == '-' ? 2 : 1);
    size_t len = strcspn(body, "=");
    const char *name = arena_strndup(r->arena, body, len);
    const char *value = body[len] == '=' ? body + len + 1 : NULL;
    const struct option_row *row = find_row(r->program, name);
    if (!row) {
        if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
            r->asked = ASKED_HELP;
        else if (strcmp(name, "version") == 0)
            r->asked = ASKED_VERSION;
        else
            return unknown_flag(r, name);
        return ERR_OK;
    }
    if (!value && stands_alone(row))
        value = "true";
    if (!value) {
        if (r->next >= r->argc || is_known_flag(r, r->argv[r->next]))
            return err_set(r->ei, ERR_INVALID, "--%s needs a value: --%s %s", name, name,
                           row->arg ? row->arg : "VALUE");
        value = r->argv[r->next++];
    }
    const char **given = &r->given[row - r->program->rows];
    *given = row->type == OPTION_LIST && *given
                 ? arena_printf(r->arena, "%s%c%s", *given, BETWEEN, value)
                 : value;
    return ERR_OK;
}

static enum err read_words(struct reading *r)
{
    while (r->next < r->argc) {
        const char *word = r->argv[r->next];
        if (word[0] != '-' || word[1] == '\0')
            break;
        r->next++;
        if (strcmp(word, "--") == 0)
            break;
        enum err err = read_flag(r, word);
        if (err != ERR_OK || r->asked != ASKED_NOTHING)
            return err;
    }
    if (r->next < r->argc && !r->program->takes_arguments)
        return err_set(r->ei, ERR_INVALID, "unexpected argument \"%.*s\"; flags begin with --",
                       shown(r->argv[r->next]), r->argv[r->next]);
    return ERR_OK;
}

/* An empty variable counts as unset, as in Flagger. */
static const char *from_environment(char **environment, const char *name)
{
    size_t len = name ? strlen(name) : 0;
    for (char **entry = environment; name && entry && *entry; entry++) {
        if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=' && (*entry)[len + 1])
            return *entry + len + 1;
    }
    return NULL;
}

static bool to_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        *out = strcmp(text, yes[i]) == 0;
        if (*out || strcmp(text, no[i]) == 0)
            return true;
    }
    return false;
}

/* Digits with an optional sign, and nothing else. */
static bool to_int(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")])
        return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

static bool to_number(const char *text, double *out)
{
    char *end;
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

static bool bounded(const struct option_row *row)
{
    return row->max > row->min;
}

static bool is_choice(const struct option_row *row, const char *text)
{
    for (const char *const *choice = row->choices; choice && *choice; choice++) {
        if (strcmp(*choice, text) == 0)
            return true;
    }
    return !row->choices;
}

/* An absent value is an empty list; empty items are dropped. */
static const char *const *list_of(struct arena *arena, const char *text)
{
    size_t most = 1, n = 0;

    for (const char *at = text; *at; at++)
        most += *at == BETWEEN;
    const char **list = arena_array(arena, most + 1, sizeof(*list));
    for (const char *at = text; *at; at += *at == BETWEEN) {
        size_t len = strcspn(at, (const char[]){BETWEEN, '\0'});
        if (len > 0)
            list[n++] = arena_strndup(arena, at, len);
        at += len;
    }
    return list;
}

/* Returns false if the text is invalid for the row. */
static bool store(struct arena *arena, const struct option_row *row, const char *text)
{
    int64_t integer;
    double number;
    switch (row->type) {
    case OPTION_STRING:
        if (!is_choice(row, text))
            return false;
        *(const char **)row->at = arena_strdup(arena, text);
        return true;
    case OPTION_LIST:
        *(const char *const **)row->at = list_of(arena, text);
        return true;
    case OPTION_BOOL:
        return to_bool(text, row->at);
    case OPTION_INT:
    case OPTION_DURATION:
        if (row->type == OPTION_INT ? !to_int(text, &integer)
                                    : duration_parse_ms(text, &integer, NULL) != ERR_OK)
            return false;
        if (bounded(row) && (integer < row->min || integer > row->max))
            return false;
        *(int64_t *)row->at = integer;
        return true;
    case OPTION_NUMBER:
        if (!to_number(text, &number))
            return false;
        if (bounded(row) && (number < (double)row->min || number > (double)row->max))
            return false;
        *(double *)row->at = number;
        return true;
    case OPTION_IGNORED:
        return true;
    }
    return false;
}

static const char *expected(struct arena *arena, const struct option_row *row)
{
    char low[DURATION_TEXT], high[DURATION_TEXT];
    const char *list = "";
    switch (row->type) {
    case OPTION_BOOL:
        return "true or false";
    case OPTION_INT:
        if (!bounded(row))
            return "a whole number";
        return arena_printf(arena, "a whole number from %lld to %lld", (long long)row->min,
                            (long long)row->max);
    case OPTION_NUMBER:
        if (!bounded(row))
            return "a number";
        return arena_printf(arena, "a number from %lld to %lld", (long long)row->min,
                            (long long)row->max);
    case OPTION_DURATION:
        if (!bounded(row))
            return "a duration such as 1m30s";
        return arena_printf(arena, "a duration from %s to %s",
                            duration_format(row->min * 1000000, low),
                            duration_format(row->max * 1000000, high));
    default:
        for (const char *const *choice = row->choices; choice && *choice; choice++)
            list = arena_printf(arena, "%s%s%s", list, *list ? ", " : "", *choice);
        return arena_printf(arena, "one of %s", list);
    }
}

static enum err unfit(struct reading *r, const struct option_row *row, const char *source,
                      const char *text)
{
    const char *want = expected(r->arena, row);
    if (row->secret)
        return err_set(r->ei, ERR_INVALID, "%s: expected %s", source, want);
    return err_set(r->ei, ERR_INVALID, "%s: expected %s, found \"%.*s\"", source, want, shown(text),
                   text);
}

static void store_default(struct arena *arena, const struct option_row *row)
{
    static const char *const nothing[] = {
        [OPTION_INT] = "0",    [OPTION_BOOL] = "false", [OPTION_DURATION] = "0",
        [OPTION_NUMBER] = "0", [OPTION_LIST] = "",      [OPTION_IGNORED] = ""};
    if (row->type == OPTION_STRING && !row->value) {
        *(const char **)row->at = NULL;
        return;
    }
    struct option_row free_row = *row;
    free_row.max = free_row.min; /* a default such as 0 for "none" may lie outside the range */
    bool fits = store(arena, &free_row, row->value ? row->value : nothing[row->type]);
    assert(fits && "the table's own default must parse");
    (void)fits;
}

static enum err store_row(struct reading *r, size_t index, char **environment)
{
    const struct option_row *row = &r->program->rows[index];
    if (row->type == OPTION_IGNORED)
        return ERR_OK;
    store_default(r->arena, row);
    const char *flag = r->given[index];
    const char *variable = from_environment(environment, row->env);
    if (variable && (!flag || row->env_wins)) {
        if (!store(r->arena, row, variable))
            return unfit(r, row, row->env, variable);
    } else if (flag && !store(r->arena, row, flag)) {
        return unfit(r, row, arena_printf(r->arena, "--%s", row->name), flag);
    }
    return ERR_OK;
}

static enum err read_all(struct reading *r, char **environment)
{
    r->count = count_rows(r->program->rows);
    r->given = arena_array(r->arena, r->count, sizeof(*r->given));
    r->next = r->argc > 0;
    enum err err = read_words(r);
    if (r->asked != ASKED_NOTHING)
        return ERR_CANCELLED;
    for (size_t i = 0; err == ERR_OK && i < r->count; i++)
        err = store_row(r, i, environment);
    return err;
}

enum err option_read(const struct option_program *program, struct arena *arena, int argc,
                     char **argv, char **environment, int *first_argument, struct errinfo *ei)
{
    struct reading r = {.program = program, .arena = arena, .argc = argc, .argv = argv, .ei = ei};
    enum err err = read_all(&r, environment);
    if (err == ERR_CANCELLED)
        return err_set(ei, err, "%s was asked for", r.asked == ASKED_HELP ? "--help" : "--version");
    *first_argument = r.next;
    return err;
}

static bool wants_color(void)
{
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(none && *none);
}

static _Noreturn void finish(struct arena *arena, int status)
{
    int flushed = fflush(stdout);
    arena_free(arena);
    exit(flushed == 0 ? status : 1);
}

static void warn_ignored(const struct reading *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct option_row *row = &r->program->rows[i];
        if (r->given[i] && row->type == OPTION_IGNORED)
            log_warn("option_ignored", NULL, "this flag has no effect", LOG_STR("flag", row->name),
                     LOG_STR("why", row->help));
    }
}

int option_parse(const struct option_program *program, struct arena *arena, int argc, char **argv)
{
    struct errinfo ei = {0};
    struct reading r = {.program = program, .arena = arena, .argc = argc, .argv = argv, .ei = &ei};
    enum err err = read_all(&r, environ);
    if (r.asked == ASKED_HELP) {
        fputs(option_help(program, arena, wants_color()), stdout);
        finish(arena, 0);
    }
    if (r.asked == ASKED_VERSION) {
        printf("%s %s\n", program->name, FLAGGER_VERSION);
        finish(arena, 0);
    }
    if (err != ERR_OK) {
        fprintf(stderr, "%s: %s\n", program->name, ei.text);
        finish(arena, 2);
    }
    warn_ignored(&r);
    return r.next;
}

const char *const *option_split(struct arena *arena, const char *text)
{
    size_t commas = 0;

    for (const char *c = text ? text : ""; *c; c++)
        commas += *c == ',';
    const char **parts = arena_array(arena, commas + 2, sizeof(*parts));
    size_t n = 0;
    while (text && *text) {
        text += strspn(text, " ");
        size_t len = strcspn(text, ","), kept = len;
        while (kept > 0 && text[kept - 1] == ' ')
            kept--;
        if (kept > 0)
            parts[n++] = arena_strndup(arena, text, kept);
        text += len + (text[len] == ',');
    }
    return parts;
}

void option_parse_daemon(const struct option_program *program, struct arena *arena, int argc,
                         char **argv, const char *const *log_level)
{
    process_hide();
    (void)process_raise_files();
    (void)option_parse(program, arena, argc, argv);
    log_set_level(*log_level);
    log_start();
}
