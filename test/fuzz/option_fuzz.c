/* Arguments and environment: the input's lines are words; those behind an empty line are variables.
 */
#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "base/option.h"
#include "fuzz.h"

enum { MAX_WORDS = 32 };

static struct {
    int64_t port, interval;
    double ratio;
    const char *name, *level;
    bool verbose;
} opt;

static const char *const levels[] = {"debug", "info", NULL};
static const struct option_row rows[] = {
    OPTION(INT, "port", &opt.port, .env = "PORT", .value = "80", .min = 0, .max = 65535,
           .arg = "PORT"),
    OPTION(DURATION, "interval", &opt.interval, .value = "10s", .min = 1000, .max = 60000),
    OPTION(NUMBER, "ratio", &opt.ratio, .env = "RATIO", .value = "0.5", .min = 0, .max = 1),
    OPTION(STRING, "name", &opt.name, .env = "NAME", .env_wins = true),
    OPTION(STRING, "log-level", &opt.level, .env = "LEVEL", .value = "info", .choices = levels),
    OPTION(BOOL, "verbose", &opt.verbose, .env = "VERBOSE"),
    OPTION(IGNORED, "old", NULL, .arg = "X"),
    OPTION(IGNORED, "older", NULL),
    {0},
};

/* Cuts the next line out of the text. */
static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (end)
        *end = '\0';
    *at = end ? end + 1 : line + strlen(line);
    return line;
}

static void check_values(void)
{
    assert(opt.port >= 0 && opt.port <= 65535);
    assert(opt.interval >= 1000 && opt.interval <= 60000);
    assert(opt.ratio >= 0 && opt.ratio <= 1);
    assert(strcmp(opt.level, "debug") == 0 || strcmp(opt.level, "info") == 0);
}

FUZZ_TARGET(arena, data, size)
{
    static char program_name[] = "prog";
    char *argv[MAX_WORDS + 1] = {program_name}, *environment[MAX_WORDS + 1] = {0};
    char *at = arena_strndup(arena, (const char *)data, size);
    int argc = 1, variables = 0, first = -1;
    for (char *line; *at && argc < MAX_WORDS && (line = next_line(&at))[0];)
        argv[argc++] = line;
    while (*at && variables < MAX_WORDS)
        environment[variables++] = next_line(&at);

    struct option_program program = {
        .name = "prog", .rows = rows, .takes_arguments = size % 2 == 0};
    struct errinfo ei = {0};
    enum err err = option_read(&program, arena, argc, argv, environment, &first, &ei);
    if (err == ERR_OK) {
        assert(first >= 1 && first <= argc && (program.takes_arguments || first == argc));
        check_values();
    } else {
        assert(ei.text[0] != '\0');
    }
}
