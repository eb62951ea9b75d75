/* The command line of a command: kubectl's flags and its own. */
#ifndef CTL_FLAGS_H
#define CTL_FLAGS_H

#include "ctl/ctl.h"
#include "kube/config.h"

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
