/* flagger-linearizability: asks gates as many clients would, and checks what was recorded; see test/linearizability/run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/option.h"
#include "linearizability/clients.h"
#include "linearizability/order.h"
#include "linearizability/rows.h"

static struct {
    const char *gates, *people, *record, *check, *rows, *lie;
    int64_t clients, seconds, pause, seed, first;
} opt;

enum { MAX_BYTES = 1 << 30 };

static const char *const lies[] = {
    [LIE_NONE] = "none", [LIE_STALE] = "stale", [LIE_LOST] = "lost", [LIE_DOUBLE] = "double", NULL};

static const struct option_row rows[] = {
    OPTION(STRING, "gates", &opt.gates, .arg = "URL,URL...",
           .help = "base URLs of the gates to ask"),
    OPTION(STRING, "people", &opt.people, .arg = "NAME=TOKEN,...", .help = "who the clients are"),
    OPTION(STRING, "record", &opt.record, .arg = "FILE", .help = "the history is appended to it"),
    OPTION(INT, "clients", &opt.clients, .value = "50", .min = 1, .max = 60, .arg = "N",
           .help = "how many ask at once"),
    OPTION(INT, "seconds", &opt.seconds, .value = "5", .min = 1, .max = 100000, .arg = "N",
           .help = "how long"),
    OPTION(INT, "pause", &opt.pause, .value = "20", .min = 0, .max = 10000, .arg = "MS",
           .help = "the longest a client rests between two requests, in milliseconds"),
    OPTION(INT, "seed", &opt.seed, .value = "1", .min = 1, .max = INT32_MAX, .arg = "N",
           .help = "what is asked follows from it; when does not"),
    OPTION(INT, "first", &opt.first, .value = "1", .min = 1, .max = INT64_MAX, .arg = "N",
           .help = "number of the first change; their numbers must differ over all runs"),
    OPTION(STRING, "lie", &opt.lie, .value = "none", .choices = lies, .arg = "KIND",
           .help = "what the clients make up, to see that it is found"),
    OPTION(STRING, "check", &opt.check, .arg = "FILE",
           .help = "asks nobody, but checks this history"),
    OPTION(STRING, "rows", &opt.rows, .arg = "FILE",
           .help =
               "with --check: what the database's own history says, a line \"SEQ GATE ACTION WHO "
               "REASON\" each"),
    {0},
};

static const struct option_program program = {
    .name = "flagger-linearizability",
    .summary =
        "Asks gates as many clients would, and checks that what they answered is linearizable.",
    .synopsis = "[OPTION...]",
    .details = "test/linearizability/run starts the gates, kills them meanwhile, and gives what "
               "was recorded to "
               "--check.\nThe exit status is 1 when the history breaks a rule.",
    .rows = rows,
};

static int run(struct arena *arena)
{
    FILE *out = opt.record ? fopen(opt.record, "a") : NULL;
    if (!opt.gates || !out) {
        fprintf(
            stderr,
            "flagger-linearizability: expected --gates and --record FILE that can be written\n");
        return 2;
    }
    struct clients_options options = {.urls = option_split(arena, opt.gates),
                                      .tokens = option_split(arena, opt.people),
                                      .out = out,
                                      .count = opt.clients,
                                      .seconds = opt.seconds,
                                      .pause_ms = opt.pause,
                                      .seed = (uint64_t)opt.seed,
                                      .first_id = opt.first};
    while (strcmp(lies[options.lie], opt.lie) != 0)
        options.lie++;
    struct clients_result result = clients_run(&options);
    if (fclose(out) != 0) {
        fprintf(stderr, "flagger-linearizability: %s: %s\n", opt.record, strerror(errno));
        return 2;
    }
    return result.wrong > 0 ? 1 : 0;
}

static char *read_text(struct arena *arena, const char *path)
{
    struct errinfo ei;
    char *text;
    if (file_read(arena, path, MAX_BYTES, &text, NULL, &ei) == ERR_OK)
        return text;
    fprintf(stderr, "flagger-linearizability: %s\n", ei.text);
    return NULL;
}

static struct order_result check_gates(const struct history *history, const char *what)
{
    struct order_result sum = {0};
    for (size_t i = 0; i < history->n_gates; i++) {
        struct order_result result =
            order_check(&history->gates[i], history->barriers, history->n_barriers, stdout);
        sum.violations += result.violations;
        sum.gave_up += result.gave_up;
        sum.widest = result.widest > sum.widest ? result.widest : sum.widest;
    }
    printf("%s: at most %zu explanations at once, violations: %zu%s\n", what, sum.widest,
           sum.violations, sum.gave_up ? ", NOT ALL COULD BE FOLLOWED" : "");
    return sum;
}

static int check(struct arena *arena)
{
    struct history history;
    struct errinfo ei;
    size_t wrong = 0, n_rows;
    char *text = read_text(arena, opt.check),
         *row_text = opt.rows ? read_text(arena, opt.rows) : "";
    if (!text || !row_text)
        return 2;
    if (history_read(arena, text, &history, &ei) != ERR_OK) {
        fprintf(stderr, "flagger-linearizability: %s: %s\n", opt.check, ei.text);
        return 2;
    }
    printf("%zu operations on %zu gates, %zu of unknown outcome\n", history.n_ops, history.n_gates,
           history.n_unknown);
    struct order_result seen = check_gates(&history, "as the clients saw it");
    wrong = seen.violations + seen.gave_up;
    if (opt.rows) {
        size_t apart = rows_join(arena, row_text, &history, &n_rows, stdout);
        printf("%zu rows in the database's history, disagreements: %zu\n", n_rows, apart);
        struct order_result told = check_gates(&history, "in the order of the database's history");
        wrong += apart + told.violations + told.gave_up;
    }
    printf("violations: %zu\n", wrong);
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    option_parse(&program, arena, argc, argv);
    log_set_level("error");
    int status = opt.check ? check(arena) : run(arena);
    arena_free(arena);
    return status;
}
