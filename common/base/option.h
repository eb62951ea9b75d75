/*
 * Options of a program: one table for flags, environment variables, --help and error messages.
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
 * unknown flag and a missing or invalid value are reported in one sentence on stderr with the
 * nearest known name, exit status 2.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/log.h"

enum option_type {
    OPTION_STRING,   /* const char *  */
    OPTION_LIST,     /* const char *const *, NULL-ended: each use of the flag adds one */
    OPTION_INT,      /* int64_t, within min..max if max > min */
    OPTION_BOOL,     /* bool */
    OPTION_DURATION, /* int64_t milliseconds, Go text */
    OPTION_NUMBER,   /* double */
    OPTION_IGNORED,  /* takes a value if arg is set; accepted for old manifests, with a warning that
                      * it has no effect (help says why) */
};

struct option_row {
    const char *name;
    const char *env;            /* environment variable, or NULL */
    const char *value;          /* default as text, or NULL for empty/0/false */
    const char *arg;            /* name of the value in --help, e.g. "URL" */
    const char *help;           /* one sentence, no full stop */
    const char *group;          /* heading in --help */
    const char *const *choices; /* NULL-ended list of allowed strings, or NULL */
    void *at;
    int64_t min, max;
    enum option_type type;
    bool secret;   /* its value is never printed */
    bool env_wins; /* the environment overrides the flag, as in Flagger */
};

/* A row; further members follow by name. */
#define OPTION(type_, name_, at_, ...)                                                             \
    {                                                                                              \
        .type = OPTION_##type_, .name = (name_), .at = (at_), __VA_ARGS__                          \
    }

struct option_program {
    const char *name;     /* "flagger-gate" */
    const char *summary;  /* one line: its purpose */
    const char *synopsis; /* e.g. "[OPTION...] COMMAND [ARG...]" */
    const char *before;   /* paragraphs in front of the options; may be NULL */
    const char *details;  /* paragraphs after the options: examples, files, signals; may be NULL */
    int width;            /* width of --help lines; 0 means 100 */
    const struct option_row *rows; /* ends with a row without a name */
    bool takes_arguments;          /* non-flag arguments are allowed */
};

/*
 * Fills the variables; strings live in the arena. Prints and exits for --help (0), --version (0,
 * "NAME VERSION") and errors (2). Returns the index of the first non-flag argument (argc if none).
 * "--" ends the flags.
 */
int option_parse(const struct option_program *program, struct arena *arena, int argc, char **argv);

/* Starts a daemon: hides its memory from other processes of its user, raises the limit of open
 * files, parses the options, and begins to log at the level that they set. */
void option_parse_daemon(const struct option_program *program, struct arena *arena, int argc,
                         char **argv, const char *const *log_level);

/* The same without printing or exiting, for tests: ERR_INVALID with the error, ERR_CANCELLED for
 * --help and --version. environment is a NULL-ended list of "NAME=value", or NULL; an empty value
 * counts as unset. */
enum err option_read(const struct option_program *program, struct arena *arena, int argc,
                     char **argv, char **environment, int *first_argument,
                     struct errinfo *ei) MUST_USE;
/* The --help text, owned by the arena; color adds SGR bold for headings and
 * flags. */
const char *option_help(const struct option_program *program, struct arena *arena, bool color);

/* Splits a comma-separated list; trims items and drops empty ones. NULL-ended, owned by the arena.
 * text NULL is an empty list. */
const char *const *option_split(struct arena *arena, const char *text);

/*
 * Rows of options shared by several programs, with the same names and texts everywhere. A program
 * adds its default or group:
 *
 *     OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0"),
 */
#define OPTION_ROW_ADDRESS(at_, ...)                                                               \
    OPTION(STRING, "address", at_, .arg = "ADDRESS", .help = "address to listen on", ##__VA_ARGS__)

#define OPTION_ROW_LOG_LEVEL(at_, ...)                                                             \
    OPTION(STRING, "log-level", at_, .value = "info", .choices = log_level_names, .arg = "LEVEL",  \
           .help = "least severe level that is logged", ##__VA_ARGS__)

#define OPTION_ROW_TLS_CERT(at_, ...)                                                              \
    OPTION(STRING, "tls-cert", at_, .arg = "FILE",                                                 \
           .help = "certificate (PEM) to serve HTTPS with; read again, as all of these, when it "  \
                   "changes",                                                                      \
           ##__VA_ARGS__)
#define OPTION_ROW_TLS_KEY(at_, ...)                                                               \
    OPTION(STRING, "tls-key", at_, .arg = "FILE", .help = "its private key", ##__VA_ARGS__)

/* Options of Flagger's manifests. */
#define OPTION_ROWS_ZAP(...)                                                                       \
    OPTION(IGNORED, "zap-replace-globals", NULL,                                                   \
           .help =                                                                                 \
               "accepted for Flagger's manifests; has no effect: the log is always JSON lines",    \
           ##__VA_ARGS__),                                                                         \
        OPTION(IGNORED, "zap-encoding", NULL, .arg = "ENCODING",                                   \
               .help = "accepted for Flagger's manifests; has no effect: the log is always JSON "  \
                       "lines",                                                                    \
               ##__VA_ARGS__)

#endif
