/*
 * Whole files in which one thing is changed: each field and each element is taken away, doubled, and
 * replaced by values of every type, one at a time. `kubectl canary lint`, plan, objects and convert
 * read each such file, and lint reads the YAML that convert makes of it: they end, with a code that
 * their help names, and never with "(null)" in a text.
 *
 *     changed_files [--every N] FOLDER...
 *
 * Files run in processes of their own, so that one that dies is told with what was changed, and the
 * others go on. --every leaves out all but one change of N, others in each file.
 */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>

#include "base/file.h"
#include "base/log.h"
#include "base/yaml.h"
#include "ctl/ctl.h"

enum { LARGEST = 1024 * 1024, DEPTH = 40, SECONDS = 30, FAULTS = 20 };

/* Shared with the process that tries a file. */
struct report {
    char change[512]; /* the one that is tried */
    char command[16];
    int tried;
    int next; /* the change to go on with */
    int faults;
};
static struct report *report;
static int every = 1;

/* --- the places of a file, in order */

struct step {
    const char *key; /* NULL: an index */
    size_t index;
};

struct place {
    struct place *next;
    struct step steps[DEPTH];
    int depth;
};

struct places {
    struct arena *arena;
    struct place **last;
    struct step at[DEPTH];
};

static void add_places(struct places *places, struct json_object *json, int depth)
{
    if (depth > 0) {
        struct place *place = ARENA_NEW(places->arena, struct place);
        *place = (struct place){.depth = depth};
        memcpy(place->steps, places->at, sizeof(place->steps));
        *places->last = place;
        places->last = &place->next;
    }
    if (depth == DEPTH)
        return;
    if (json_object_is_type(json, json_type_array))
        for (size_t i = 0; i < json_len(json); i++) {
            places->at[depth] = (struct step){.index = i};
            add_places(places, json_elem(json, i), depth + 1);
        }
    if (!json_object_is_type(json, json_type_object))
        return;
    json_object_object_foreach(json, key, value)
    {
        places->at[depth] = (struct step){.key = key};
        add_places(places, value, depth + 1);
    }
}

static const char *place_text(struct arena *arena, const struct place *place)
{
    const char *text = "";

    for (int i = 0; i < place->depth; i++)
        text = place->steps[i].key ? arena_printf(arena, "%s.%s", text, place->steps[i].key)
                                   : arena_printf(arena, "%s[%zu]", text, place->steps[i].index);
    return text;
}

/* --- changes */

static const char *const values[] = {"null",
                                     "0",
                                     "-1",
                                     "4294967296",
                                     "1.5",
                                     "true",
                                     "\"\"",
                                     "\"x\"",
                                     "\"7\"",
                                     "\"-\"",
                                     "\"a b\\n: {\"",
                                     "[]",
                                     "[null]",
                                     "[\"x\"]",
                                     "{}",
                                     "{\"name\":\"x\"}",
                                     "@long"};
enum { TAKEN, DOUBLED, REPLACED, CHANGES = REPLACED + sizeof(values) / sizeof(values[0]) };

static struct json_object *value_of(const char *text)
{
    enum { LONG = 300 };
    char name[LONG + 1];

    if (strcmp(text, "@long") != 0)
        return json_tokener_parse(text);
    memset(name, 'a', LONG);
    name[LONG] = '\0';
    return json_object_new_string(name);
}

static void put(struct json_object *parent, const struct step *step, struct json_object *value)
{
    if (step->key)
        json_object_object_add(parent, step->key, value);
    else
        json_object_array_put_idx(parent, step->index, value);
}

/* A second one like it behind an element of a list; each element of a list twice; a field of an
 * object again below itself. */
static void put_twice(struct json_object *parent, const struct step *step,
                      struct json_object *value)
{
    if (!step->key)
        json_object_array_add(parent, json_dup(value));
    else if (json_object_is_type(value, json_type_array))
        for (size_t i = 0, n = json_len(value); i < n; i++)
            json_object_array_add(value, json_dup(json_elem(value, i)));
    else if (json_object_is_type(value, json_type_object))
        json_object_object_add(value, step->key, json_dup(value));
}

static struct json_object *changed(struct arena *arena, struct json_object *docs,
                                   const struct place *place, int change)
{
    struct json_object *copy = json_copy(arena, docs), *parent = copy;
    const struct step *last = &place->steps[place->depth - 1];

    for (const struct step *step = place->steps; step < last; step++)
        parent = step->key ? json_at(parent, step->key, NULL) : json_elem(parent, step->index);
    struct json_object *value =
        last->key ? json_at(parent, last->key, NULL) : json_elem(parent, last->index);
    if (change >= REPLACED)
        put(parent, last, value_of(values[change - REPLACED]));
    else if (change == DOUBLED)
        put_twice(parent, last, value);
    else if (last->key)
        json_object_object_del(parent, last->key);
    else
        json_object_array_del_idx(parent, last->index, 1);
    return copy;
}

static const char *change_name(struct arena *arena, const struct place *place, int change)
{
    const char *at = place_text(arena, place);

    if (change == TAKEN)
        return arena_printf(arena, "%s taken away", at);
    return change == DOUBLED ? arena_printf(arena, "%s doubled", at)
                             : arena_printf(arena, "%s: %s", at, values[change - REPLACED]);
}

/* --- the commands */

static void fault(const char *file, const char *what)
{
    report->faults++;
    printf("%s: %s: %s: %s\n", file, report->change, report->command, what);
    fflush(stdout);
}

