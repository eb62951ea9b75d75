/*
 * One table of options gives a program its flags, its environment variables, its --help and its
 * error messages.
 *
 *     static struct options { int64_t port; const char *database; bool verbose; } opt;
 *     static const struct option_row rows[] = {
 *         OPTION(INT, "port", &opt.port, .value = "8080", .max = 65535, .arg = "PORT",
 *                .help = "port to listen on; 0 takes a free one"),
 *         OPTION(STRING, "database", &opt.database, .env = "DATABASE_URL", .arg = "DSN",
 *                .help = "PostgreSQL connection string or URL", .secret = true),
 *         {0}};
 *
 * Flags are -name value, --name value, --name=value; a bool may stand alone, or be --name=false
 * (Go's flag package accepts the same, and Flagger's manifests rely on it). Precedence: environment
 * over default, flag over environment, unless env_wins (Flagger's SLACK_URL and its kind). An
 * unknown flag, a missing or unfit value is one sentence on stderr with the nearest known name,
 * exit status 2.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum option_type {
    OPTION_STRING,   /* const char *  */
    OPTION_LIST,     /* const char *const *, NULL-ended: each time the flag is given adds one */
    OPTION_INT,      /* int64_t, within min..max when max > min */
    OPTION_BOOL,     /* bool */
    OPTION_DURATION, /* int64_t milliseconds, Go text */
    OPTION_NUMBER,   /* double */
    OPTION_IGNORED,  /* takes a value when arg is set; accepted so that old manifests start, with a
                        warning that says it has no effect (help why) */
};

struct option_row {
    const char *name;
    const char *env;            /* environment variable, or NULL */
    const char *value;          /* default as text, or NULL for empty/0/false */
    const char *arg;            /* what --help calls the value, e.g. "URL" */
    const char *help;           /* one sentence, no full stop */
    const char *group;          /* heading in --help; rows of a group stand together */
    const char *const *choices; /* NULL-ended list of allowed strings, or NULL */
    void *at;
    int64_t min, max;
    enum option_type type;
    bool secret;   /* its value is never printed */
    bool env_wins; /* the environment beats the flag, as Flagger's does */
};

/* A row; further members stand behind with their names. */
#define OPTION(type_, name_, at_, ...)                                                             \
    {                                                                                              \
        .type = OPTION_##type_, .name = (name_), .at = (at_), __VA_ARGS__                          \
    }

struct option_program {
    const char *name;     /* "flagger-gate" */
    const char *summary;  /* one line: what it is for */
    const char *synopsis; /* e.g. "[OPTION...] COMMAND [ARG...]" */
    const char *before;   /* paragraphs in front of the options; may be NULL */
    const char *details;  /* paragraphs after the options: examples, files, signals; may be NULL */
    int width;            /* of a line of --help; 0: 100 */
    const struct option_row *rows; /* ends with a row without name */
    bool takes_arguments;          /* non-flag arguments are allowed */
};

/*
 * Fills the variables; strings live in the arena. Prints and exits for --help (0), --version (0,
 * "NAME VERSION") and mistakes (2). Returns the index of the first non-flag argument (argc if
 * none). "--" ends the flags.
 */
int option_parse(const struct option_program *program, struct arena *arena, int argc, char **argv);

/* The same without printing or exiting, for tests: ERR_INVALID with the sentence, ERR_CANCELLED for
 * --help and --version. environment is a NULL-ended list of "NAME=value", or NULL; an empty value
 * counts as unset. */
enum err option_read(const struct option_program *program, struct arena *arena, int argc,
                     char **argv, char **environment, int *first_argument,
                     struct errinfo *ei) MUST_USE;
/* The --help text, owned by the arena; color adds SGR bold for headings and
 * flags. */
const char *option_help(const struct option_program *program, struct arena *arena, bool color);

/* The parts of a comma-separated list, blanks around them dropped, empty ones left out; NULL-ended,
 * owned by the arena. text NULL is an empty list. */
const char *const *option_split(struct arena *arena, const char *text);

#endif
