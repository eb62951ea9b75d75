/*
 * Where a reader finds the golden case of each row of the state machine: the steps of a tick
 * (decide/RULES.md §3), the strategies (§4), the ends of a release (§6, §7, §8.1), the
 * gates (§8.2) and the deletion (§9). Every case that is named here must be there.
 */
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "test/unit.h"

static const struct row {
    const char *row, *says;
    const char *file, *cases; /* of test/golden/cases/FILE.yaml, or FILE_test.c; "one, other" */
} rows[] = {
    {"step 1", "the Canary is read anew, also one that cannot be read", "accept",
     "unreadable spec"},
    {"step 2", "suspended: told once, nothing moves", "edits",
     "suspended in each phase, suspended while initialising"},
    {"step 3", "a target of each kind", "targets", "whose pods are measured"},
    {"step 4", "what cannot be done is refused", "accept", "refusals"},
    {"step 5", "an autoscaler of each kind", "scaler", "hpa is copied, keda release"},
    {"step 6", "the Services are there, and repaired", "repair", "services are repaired"},
    {"step 7", "metric servers are probed", "metrics", "probe says what is not there"},
    {"step 9", "the primary is made, and waited for", "release",
     "initialise, initialise waits for the primary"},
    {"step 9", "a primary that is lost later", "outages",
     "primary that is lost during the analysis"},
    {"step 10", "the primary's scaler is made", "scaler", "hpa is copied"},
    {"step 11", "the apex Service selects the primary", "release",
     "initialise adopts an apex service"},
    {"step 12", "the target goes to zero last", "release", "initialise"},
    {"step 13", "the mesh's objects are there, weights kept", "repair",
     "weights stay when the route is repaired"},
    {"step 14", "Initialized", "release",
     "initialise, initialise when the target changed meanwhile"},
    {"step 15", "a change of the template or of a config is a revision", "detect",
     "config changed, another hash is not adopted when something differs"},
    {"step 15", "the status of another Flagger", "takeover",
     "switching starts and swallows nothing, a push in between is released"},
    {"step 15b", "Failed: what failed is not tried again, what is new is", "detect",
     "manual rollback after a failure starts nothing, revision after a failure is not swallowed"},
    {"step 15c", "a config that is missing", "outages",
     "revision whose config is missing waits for it"},
    {"step 16", "nothing new: nothing is done", "takeover", "an idle cluster is not touched"},
    {"step 17", "the primary is not ready", "repair",
     "primary not ready keeps a new revision for later, primary fails during the analysis"},
    {"step 18", "the routes are read, and must be settled", "repair",
     "route that is not accepted holds, weight ahead of the status is taken over"},
    {"step 19", "a new revision: gate, scale up, Progressing", "gates", "confirm rollout"},
    {"step 20", "another revision restarts the analysis", "detect",
     "restart on another revision, config changed during the analysis"},
    {"step 20", "the old one ends it, in each phase", "edits", "the old spec is put back"},
    {"step 21", "the canary is not ready", "release", "canary that never gets ready"},
    {"step 22", "skipAnalysis", "release", "skip analysis"},
    {"step 22", "skipAnalysis with a primary that is not ready", "outages",
     "skip waits for the primary"},
    {"step 23", "the rollback hook", "gates", "rollback hook, rollback while waiting"},
    {"step 24", "Promoting", "release", "promote, promote in steps"},
    {"step 25", "Finalising", "release", "promote"},
    {"step 26", "the threshold", "release", "failed checks roll back"},
    {"step 27", "an interval has passed", "repair", "not due nothing steps"},
    {"step 28", "pre-rollout hooks", "gates", "pre rollout fails"},
    {"step 29", "rollout hooks and metrics", "gates", "rollout hook fails"},
    {"step 29", "metrics", "metrics", "halts"},
    {"step 30", "the kubernetes provider", "release",
     "kubernetes provider, kubernetes provider has ten iterations"},
    {"step 31", "the gate for more traffic", "gates", "traffic gate is told once"},
    {"§4.1 rows 1-2", "mirroring first", "strategy", "mirror then canary"},
    {"§4.1 row 3", "a step", "release", "promote, step weights"},
    {"§4.1 row 4", "the maximum: gate, copy", "gates", "promotion gate"},
    {"§4.2 row 1", "an A/B iteration", "strategy", "ab tick by tick"},
    {"§4.2 row 2", "all iterations done", "strategy", "ab, ab with fewer iterations meanwhile"},
    {"§4.3 row 1", "a blue/green iteration, mirrored", "strategy", "mirror then blue green"},
    {"§4.3 row 2", "all traffic to the canary", "release", "blue green on the gateway"},
    {"§4.3 row 3", "copy", "gates", "promotion gate of blue green"},
    {"§5", "config tracking on and off", "detect", "config tracking is off"},
    {"§6", "rollback", "release", "failed checks roll back"},
    {"§6", "rollback waits for a primary that can carry all", "scaler",
     "rollback waits for the primary"},
    {"§6 step 2", "the route cannot be settled", "repair",
     "rollback although the route is not accepted"},
    {"§7", "failed promotion, and the way forward", "repair",
     "failed promotion and the way forward"},
    {"§7", "neither side is ready; another revision came", "outages",
     "neither is ready and the next revision rolls forward, push during a promotion that fails"},
    {"§8.1 row 1", "promotion without a mesh", "release", "kubernetes provider"},
    {"§8.1 row 2", "all traffic at once", "release", "promote"},
    {"§8.1 row 3", "step by step", "release", "promote in steps"},
    {"§8.1 row 4", "nothing left to shift", "repair", "promoting with nothing left to shift"},
    {"§8.2 row 1", "confirm-rollout", "gates", "confirm rollout, muted alert"},
    {"§8.2 row 2", "confirm-traffic-increase", "gates", "traffic gate is told once"},
    {"§8.2 row 3", "confirm-promotion", "gates", "promotion gate"},
    {"§8.2", "deadlines of gates", "deadline", "start is turned down, promotion goes on"},
    {"§9", "deletion, step by step", "revert", "step by step"},
    {"§9", "deletion at any moment", "delete", "test_deleted_after_each_write"},
    {"§10", "a DaemonSet", "targets", "a node that joins ends no release"},
    {"§12", "what each hook is sent", "hooks", "what each hook is sent"},
    {"§12", "which revision each hook is about", "approval",
     "an approval of the start holds to the end, another revision is asked about anew"},
    {"§13, §14", "events and alerts, text for text", "parity", "canary, blue/green"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* The line by which a case of this name begins. */
static const char *begins(struct arena *arena, const char *name, bool data)
{
    return data ? arena_printf(arena, "\ncase: %s\n", name)
                : arena_printf(arena, "\nCASE(%s)\n", name);
}

static void check_row(struct arena *arena, const struct row *row)
{
    const char *path = arena_printf(arena, "test/golden/cases/%s.yaml", row->file);
    char *names = arena_strdup(arena, row->cases);
    char *text;
    size_t len;
    struct errinfo ei;
    bool data = file_check(path, &ei) == ERR_OK;

    if (!data)
        path = arena_printf(arena, "test/golden/%s_test.c", row->file);
    if (file_read(arena, path, 1 << 20, &text, &len, &ei) != ERR_OK)
        fail_msg("%s: %s", row->row, ei.text);
    for (char *name; (name = strsep(&names, ","));) {
        name += strspn(name, " ");
        if (!strstr(text, begins(arena, name, data)))
            fail_msg("%s (%s): %s has no case %s", row->row, row->says, path, name);
    }
}

CASE(test_every_row_has_its_case)
{
    for (int i = 0; i < ROWS; i++)
        check_row(arena, &rows[i]);
}
