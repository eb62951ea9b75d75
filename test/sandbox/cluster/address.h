/*
 * Loopback addresses for pods and Services. Several sandboxes may run on one machine: each takes a
 * slot, 8,190 pod addresses of 127.64.0.0/13 and as many Service addresses of 127.96.0.0/13, and
 * keeps it as long as it lives (the kernel frees the lock when the process ends in any way).
 */
#ifndef CLUSTER_ADDRESS_H
#define CLUSTER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { ADDRESS_TEXT = 16, ADDRESS_SLOTS = 64, ADDRESS_PER_SLOT = 8192 };

/* Takes a free slot; *fd holds it. ERR_CONFLICT when all are taken. */
enum err address_slot(int *slot, int *fd, struct errinfo *ei) MUST_USE;

struct address_pool {
    uint32_t base; /* host byte order */
    uint32_t next;
    bool used[ADDRESS_PER_SLOT];
};

/* net is the second byte: 64 for pods, 96 for Services. */
void address_init(struct address_pool *pool, int net, int slot);
/* The next free address, the longest unused one first. False when none is free. */
bool address_take(struct address_pool *pool, char text[ADDRESS_TEXT]);
/* Marks an address that somebody else chose; false when it is taken. Addresses outside the slot are
 * not kept book of. */
bool address_claim(struct address_pool *pool, const char *text);
void address_give_back(struct address_pool *pool, const char *text);

#endif
