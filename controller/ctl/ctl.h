/*
 * The command line for people, `kubectl canary` and `flagger-controller ctl`: what all commands
 * share. A command is one file of command/ that defines
 *
 *     const struct ctl_command ctl_name = {.name = "name", .summary = ..., .run = run};
 *
 * and the build finds it. ctl_main() reads kubectl's flags and those of the command's
 * rows, connects unless the command needs no server, and calls run(). A command reads with read.h
 * and prints with output.h: to ctl->out, for it is tested by what it prints. It may
 * wait: it has the loop to itself.
 *
 * Everything that a command gets and makes lives in ctl->arena, until the process ends.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/option.h"
#include "kube/config.h"
#include "kube/kube_client.h"

/* Exit codes for scripts. */
enum ctl_exit {
    CTL_DONE = 0,       /* it was done; of status: the revision is promoted */
    CTL_SERVER = 1,     /* the server does not answer or refuses; the object does not exist */
    CTL_USAGE = 2,      /* the command line is wrong */
    CTL_FAILED = 3,     /* the release was rolled back, or the request was refused */
    CTL_TIMED_OUT = 4,  /* --timeout passed */
    CTL_PERSON = 5,     /* the release waits for a person */
    CTL_SUPERSEDED = 6, /* another revision is released instead */
};

/* Flags that a command accepts besides its own rows. */
enum ctl_accepts {
    CTL_OFFLINE = 1,   /* needs no server: no kubeconfig, and none of kubectl's flags */
    CTL_ALL = 2,       /* -A */
    CTL_SELECTOR = 4,  /* -l */
    CTL_WATCH = 8,     /* -w */
    CTL_OUT_WIDE = 16, /* -o wide */
    CTL_OUT_NAME = 32, /* -o name */
    CTL_OUT_DATA = 64, /* -o json, -o yaml */
    CTL_RAW = 128,     /* flags are passed on among its arguments */
};

enum ctl_output { CTL_TEXT, CTL_WIDE, CTL_NAME, CTL_JSON, CTL_YAML };

struct ctl {
    struct arena *arena;
    const struct ctl_command *command;
    const char *program;              /* "kubectl canary": its name in hints */
    const char *const *args;          /* arguments that are no flags, NULL-terminated */
    int n_args;                       /* within the command's min_args and max_args */
    struct loop *loop;                /* NULL: CTL_OFFLINE */
    struct kube_client *kube;         /* the same */
    struct http_client *http;         /* the same; for what is not the API server */
    const struct kube_config *config; /* the same; server and context for texts */
    const char *namespace_;           /* NULL: all of them (-A) */
    const char *selector;             /* NULL if none */
    bool watch;
    int64_t timeout_ms; /* of a request to the server; 0 for the client's default */
    enum ctl_output output;
    bool color;
    int width; /* columns of the terminal; 0 if there is none: nothing is cut */
    FILE *out, *err;
};

struct ctl_command {
    const char *name; /* "skip-analysis" */
    const char
        *summary;      /* one line for the list of commands, a sentence; NULL if it is not listed */
    const char *usage; /* the part after the name, "NAME [--why TEXT]" */
    const char *help;  /* paragraphs and examples ("{ctl}" is how the program is called); may be
                            NULL */
    const struct option_row *rows; /* its own flags, as option.h says, static; NULL if none */
    unsigned accepts;              /* enum ctl_accepts */
    int min_args, max_args;        /* how many arguments; max -1: any number */
    /* Kind of argument for shell completion: "canary", "file" or a list of words; NULL if none. */
    const char *completes;
    bool (*needs_no_server)(
        void); /* called when its rows have been read; NULL if CTL_OFFLINE decides */
    int (*run)(struct ctl *ctl); /* returns an enum ctl_exit */
};

/* All commands, in the order of their files' names; ends with NULL. Made by the build. */
extern const struct ctl_command *const ctl_table[];
/* NULL if there is none of that name. */
const struct ctl_command *ctl_find(const char *name);

/* argv[0] is how the program is called in texts, "kubectl canary". Returns the exit code. */
int ctl_main(int argc, char **argv);

/* One command within another: as ctl_main(), with the streams of ctl, and its arena. */
int ctl_run(struct ctl *ctl, int argc, char **argv);

/* One sentence on ctl->err, with the program's name in front. Returns the code, so that a command
 * can `return ctl_fail(ctl, CTL_SERVER, ...)`. */
int ctl_fail(const struct ctl *ctl, enum ctl_exit code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Updates the width of the terminal. */
void ctl_measure(struct ctl *ctl);

/* --- -w: watching */

/*
 * Watches the Canaries of ctl->namespace_ with ctl->selector, or the one of that name (NULL for
 * all), until the program is ended or, of one, it is deleted. On a terminal draw() is called again
 * for each change and every few seconds, into a ctl of its own with an arena of its own, and takes
 * the whole screen; elsewhere each change is one line, or one object for -o json. draw() returns an
 * exit code; another one than CTL_DONE ends it.
 */
int live_run(struct ctl *ctl, const char *name, int (*draw)(struct ctl *ctl));

/* --- the command line of a command: kubectl's flags and its own */

/*
 * Reads argv (argv[0] is ignored) for ctl->command: flags may stand anywhere, -n NAME, -nNAME and
 * -n=NAME are --namespace NAME, "--" ends them. Fills what struct ctl says of them, and *source:
 * where the server is found. ERR_INVALID: the sentence; ERR_CANCELLED: --help was asked for.
 */
enum err flags_read(struct ctl *ctl, int argc, char **argv, struct kube_config_source *source,
                    const char **namespace_, struct errinfo *ei) MUST_USE;

/* Index of the command's name in argv, after kubectl's flags and their values; argc if there is
 * none. */
int flags_command_at(int argc, char **argv);

/* The rows of a command, its own first; ends with a row without name. Owned by the arena. */
const struct option_row *flags_rows(struct arena *arena, const struct ctl_command *command);
/* The letter of a flag of that name, 'n' of "namespace"; 0 if it has none. */
char flags_letter(const char *name);

#endif
