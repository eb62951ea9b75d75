/*
 * A ReleasePlan: gathers the facts of its clusters, asks the rules (fleet/rules/waves.h), writes
 * the status, and then holds Canaries and lets them go. Changes of its facts wake it; changes
 * during a round count in the next one.
 *
 *   RESTING    waits for a change or a timer
 *   RECORDING  the finalizer or the status is being written, before the first step
 *   STEPPING   steps are under way, on several clusters at once
 *
 * Meanwhile workloads may be probed and a gate may be queried; the results are facts of the next
 * round. A held Canary on a cluster that the plan no longer selects is let go.
 */
#ifndef MEMBERS_WAVE_H
#define MEMBERS_WAVE_H

#include "fleet/daemon/caches.h"
#include "fleet/daemon/fleet_daemon.h"
#include "fleet/daemon/member.h"

#define WAVE_FINALIZER "flagger.app/fleet"

struct wave;

struct wave *wave_new(struct fleet_daemon *fleet, const char *namespace_, const char *name);
void wave_free(struct wave *wave);
/* Something that it may depend on has changed: requests wave_settle() soon. */
void wave_wake(struct wave *wave);
/* Reconciles the plan. False if it is gone and must be freed. */
bool wave_settle(struct wave *wave) MUST_USE;
/* The connection of this member is closing: ends whatever is under way there. */
void wave_abort(struct wave *wave, const struct member *member);
/* True if its rules look at Canaries with this name. */
bool wave_concerns(const struct wave *wave, const char *namespace_, const char *name);

const char *wave_namespace(const struct wave *wave);
const char *wave_name(const struct wave *wave);
/* Snapshot for /debug. */
struct wave_snapshot {
    const char *state, *phase; /* phase NULL: no phase yet */
    int steps, looks;          /* number under way */
    bool asks;                 /* a gate is being queried */
};
void wave_snapshot(const struct wave *wave, struct wave_snapshot *out);

#endif
