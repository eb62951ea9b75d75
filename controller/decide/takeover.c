/*
 * A status that Flagger left, in the middle of whatever it was doing. Its configs' hashes are ours,
 * but the hash of a spec differs from one version of Flagger to the next, so that a hash that is
 * not the target's may say that the target changed, or that another version took it. Told apart by:
 *
 *  1. the primary runs just what the target holds: then that is what the status speaks of, whatever
 *     its hash;
 *  2. the hash that we take of the primary is the one in the status: the hashes are ours, and
 *     another one means another revision;
 *  3. the target's template is older than the status. Flagger compares at every tick before it
 *     writes, and in Failed it writes at every tick: then the target is what it had seen.
 *
 * Where none of them tells, the target counts as changed: a revision is analysed once too often
 * rather than swallowed. A status of our own is known by its serviceName, which Flagger drops.
 */
#include "decide/act/takeover.h"

#include <string.h>

#include "base/clock.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/status.h"
#include "decide/rules.h"

static bool has_other_hash(const struct release *r)
{
    const struct canary_status *status = &r->canary->status;

    return revision_is_flaggers(r) && *status->last_applied_spec &&
           strcmp(r->info.hash, status->last_applied_spec) != 0 &&
           strcmp(r->info.hash, status->last_promoted_spec) != 0;
}

static bool is_our_hash(struct release *r, const char *hash)
{
    const struct canary_status *status = &r->canary->status;

    return *hash && (strcmp(hash, status->last_promoted_spec) == 0 ||
                     strcmp(hash, status->last_applied_spec) == 0);
}

/* Rule 3. A tick of Flagger takes a while: what was pushed in the last one, it may have missed. In
 * Failed it takes the hash as it writes. */
static bool is_older_than_status(struct release *r)
{
    int64_t margin = r->phase == PHASE_Failed ? 0 : tick_interval_ms(r->tick);
    int64_t written;
    struct errinfo ei;

    return r->target->untouched_since &&
           clock_parse(r->canary->status.last_transition_time, &written, &ei) == ERR_OK &&
           r->target->untouched_since(r->tick, &r->info, written - margin);
}

/* From here on the status has hashes of ours; the next round goes on from them. */
static enum verdict adopt(struct release *r, const char *promoted)
{
    if (revision_configs_changed(r))
        status_sync_hash(r);
    else
        status_sync(r);
    if (promoted)
        status_text(r, "lastPromotedSpec", promoted);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* Rule 1, while something is under way or has failed. */
static enum verdict adopt_what_runs(struct release *r)
{
    if (release_is_analysing(r)) {
        /* A promotion that was cut off, or a spec that was restored: it ends as a promotion does,
         * with a primary that is ready. */
        status_phase(r, PHASE_Promoting);
        status_weight(r, r->weights.canary);
        release_say(r, "%s-primary.%s runs the spec of %s already, ending the release",
                    r->canary->target.name, r->canary->namespace_, release_target(r));
        return adopt(r, NULL);
    }
    if (release_is_promoting(r))
        return adopt(r, NULL);
    /* After a failed promotion the primary carries what no analysis has seen run there. */
    return adopt(r, r->canary->status.canary_weight == 100 ? "" : r->info.hash);
}

enum verdict takeover_hashes(struct release *r)
{
    bool same;

    if (!has_other_hash(r))
        return VERDICT_GO;
    enum verdict verdict = r->target->compare(r->tick, &r->info, &same);
    if (verdict != VERDICT_GO)
        return verdict;
    if (same)
        return adopt_what_runs(r);
    /* While promoting, an unlike primary means a revision that came meanwhile. */
    const char *promoted = takeover_primary_hash(r);
    if (release_is_promoting(r) || is_our_hash(r, promoted) || !is_older_than_status(r))
        return VERDICT_GO;
    return adopt(r, r->canary->status.canary_weight == 100 ? "" : promoted);
}

enum verdict takeover_names(struct release *r)
{
    takeover_note_names(r);
    return VERDICT_GO;
}