/* flag: a further word, or NULL. Returns its output, in the arena. */
static const char *run_command(struct arena *keep, const char *file, const char *path,
                               const char *command, const char *flag)
{
    char *words[] = {"kubectl canary", NULL, NULL, NULL, NULL, NULL};
    char *text = NULL, *errors = NULL;
    size_t len = 0, errors_len = 0;
    int n = 1;
    struct arena *arena = arena_new();
    struct ctl ctl = {.arena = arena,
                      .program = words[0],
                      .out = open_memstream(&text, &len),
                      .err = open_memstream(&errors, &errors_len)};

    snprintf(report->command, sizeof(report->command), "%s", command);
    words[n++] = arena_strdup(arena, command);
    words[n++] = arena_strdup(arena, path);
    if (flag)
        words[n++] = arena_strdup(arena, flag);
    int code = ctl_run(&ctl, n, words);
    fclose(ctl.out);
    fclose(ctl.err);
    if (code != CTL_DONE && code != CTL_SERVER && code != CTL_USAGE)
        fault(file, "an exit code that its help does not name");
    if (strstr(text, "(null)") || strstr(errors, "(null)"))
        fault(file, arena_printf(arena, "\"(null)\" in %s%s", text, errors));
    if (code != CTL_DONE && errors_len == 0 && len == 0)
        fault(file, "it fails without a word");
    const char *out = arena_strdup(keep, text);
    free(text);
    free(errors);
    arena_free(arena);
    return out;
}

/* What is converted is YAML, whatever the file was, and lint takes it for that. */
static void run_convert(struct arena *arena, const char *file, const char *path)
{
    const char *out = run_command(arena, file, path, "convert", "--live");
    int fd = memfd_create("converted", MFD_CLOEXEC);
    struct json_object *docs;
    struct errinfo ei;

    if (yaml_parse(arena, "converted", out, strlen(out), strlen(out) + 1, &docs, &ei) != ERR_OK)
        fault(file, ei.text);
    if (dprintf(fd, "%s", out) < 0)
        exit(3);
    (void)run_command(arena, file, arena_printf(arena, "/proc/self/fd/%d", fd), "lint", NULL);
    close(fd);
}

static void run_commands(struct arena *arena, const char *file, struct json_object *docs)
{
    int fd = memfd_create("mutant", MFD_CLOEXEC);
    const char *path = arena_printf(arena, "/proc/self/fd/%d", fd);

    for (size_t i = 0; i < json_len(docs); i++)
        if (dprintf(fd, "---\n%s\n", json_text(arena, json_elem(docs, i))) < 0)
            exit(3);
    alarm(SECONDS);
    (void)run_command(arena, file, path, "lint", NULL);
    (void)run_command(arena, file, path, "plan", report->tried % 2 ? "-oyaml" : NULL);
    (void)run_command(arena, file, path, "objects", NULL);
    run_convert(arena, file, path);
    alarm(0);
    close(fd);
}

/* --- a file */

/* All changes from report->next on. */
static void try_changes(const char *file, struct json_object *docs, const struct place *first,
                        int offset)
{
    int n = 0;

    for (const struct place *place = first; place; place = place->next)
        for (int change = 0; change < CHANGES; change++, n++) {
            if (n < report->next || (n + offset) % every != 0)
                continue;
            struct arena *arena = arena_new();
            report->next = n + 1;
            report->tried++;
            snprintf(report->change, sizeof(report->change), "%s",
                     change_name(arena, place, change));
            run_commands(arena, file, changed(arena, docs, place, change));
            arena_free(arena);
        }
}

/* In a child, which is recreated behind each change that it dies of. */
static void try_file(const char *file, struct json_object *docs, const struct place *first,
                     int offset)
{
    int status = 0;

    report->next = 0;
    while (report->faults < FAULTS) {
        pid_t pid = fork();
        if (pid == 0) {
            try_changes(file, docs, first, offset);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            perror("fork");
            exit(3);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            fault(file, "it does not end");
        else
            fault(file, "it died");
    }
}

static void try_path(const char *file, int offset)
{
    struct arena *arena = arena_new();
    struct json_object *docs;
    struct place *first = NULL;
    struct places places = {.arena = arena, .last = &first};
    struct errinfo ei;
    char *text;
    size_t len;

    if (file_read(arena, file, LARGEST, &text, &len, &ei) == ERR_OK &&
        yaml_parse(arena, file, text, len, LARGEST, &docs, &ei) == ERR_OK) {
        add_places(&places, docs, 0);
        try_file(file, docs, first, offset);
    } else {
        printf("%s\n", ei.text);
    }
    arena_free(arena);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void try_folder(const char *folder)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, by_name);

    if (n < 0) {
        perror(folder);
        exit(3);
    }
    for (int i = 0; i < n; i++) {
        size_t len = strlen(list[i]->d_name);
        if (len > 5 && strcmp(list[i]->d_name + len - 5, ".yaml") == 0) {
            char *file = heap_printf("%s/%s", folder, list[i]->d_name);
            try_path(file, i);
            free(file);
        }
        free(list[i]);
    }
    free(list);
}

int main(int argc, char **argv)
{
    int at = 1;

    if (argc > 2 && strcmp(argv[1], "--every") == 0) {
        every = (int)strtol(argv[2], NULL, 10);
        at = 3;
    }
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED || every < 1)
        return 3;
    log_set_level("error");
    for (; at < argc; at++)
        try_folder(argv[at]);
    printf("%d changed files, %d faults\n", report->tried, report->faults);
    return report->tried > 0 && report->faults == 0 ? 0 : 1;
}
