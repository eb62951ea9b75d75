/*
 * One member cluster: who reads its kubeconfig, connects, watches, and knows whether it is reached. One
 * that is not is tried again for ever, by itself; nothing that is known of it is forgotten meanwhile.
 * A Secret that changes is followed: then all of that begins anew.
 *
 *   READING      its Secret is read
 *   BARRED       there is no Secret, or no kubeconfig in it that can be used
 *   CONNECTING   its Canaries are being listed for the first time
 *   REACHED      they are known as they are now
 *   UNREACHABLE  they are not
 *
 * The cluster that the Applications lie in is one as well, without a Secret.
 */
#ifndef MEMBERS_MEMBER_H
#define MEMBERS_MEMBER_H

#include <sys/queue.h>

#include "kube/backoff.h"
#include "members/claim.h"
#include "members/stock.h"

enum member_state {
    MEMBER_NEW,
    MEMBER_READING,
    MEMBER_BARRED,
    MEMBER_CONNECTING,
    MEMBER_REACHED,
    MEMBER_UNREACHABLE,
    MEMBER_STATES
};

struct member;
/* All are called from the loop; none may free the member. */
struct member_owner {
    /* It is another state; its connection is a new one, or gone, where `anew`. */
    void (*turned)(void *arg, struct member *member, bool anew);
    void (*changed)(void *arg, struct member *member, const struct kube_resource *resource,
                    const struct stock_seen *before, const struct stock_seen *after);
    bool (*wants)(void *arg, struct member *member, const struct kube_resource *resource,
                  const char *namespace_, const char *name);
    /* What it watches has been listed. */
    void (*settled)(void *arg, struct member *member);
    void *arg;
};

struct place;

struct member {
    struct members_context *context;
    const struct member_owner *owner;
    char *namespace_,
        *access; /* of the Secret: "NAME" or "NAME/KEY"; both "" for the own cluster */
    enum member_state state;
    char *why;           /* it is not reached, one sentence; NULL: it is, or nothing is known yet */
    bool lost;           /* there is no such Secret */
    struct arena *arena; /* of the kubeconfig in use */
    uint64_t text_hash;  /* of its text */
    struct kube_client *kube;
    struct stock *stock; /* NULL: as kube, nobody is connected */
    struct claim *claim;
    struct ask *ask;     /* of the Secret, or whether somebody answers */
    struct timer *timer; /* to the next try of it */
    struct backoff backoff;
    int64_t doubted_ms; /* monotonic: a request was not answered then; 0: none */
    int64_t heard_ms;   /* wall clock: when its state was last seen to be good */
    unsigned needs;     /* kinds that are watched, by their order in members_kinds */
    int users;          /* who needs it */
    /* The owner's. */
    TAILQ_HEAD(, place) places, waiting;
    TAILQ_ENTRY(member) ring;
    bool in_ring;
    int running;
};

struct member *member_new(struct members_context *context, const struct member_owner *owner,
                          const char *namespace_, const char *access);
void member_free(struct member *member); /* nothing of the owner's may be left in it */

/* Its Secret may have changed. */
void member_look_again(struct member *member);
/* Looks whether it is still reached; to be called about once a second. Costs no request. */
void member_check(struct member *member);
/* A request of somebody else's was not answered. */
void member_doubt(struct member *member, const char *text);
/* This kind is to be watched from now on, also after a new connection. */
void member_need(struct member *member, const struct kube_resource *resource);
bool member_is_reached(const struct member *member);
const char *member_state_name(enum member_state state);

#endif
