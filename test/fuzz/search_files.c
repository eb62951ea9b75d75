/*
 * A search for a crash and a false word of lint and plan: whole files are changed at random
 * (mutate.h), and lint, plan and the server with the rules (answers.h) are asked about each.
 *
 *     search_files [--rounds N] [--minutes N] [--seed N] [--crds FOLDER] [--keep FOLDER] PATH...
 *
 * A path is a file or a folder, whose files .yaml in it and below are taken. Without --minutes each
 * file is changed N times (10); the unchanged files are asked about first. The same seed makes the
 * same changes. A finding is printed once per kind of it, and its file is kept in FOLDER. A process
 * of its own tries the files, so that one that dies is reported with what was changed.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "base/file.h"
#include "base/log.h"
#include "base/yaml.h"
#include "mutate.h"

enum { LARGEST = 1024 * 1024, MOST_FILES = 2000, SECONDS = 60, KINDS = 256, KIND_LEN = 160 };

static struct options {
    long rounds, minutes;
    unsigned long seed;
    const char *crds, *keep;
} options = {.rounds = 10, .seed = 1, .crds = "test/data/crds"};

/* Shared with the process that tries the files. */
struct report {
    char changes[2048]; /* of the file that is tried */
    long next;          /* the trial to go on with */
    long tried, parsed, taken, canaries, deaths, findings;
    int kinds;
    char kind[KINDS][KIND_LEN];
};
static struct report *report;

static struct file {
    const char *name, *text;
    struct json_object *docs; /* NULL: it is no YAML */
} files[MOST_FILES];
static long n_files;
static struct arena *arena_of_files;
static struct json_object *all_docs;

/* --- findings */

/* What is alike in findings of one kind: quoted texts, numbers and names differ. */
static void kind_of(const char *text, char *out)
{
    size_t n = 0;
    bool quoted = false;

    for (; *text && n + 1 < KIND_LEN; text++) {
        quoted ^= *text == '"';
        if (!quoted && !strchr("0123456789[]", *text))
            out[n++] = *text;
    }
    out[n] = '\0';
}

static bool is_new(const char *text)
{
    char kind[KIND_LEN];

    kind_of(text, kind);
    for (int i = 0; i < report->kinds; i++)
        if (strcmp(report->kind[i], kind) == 0)
            return false;
    if (report->kinds < KINDS)
        snprintf(report->kind[report->kinds++], KIND_LEN, "%s", kind);
    return true;
}

static void keep(long trial, const char *text)
{
    char *path = options.keep ? heap_printf("%s/%ld.yaml", options.keep, trial) : NULL;
    FILE *out = path ? fopen(path, "w") : NULL;

    if (out) {
        fputs(text, out);
        fclose(out);
    } else if (path) {
        perror(path);
    }
    free(path);
}

static void find(long trial, const char *file, const char *text, const char *what)
{
    report->findings++;
    if (!is_new(what))
        return;
    printf("%s: trial %ld: %s: %s\n", file, trial, report->changes, what);
    fflush(stdout);
    keep(trial, text);
}

/* --- trials */

static struct mutant mutant_of(struct arena *arena, long trial)
{
    const struct file *file = &files[trial % n_files];
    struct mutate_random random = {.state = options.seed * 1000003u + (unsigned long)trial};

    if (trial < n_files || !file->docs)
        return (struct mutant){.text = file->text, .changes = "unchanged"};
    (void)mutate_below(&random, 2);
    return mutate(arena, &random, file->text, file->docs, all_docs);
}

static void try_one(struct server *server, long trial)
{
    struct arena *arena = arena_new();
    struct mutant mutant = mutant_of(arena, trial);
    struct answers answers;

    snprintf(report->changes, sizeof(report->changes), "%s", mutant.changes);
    report->next = trial + 1;
    report->tried++;
    report->parsed += answers_of(server, arena, mutant.text, &answers);
    report->taken += !answers.server;
    report->canaries += answers.canaries;
    const char *what = answers_disagree(arena, &answers);
    if (what)
        find(trial, files[trial % n_files].name, mutant.text, what);
    arena_free(arena);
}

