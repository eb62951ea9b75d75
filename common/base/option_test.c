#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/option.h"
#include "test/unit.h"

static struct {
    int64_t port, interval, level_count;
    double ratio;
    const char *database, *level, *slack;
    const char *const *files;
    bool verbose, leader;
} opt;

static const char *const levels[] = {"debug", "info", NULL};
static const struct option_row rows[] = {
    OPTION(INT, "port", &opt.port, .env = "PORT", .value = "8080", .min = 0, .max = 65535,
           .arg = "PORT", .help = "port to listen on"),
    OPTION(INT, "count", &opt.level_count, .help = "how many"),
    OPTION(STRING, "database", &opt.database, .env = "DATABASE_URL", .arg = "DSN", .secret = true),
    OPTION(STRING, "log-level", &opt.level, .env = "LEVEL", .value = "info", .choices = levels),
    OPTION(STRING, "slack-url", &opt.slack, .env = "SLACK_URL", .env_wins = true),
    OPTION(DURATION, "interval", &opt.interval, .value = "10s", .min = 1000, .max = 3600000),
    OPTION(NUMBER, "ratio", &opt.ratio, .value = "0.5", .min = 0, .max = 1),
    OPTION(BOOL, "verbose", &opt.verbose),
    OPTION(LIST, "file", &opt.files, .arg = "FILE"),
    OPTION(BOOL, "leader", &opt.leader, .env = "LEADER", .value = "true"),
    OPTION(IGNORED, "old-flag", NULL, .help = "nothing needs it any more"),
    OPTION(IGNORED, "old-value", NULL, .arg = "X", .help = "nothing needs it any more"),
    {0},
};
static const struct option_program program = {.name = "prog", .summary = "tests", .rows = rows};
static const struct option_program with_arguments = {
    .name = "prog", .rows = rows, .takes_arguments = true};

enum { MAX_WORDS = 8 };

