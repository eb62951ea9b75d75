/* The primary must be able to carry the traffic that it gets. */
#ifndef DECIDE_CAPACITY_H
#define DECIDE_CAPACITY_H

#include "decide/release/release.h"

/* What all traffic goes back to the primary for: the reason of the condition PrimaryScaled. */
#define CAPACITY_ROLLBACK  "RollingBack"
#define CAPACITY_RESTART   "Restarting"
#define CAPACITY_BEGIN     "Beginning"
#define CAPACITY_PROMOTION "Promoting"
#define CAPACITY_RETURN    "PrimaryReady"
#define CAPACITY_START     "Starting" /* no traffic: a primary at zero is to be compared with */
/* GO: the primary can carry all traffic, as far as that was worth waiting for. STOP: it waits. */
enum verdict capacity_wait(struct release *r, const char *reason);
/* It waits for this; NULL: for anything. */
bool capacity_waits(struct release *r, const char *reason);
/* ... for CAPACITY_BEGIN, with this very revision. */
bool capacity_waits_to_begin(struct release *r);
/* The primary has a scaler: a copy of the one that the Canary names, or one of others. */
bool capacity_is_scaled(const struct release *r);
/* The pods that all traffic needs. */
int64_t capacity_total(struct release *r);
/* The scaler of the target, named by the Canary or not; its object is NULL: there is none. */
enum verdict capacity_target_scaler(struct release *r, struct own_scaler *out);
/* The replicas that the primary was asked for; 0: none. */
int capacity_asked(struct release *r);
/* The replicas that the primary's scaler must not go below; 0: whatever it wants. */
int capacity_floor(struct release *r);
/* Plans the replicas that the primary must have now. */
void capacity_raise(struct release *r);
/* Before a release begins: a primary that its scaler keeps at zero is brought up, unless it is
 * ready. STOP: that was told; GO: it was before, or there is nothing to bring up. */
enum verdict capacity_start(struct release *r, bool ready);
/* Nobody answers on the primary, and somebody does on the canary. */
bool capacity_is_empty(struct release *r);
/* Nobody waits any more, or the primary has had its time to settle: then the floor goes. */
void capacity_settle(struct release *r);
/* The primary has pods that answer, though not all that it was asked for. */
bool capacity_answers(struct release *r);

#endif
