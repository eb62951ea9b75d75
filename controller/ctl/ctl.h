/*
 * The command line for people, `kubectl canary` and `flagger-controller ctl`: what all commands
 * share. A command is one file of command/ that defines
 *
 *     const struct ctl_command ctl_name = {.name = "name", .summary = ..., .run = run};
 *
 * and the build finds it. ctl_main() reads kubectl's flags (flags.h) and those of the command's
 * rows, connects unless the command needs no server, and calls run(). A command reads with read.h
 * and prints with print.h and columns.h: to ctl->out, for it is tested by what it prints. It may
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
#include "base/option.h"
#include "kube/client.h"

/* What a script can tell apart. */
enum ctl_exit {
    CTL_DONE = 0,      /* it was done; of status: the revision is promoted */
    CTL_SERVER = 1,    /* the server does not answer, or says no; what was asked for is not there */
    CTL_USAGE = 2,     /* the command line is wrong */
    CTL_FAILED = 3,    /* the release was rolled back, or the request was refused */
    CTL_TIMED_OUT = 4, /* --timeout passed */
    CTL_PERSON = 5,    /* the release waits until a person says yes */
    CTL_SUPERSEDED = 6, /* another revision is released in place of the one that was asked about */
};

/* What a command accepts beside its own rows. */
enum ctl_accepts {
    CTL_OFFLINE = 1,   /* it asks no server: no kubeconfig, and none of kubectl's flags */
    CTL_ALL = 2,       /* -A */
    CTL_SELECTOR = 4,  /* -l */
    CTL_WATCH = 8,     /* -w */
    CTL_OUT_WIDE = 16, /* -o wide */
    CTL_OUT_NAME = 32, /* -o name */
    CTL_OUT_DATA = 64, /* -o json, -o yaml */
    CTL_RAW = 128,     /* its arguments are no command line, flags are left among them */
};

enum ctl_output { CTL_TEXT, CTL_WIDE, CTL_NAME, CTL_JSON, CTL_YAML };

struct ctl {
    struct arena *arena;
    const struct ctl_command *command;
    const char *program;              /* "kubectl canary": how people call it, for hints */
    const char *const *args;          /* what is no flag, NULL-ended */
    int n_args;                       /* within the command's min_args and max_args */
    struct loop *loop;                /* NULL: CTL_OFFLINE */
    struct kube_client *kube;         /* the same */
    struct http_client *http;         /* the same; for what is not the API server */
    const struct kube_config *config; /* the same; server and context for texts */
    const char *namespace_;           /* NULL: all of them (-A) */
    const char *selector;             /* NULL: none */
    bool watch;
    int64_t timeout_ms; /* of a request to the server; 0: as the client has it */
    enum ctl_output output;
    bool color;
    int width; /* columns of the terminal; 0: no terminal, nothing is cut */
    FILE *out, *err;
};

struct ctl_command {
    const char *name;    /* "skip-analysis", of the file skip_analysis.c */
    const char *summary; /* one line for the list of commands, a sentence; NULL: it is not listed */
    const char *usage;   /* what stands behind the name, "NAME [--why TEXT]" */
    const char *help;    /* paragraphs and examples ("{ctl}" is how the program is called); may be
                            NULL */
    const struct option_row *rows; /* its own flags, as option.h says, static; NULL: none */
    unsigned accepts;              /* enum ctl_accepts */
    int min_args, max_args;        /* how many arguments; max -1: any number */
    const char *completes;         /* what an argument is, for shells: "canary", "file" or a list of
                                      words; NULL: nothing */
    bool (*needs_no_server)(void); /* asked once its rows are read; NULL: as CTL_OFFLINE says */
    int (*run)(struct ctl *ctl);   /* returns an enum ctl_exit */
};

/* All commands, in the order of their files' names; ends with NULL. Made by the build. */
extern const struct ctl_command *const ctl_table[];
/* NULL: there is none of that name. */
const struct ctl_command *ctl_find(const char *name);

/* argv[0] is how the program is called in texts, "kubectl canary". Returns the exit code. */
int ctl_main(int argc, char **argv);

/* One command within another: as ctl_main(), with the streams of ctl, and its arena. */
int ctl_run(struct ctl *ctl, int argc, char **argv);

/* One sentence on ctl->err, with the program's name in front. Returns the code, so that a command can
 * `return ctl_fail(ctl, CTL_SERVER, ...)`. */
int ctl_fail(const struct ctl *ctl, enum ctl_exit code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Asks the terminal anew how wide it is. */
void ctl_measure(struct ctl *ctl);

#endif