static int count(const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

static enum err read_words(struct arena *arena, const struct option_program *p,
                           const char *const *words, const char *const *environment, int *first,
                           struct errinfo *ei)
{
    char **argv = arena_array(arena, MAX_WORDS + 2, sizeof(*argv)),
         **env = arena_array(arena, MAX_WORDS + 1, sizeof(*env));
    argv[0] = arena_strdup(arena, "prog");
    for (int i = 0; words[i]; i++)
        argv[i + 1] = arena_strdup(arena, words[i]);
    for (int i = 0; environment[i]; i++)
        env[i] = arena_strdup(arena, environment[i]);
    memset(&opt, 0xee, sizeof(opt));
    return option_read(p, arena, count(words) + 1, argv, env, first, ei);
}

CASE(defaults_stand_alone)
{
    struct errinfo ei;
    int first;
    assert_int_equal(read_words(arena, &program, (const char *[]){NULL},
                                (const char *[]){"OTHER=1", NULL}, &first, &ei),
                     ERR_OK);
    assert_int_equal(first, 1);
    assert_int_equal(opt.port, 8080);
    assert_int_equal(opt.level_count, 0);
    assert_null(opt.database);
    assert_string_equal(opt.level, "info");
    assert_int_equal(opt.interval, 10000);
    assert_true(opt.ratio == 0.5);
    assert_false(opt.verbose);
    assert_true(opt.leader);
    memset(&opt, 0, sizeof(opt));
    assert_int_equal(option_read(&program, arena, 0, NULL, NULL, &first, &ei), ERR_OK);
    assert_int_equal(opt.port, 8080);
}

CASE(flags_have_gos_forms)
{
    static const char *const forms[][MAX_WORDS] = {
        {"--port", "1", "--database", "d", "--verbose", "--leader=false", "--interval=1m30s"},
        {"-port=1", "-database=d", "-verbose=true", "-leader=0", "-interval", "90s"},
        {"-port", "2", "--port=1", "--database=x", "--database", "d", "--verbose=T", "--leader=F"},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct errinfo ei;
        int first;
        const char *words[MAX_WORDS + 1] = {0};
        memcpy(words, forms[i], sizeof(forms[i]));
        assert_int_equal(read_words(arena, &program, words, (const char *[]){NULL}, &first, &ei),
                         ERR_OK);
        assert_int_equal(opt.port, 1);
        assert_string_equal(opt.database, "d");
        assert_true(opt.verbose);
        assert_false(opt.leader);
        assert_int_equal(opt.interval, i == 2 ? 10000 : 90000);
        assert_int_equal(first, count(words) + 1);
    }
}

CASE(flag_beats_environment_beats_default)
{
    struct errinfo ei;
    int first;
    static const char *const environment[] = {"PORT=7",       "DATABASE_URL=env", "SLACK_URL=env",
                                              "LEADER=false", "LEVEL=",           NULL};
    assert_int_equal(read_words(arena, &program, (const char *[]){NULL}, environment, &first, &ei),
                     ERR_OK);
    assert_int_equal(opt.port, 7);
    assert_string_equal(opt.database, "env");
    assert_string_equal(opt.slack, "env");
    assert_string_equal(opt.level, "info"); /* empty counts as unset */
    assert_false(opt.leader);
    assert_int_equal(
        read_words(arena, &program,
                   (const char *[]){"--port=9", "--database=flag", "--slack-url=flag", NULL},
                   environment, &first, &ei),
        ERR_OK);
    assert_int_equal(opt.port, 9);
    assert_string_equal(opt.database, "flag");
    assert_string_equal(opt.slack, "env"); /* env_wins */
    assert_int_equal(read_words(arena, &program, (const char *[]){"--slack-url=flag", NULL},
                                (const char *[]){NULL}, &first, &ei),
                     ERR_OK);
    assert_string_equal(opt.slack, "flag");
}

CASE(mistakes_are_one_sentence)
{
    static const struct {
        const char *words[3], *environment[2], *error;
    } cases[] = {
        {{"--prot", "1"}, {0}, "unknown flag --prot; did you mean --port?"},
        {{"-PORT=1"}, {0}, "unknown flag --PORT; did you mean --port?"},
        {{"--log_level=info"}, {0}, "unknown flag --log_level; did you mean --log-level?"},
        {{"--data"}, {0}, "unknown flag --data; did you mean --database?"},
        {{"--frobnicate"}, {0}, "unknown flag --frobnicate; see --help for the known ones"},
        {{"--=1"}, {0}, "unknown flag --; see --help for the known ones"},
        {{"--port"}, {0}, "--port needs a value: --port PORT"},
        {{"--database", "--port"}, {0}, "--database needs a value: --database DSN"},
        {{"--port="}, {0}, "--port: expected a whole number from 0 to 65535, found \"\""},
        {{"--port=65536"}, {0}, "--port: expected a whole number from 0 to 65535, found \"65536\""},
        {{"--port", "-1"}, {0}, "--port: expected a whole number from 0 to 65535, found \"-1\""},
        {{"--port", "1x"}, {0}, "--port: expected a whole number from 0 to 65535, found \"1x\""},
        {{"--count=99999999999999999999"},
         {0},
         "--count: expected a whole number, found \"99999999999999999999\""},
        {{"--log-level=loud"}, {0}, "--log-level: expected one of debug, info, found \"loud\""},
        {{"--interval=5"}, {0}, "--interval: expected a duration from 1s to 1h0m0s, found \"5\""},
        {{"--interval=2h"}, {0}, "--interval: expected a duration from 1s to 1h0m0s, found \"2h\""},
        {{"--ratio=nan"}, {0}, "--ratio: expected a number from 0 to 1, found \"nan\""},
        {{"--ratio=1.5"}, {0}, "--ratio: expected a number from 0 to 1, found \"1.5\""},
        {{"--verbose=yes"}, {0}, "--verbose: expected true or false, found \"yes\""},
        {{"stray"}, {0}, "unexpected argument \"stray\"; flags begin with --"},
        {{"--verbose", "false"}, {0}, "unexpected argument \"false\"; flags begin with --"},
        {{"--", "x"}, {0}, "unexpected argument \"x\"; flags begin with --"},
        {{0}, {"PORT=x"}, "PORT: expected a whole number from 0 to 65535, found \"x\""},
    };
    EACH_ROW (row, cases) {
        struct errinfo ei = {0};
        int first;
        assert_int_equal(read_words(arena, &program, row->words, row->environment, &first, &ei),
                         ERR_INVALID);
        assert_string_equal(ei.text, row->error);
    }
}

CASE(secrets_are_not_repeated)
{
    static int64_t pin;
    static const struct option_row secret_rows[] = {
        OPTION(INT, "pin", &pin, .env = "PIN", .secret = true), {0}};
    static const struct option_program secret = {.name = "prog", .rows = secret_rows};
    struct errinfo ei;
    int first;
    assert_int_equal(read_words(arena, &secret, (const char *[]){"--pin=hunter2", NULL},
                                (const char *[]){NULL}, &first, &ei),
                     ERR_INVALID);
    assert_string_equal(ei.text, "--pin: expected a whole number");
}

CASE(arguments_follow_the_flags)
{
    static const struct {
        const char *words[5];
        int first;
    } cases[] = {
        {{"--verbose", "cmd", "--port=x"}, 2}, /* the rest belongs to cmd */
        {{"--", "--port"}, 2},
        {{"-", "a"}, 1},
        {{"--port", "1"}, 3},
        {{0}, 1},
    };
    EACH_ROW (row, cases) {
        struct errinfo ei;
        int first = -1;
        assert_int_equal(
            read_words(arena, &with_arguments, row->words, (const char *[]){NULL}, &first, &ei),
            ERR_OK);
        assert_int_equal(first, row->first);
    }
}

CASE(help_and_version_are_told)
{
    static const char *const asking[] = {"--help", "-h", "-help", "--version"};
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
        struct errinfo ei;
        int first;
        /* Works even next to an invalid value: values are checked last. */
        assert_int_equal(read_words(arena, &program, (const char *[]){"--port=x", asking[i], NULL},
                                    (const char *[]){NULL}, &first, &ei),
                         ERR_CANCELLED);
        assert_string_equal(ei.text, i < 3 ? "--help was asked for" : "--version was asked for");
    }
}

