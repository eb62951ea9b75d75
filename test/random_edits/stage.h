/*
 * The stage: a sandbox with its gateway and Prometheus, one controller, and the webhooks, in a
 * directory of its own. Sandbox and controller end with this process.
 */
#ifndef EDITS_STAGE_H
#define EDITS_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "net/loop.h"

struct stage;

struct stage_options {
    const char *programs;  /* folder of flagger-sandbox and flagger-controller */
    const char *crds;      /* folder of the CRDs */
    const char *directory; /* must exist; logs and the kubeconfig */
};

/* Starts the sandbox and waits until its API answers; serves the webhooks. Blocks. */
enum err stage_new(struct loop *loop, struct arena *arena, const struct stage_options *options,
                   struct stage **out, struct errinfo *ei) MUST_USE;
void stage_free(struct stage *stage); /* after the loop has ended; ends the processes */

const char *stage_kubeconfig(const struct stage *stage);
int stage_gateway_port(const struct stage *stage);
const char *stage_hooks(const struct stage *stage); /* URL without the app */
const char *stage_controller_log(const struct stage *stage);

/* Flags of the controller from its next start on, "--a=b --c"; they take precedence. */
void stage_set_flags(struct stage *stage, const char *flags);
/* Starts the controller where none runs. */
enum err stage_start_controller(struct stage *stage, struct errinfo *ei) MUST_USE;
void stage_kill_controller(struct stage *stage);
bool stage_controller_runs(const struct stage *stage);
/* Its flags have it lead under a lease. */
bool stage_controller_leads(const struct stage *stage);
/* From now on each call of a webhook is reported: about which checksum, and whether it passes. NULL: none
 * is any more. */
void stage_on_hook(struct stage *stage,
                   void (*called)(void *arg, const char *app, const char *hook,
                                  const char *checksum, bool passes),
                   void *arg);
/* Whether the controller or the sandbox has ended by itself; *what says how. */
bool stage_broken(struct stage *stage, struct arena *arena, const char **what);

/* From now on this webhook of the app answers so: "promote=403"; "fine": all as at first. */
void stage_answer(struct stage *stage, const char *app, const char *text);

#endif
