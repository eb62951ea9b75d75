/* What the judge has seen of a release that runs. */
#ifndef PAGE_SHOW_JUDGE_H
#define PAGE_SHOW_JUDGE_H

#include "proto/canary.h"

/*
 * [{name, says, lastLook, canary, primary, verdict, worse, notWorse}], a judged metric each. canary and
 * primary are [requests, bad ones]; verdict is "worse", "not worse" or "undecided". worse and notWorse
 * say from 0 to 1 how far the evidence is on the way to either. NULL: the spec asks for no judge, or it
 * has not looked yet. Owned by the arena.
 */
struct json_object *show_judge(struct arena *arena, const struct canary *canary);

#endif