/* Runs option_parse() in its own process. */
static int run(struct arena *arena, const char *word, const char *second, char **out, char **err)
{
    FILE *files[2] = {tmpfile(), tmpfile()};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(files[0]), STDOUT_FILENO);
        dup2(fileno(files[1]), STDERR_FILENO);
        char *argv[] = {arena_strdup(arena, "prog"), arena_strdup(arena, word),
                        arena_strdup(arena, second), NULL};
        int index = option_parse(&program, arena, second ? 3 : 2, argv);
        arena_free(arena);
        _exit(100 + index);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    char **texts[2] = {out, err};
    for (size_t i = 0; i < 2; i++) {
        *texts[i] = arena_alloc(arena, 20001);
        assert_true(pread(fileno(files[i]), *texts[i], 20000, 0) >= 0);
        fclose(files[i]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

CASE(the_process_ends_as_it_should)
{
    char *out, *err;
    assert_int_equal(run(arena, "--help", NULL, &out, &err), 0);
    assert_string_equal(out, option_help(&program, arena, false));
    assert_string_equal(err, "");
    assert_int_equal(run(arena, "--version", NULL, &out, &err), 0);
    assert_string_equal(out, "prog " FLAGGER_VERSION "\n");
    assert_int_equal(run(arena, "--prot=1", NULL, &out, &err), 2);
    assert_string_equal(out, "");
    assert_string_equal(err, "prog: unknown flag --prot; did you mean --port?\n");
    assert_int_equal(run(arena, "--old-flag", "--old-value=7", &out, &err), 103);
    assert_non_null(strstr(err, "\"event\":\"option_ignored\""));
    assert_non_null(strstr(err, "\"flag\":\"old-flag\""));
    assert_non_null(strstr(err, "\"flag\":\"old-value\""));
}

CASE(a_list_has_each_value_of_its_flag)
{
    static const char *const none[] = {NULL};
    static const char *const given[] = {"--file", "a b,c", "--port=1", "--file=b", "--file=", NULL};
    struct errinfo ei;
    int first;

    assert_int_equal(read_words(arena, &program, given, none, &first, &ei), ERR_OK);
    assert_int_equal(count(opt.files), 2);
    assert_string_equal(opt.files[0], "a b,c");
    assert_string_equal(opt.files[1], "b");
    assert_int_equal(read_words(arena, &program, none, none, &first, &ei), ERR_OK);
    assert_int_equal(count(opt.files), 0);
}

static const char *const levels_help[] = {"debug", "info", "warn", NULL};
static const struct option_row rows_help[] = {
    OPTION(INT, "port", NULL, .value = "8080", .arg = "PORT", .group = "Server",
           .help = "port to listen on"),
    OPTION(STRING, "log-level", NULL, .env = "LOG_LEVEL", .value = "info", .arg = "LEVEL",
           .group = "Log", .choices = levels_help, .help = "least severe line that is logged"),
    OPTION(DURATION, "timeout", NULL, .value = "30s", .group = "Server",
           .help =
               "how long a request may take before it is answered with 503, which tells the caller "
               "to come back later"),
    OPTION(STRING, "a-flag-whose-name-is-far-too-long-for-the-column", NULL, .arg = "X",
           .group = "Server", .help = "stands on a line of its own"),
    OPTION(STRING, "slack-url", NULL, .env = "SLACK_URL", .value = "http://s", .arg = "URL",
           .secret = true, .env_wins = true, .help = "where alerts go"),
    OPTION(BOOL, "verbose", NULL, .value = "false", .help = "more"),
    OPTION(BOOL, "leader", NULL, .value = "true", .help = "elect one"),
    OPTION(IGNORED, "zap-encoding", NULL, .arg = "NAME", .help = "log lines are JSON"),
    {0},
};
static const struct option_program program_help = {
    .name = "flagger-x",
    .summary = "does x",
    .synopsis = "[OPTION...] FILE",
    .rows = rows_help,
    .details = "Signals: TERM ends it.\n\nExample:\n  flagger-x --port 1\n"};

CASE(help_is_as_it_should_look)
{
    assert_string_equal(option_help(&program_help, arena, false),
                        "flagger-x: does x\n"
                        "\n"
                        "Usage\n"
                        "  flagger-x [OPTION...] FILE\n"
                        "\n"
                        "Server\n"
                        "  --port PORT          port to listen on (default: 8080)\n"
                        "  --timeout VALUE      how long a request may take before it is answered "
                        "with 503, which tells the\n"
                        "                       caller to come back later (default: 30s)\n"
                        "  --a-flag-whose-name-is-far-too-long-for-the-column X\n"
                        "                       stands on a line of its own\n"
                        "\n"
                        "Log\n"
                        "  --log-level LEVEL    least severe line that is logged: debug, info or "
                        "warn (default: info;\n"
                        "                       environment: LOG_LEVEL)\n"
                        "\n"
                        "Options\n"
                        "  --slack-url URL      where alerts go (environment: SLACK_URL, which "
                        "wins over the flag)\n"
                        "  --verbose            more\n"
                        "  --leader             elect one (default: true)\n"
                        "\n"
                        "Help\n"
                        "  --help               show this text\n"
                        "  --version            show the version\n"
                        "\n"
                        "Accepted so that existing manifests start, without effect\n"
                        "  --zap-encoding NAME  log lines are JSON\n"
                        "\n"
                        "Signals: TERM ends it.\n"
                        "\n"
                        "Example:\n"
                        "  flagger-x --port 1\n");
}

CASE(no_line_is_too_wide_or_ends_in_blanks)
{
    for (const char *line = option_help(&program_help, arena, false); *line;) {
        size_t len = strcspn(line, "\n");
        assert_in_range(utf8_count(line, len), 0, 100);
        assert_true(len == 0 || line[len - 1] != ' ');
        line += len + 1;
    }
}

CASE(color_changes_nothing_else)
{
    const char *bold = option_help(&program_help, arena, true);
    char *plain = arena_alloc(arena, strlen(bold) + 1), *at = plain;
    size_t on = 0, off = 0;
    while (*bold) {
        if (strncmp(bold, "\033[1m", 4) == 0) {
            on++;
            bold += 4;
        } else if (strncmp(bold, "\033[0m", 4) == 0) {
            off++;
            bold += 4;
        } else {
            *at++ = *bold++;
        }
    }
    assert_string_equal(plain, option_help(&program_help, arena, false));
    assert_int_equal(on, off);
    assert_true(on > 10);
    assert_null(strchr(option_help(&program_help, arena, false), '\033'));
}

CASE(paragraphs_in_front_and_a_narrow_terminal)
{
    struct option_program narrow = program_help;
    narrow.before = "Commands\n  get  shows it";
    narrow.width = 43;
    const char *text = option_help(&narrow, arena, false);
    const char *before = strstr(text, "\nCommands\n  get  shows it\n\nServer\n");

    assert_non_null(before);
    assert_true(before > strstr(text, "Usage"));
    assert_non_null(strstr(text, "\n  --timeout VALUE      how long a request\n"
                                 "                       may take before it\n"));
}