static bool is_over(long trial, time_t end)
{
    return end ? time(NULL) >= end : trial >= options.rounds * n_files;
}

/* The process ends by SIGPROF when a file takes more processor time; 0: none is counted. */
static void limit_seconds(long seconds)
{
    const struct itimerval limit = {.it_value.tv_sec = seconds};

    if (setitimer(ITIMER_PROF, &limit, NULL) != 0) {
        perror("setitimer");
        exit(3);
    }
}

static void try_from(long trial, time_t end)
{
    struct server *server = server_new(options.crds);

    for (; !is_over(trial, end); trial++) {
        limit_seconds(SECONDS);
        try_one(server, trial);
    }
    limit_seconds(0);
    server_free(server);
}

/* In a child, which is recreated behind each file that it dies of. */
static void try_all(void)
{
    time_t end = options.minutes > 0 ? time(NULL) + options.minutes * 60 : 0;
    int status = 0;

    while (!is_over(report->next, end)) {
        pid_t pid = fork();
        if (pid == 0) {
            try_from(report->next, end);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            perror("fork");
            exit(3);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
            exit(3);
        struct arena *arena = arena_new();
        report->deaths++;
        find(report->next - 1, files[(report->next - 1) % n_files].name,
             mutant_of(arena, report->next - 1).text,
             WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? "it does not end" : "it died");
        arena_free(arena);
    }
}

/* --- the files */

static bool is_yaml(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static int add_file(const char *path, const struct stat *at, int type)
{
    struct errinfo ei;
    char *text;
    size_t len;

    (void)at;
    if (type != FTW_F || !is_yaml(path) || n_files == MOST_FILES)
        return 0;
    if (file_read(arena_of_files, path, LARGEST, &text, &len, &ei) != ERR_OK)
        return 0;
    struct file *file = &files[n_files++];
    *file = (struct file){.name = arena_strdup(arena_of_files, path), .text = text};
    if (yaml_parse(arena_of_files, path, text, len, LARGEST, &file->docs, &ei) != ERR_OK)
        file->docs = NULL;
    for (size_t i = 0; file->docs && i < json_len(file->docs); i++)
        json_object_array_add(all_docs, json_object_get(json_elem(file->docs, i)));
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static void read_files(int argc, char **argv)
{
    arena_of_files = arena_new();
    all_docs = json_own(arena_of_files, json_object_new_array());
    for (int i = 0; i < argc; i++)
        if (ftw(argv[i], add_file, 16) != 0) {
            perror(argv[i]);
            exit(3);
        }
    qsort(files, (size_t)n_files, sizeof(*files), by_name);
}

static int usage(void)
{
    fputs("search_files [--rounds N] [--minutes N] [--seed N] [--crds FOLDER] [--keep FOLDER] "
          "PATH...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int at = 1;

    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--rounds") == 0)
            options.rounds = strtol(argv[at + 1], NULL, 10);
        else if (strcmp(argv[at], "--minutes") == 0)
            options.minutes = strtol(argv[at + 1], NULL, 10);
        else if (strcmp(argv[at], "--seed") == 0)
            options.seed = strtoul(argv[at + 1], NULL, 10);
        else if (strcmp(argv[at], "--crds") == 0)
            options.crds = argv[at + 1];
        else if (strcmp(argv[at], "--keep") == 0)
            options.keep = argv[at + 1];
        else
            return usage();
    }
    if (at >= argc || options.rounds < 1 || options.minutes < 0)
        return usage();
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        return 3;
    log_set_level("error");
    read_files(argc - at, argv + at);
    if (n_files == 0)
        return usage();
    try_all();
    printf("%ld files, %ld changed ones tried (%ld are YAML, %ld are taken by the server, %ld "
           "releases played), %ld died, %ld disagreements of %d kinds\n",
           n_files, report->tried, report->parsed, report->taken, report->canaries, report->deaths,
           report->findings, report->kinds);
    return report->tried > 0 && report->findings == 0 ? 0 : 1;
}
