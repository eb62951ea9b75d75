#include <string.h>

#include "base/option.h"
#include "base/utf8.h"
#include "test/unit.h"

static const char *const levels[] = {"debug", "info", "warn", NULL};
static const struct option_row rows[] = {
    OPTION(INT, "port", NULL, .value = "8080", .arg = "PORT", .group = "Server",
           .help = "port to listen on"),
    OPTION(STRING, "log-level", NULL, .env = "LOG_LEVEL", .value = "info", .arg = "LEVEL",
           .group = "Log", .choices = levels, .help = "least severe line that is logged"),
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
static const struct option_program program = {
    .name = "flagger-x",
    .summary = "does x",
    .synopsis = "[OPTION...] FILE",
    .rows = rows,
    .details = "Signals: TERM ends it.\n\nExample:\n  flagger-x --port 1\n"};

CASE(help_is_as_it_should_look)
{
    assert_string_equal(option_help(&program, arena, false),
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
    for (const char *line = option_help(&program, arena, false); *line;) {
        size_t len = strcspn(line, "\n");
        assert_in_range(utf8_count(line, len), 0, 100);
        assert_true(len == 0 || line[len - 1] != ' ');
        line += len + 1;
    }
}

CASE(color_changes_nothing_else)
{
    const char *bold = option_help(&program, arena, true);
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
    assert_string_equal(plain, option_help(&program, arena, false));
    assert_int_equal(on, off);
    assert_true(on > 10);
    assert_null(strchr(option_help(&program, arena, false), '\033'));
}

CASE(paragraphs_in_front_and_a_narrow_terminal)
{
    struct option_program narrow = program;
    narrow.before = "Commands\n  get  shows it";
    narrow.width = 43;
    const char *text = option_help(&narrow, arena, false);
    const char *before = strstr(text, "\nCommands\n  get  shows it\n\nServer\n");

    assert_non_null(before);
    assert_true(before > strstr(text, "Usage"));
    assert_non_null(strstr(text, "\n  --timeout VALUE      how long a request\n"
                                 "                       may take before it\n"));
}
