/*
 * What the history says about the gates: it is read from its beginning, entry by entry, and what
 * then must be so is compared with what the tables say. What nobody has opened, and yet is open, is
 * found; so is what was opened and is not there. What has expired is left out on both sides.
 *
 * An object of a table comes under the keys of the entry that made it; what is null or empty on one
 * side may be missing on the other.
 */
#ifndef GATE_REPLAY_H
#define GATE_REPLAY_H

#include "base/json.h"
#include "gate/rules/findings.h"

struct replay;

/* What entries make: rows of flagger_gate_passes, _votes, _policies, _freezes and _links. A link
 * may have been used without an entry, when all was so already. */
enum replay_thing {
    REPLAY_PASS,
    REPLAY_VOTE,
    REPLAY_POLICY,
    REPLAY_FREEZE,
    REPLAY_LINK,
    REPLAY_THINGS
};

struct replay *replay_new(void);
void replay_free(struct replay *replay); /* NULL is allowed */

/* The next entry, and its text, which is copied where it is still needed. False: it is not known
 * what its action does. */
bool replay_entry(struct replay *replay, int64_t seq, struct json_object *entry, const char *text);

/* A row of a table that has not expired. */
void replay_row(struct replay *replay, struct findings *findings, enum replay_thing thing,
                struct json_object *row);
/* After all rows: what should be there and was not. now: as the times of the history; day_ago:
 * votes before it do not count any more. */
void replay_end(struct replay *replay, struct findings *findings, const char *now,
                const char *day_ago);

/* "entry 12 (2026-11-21T22:40:01.123456Z, gate podinfo.test)": for sentences. Owned by the arena.
 */
const char *replay_where(struct arena *arena, int64_t seq, struct json_object *entry);

#endif
