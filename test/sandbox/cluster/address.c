#include "cluster/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum err address_slot(int *slot, int *fd, struct errinfo *ei)
{
    for (*slot = 0; *slot < ADDRESS_SLOTS; (*slot)++) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int len =
            snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "flagger-sandbox-%d", *slot);
        *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (*fd < 0)
            return err_set(ei, ERR_DENIED, "cannot make a socket: %s", strerror(errno));
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
        if (bind(*fd, (const struct sockaddr *)&addr, size) == 0)
            return ERR_OK;
        close(*fd);
    }
    *fd = -1;
    return err_set(ei, ERR_CONFLICT, "%d sandboxes run on this machine already; stop one",
                   ADDRESS_SLOTS);
}

void address_init(struct address_pool *pool, int net, int slot)
{
    *pool = (struct address_pool){.base = (127u << 24) + ((uint32_t)net << 16) +
                                          (uint32_t)slot * ADDRESS_PER_SLOT};
    pool->used[0] = pool->used[ADDRESS_PER_SLOT - 1] = true; /* would look like net and broadcast */
    pool->next = 1;
}

bool address_take(struct address_pool *pool, char text[ADDRESS_TEXT])
{
    for (uint32_t i = 0; i < ADDRESS_PER_SLOT; i++) {
        uint32_t at = (pool->next + i) % ADDRESS_PER_SLOT;
        if (pool->used[at])
            continue;
        pool->used[at] = true;
        pool->next = at + 1;
        uint32_t ip = pool->base + at;
        snprintf(text, ADDRESS_TEXT, "%u.%u.%u.%u", ip >> 24, (ip >> 16) & 255, (ip >> 8) & 255,
                 ip & 255);
        return true;
    }
    text[0] = '\0';
    return false;
}

static bool *find(struct address_pool *pool, const char *text)
{
    struct in_addr addr;
    if (inet_pton(AF_INET, text, &addr) != 1)
        return NULL;
    uint32_t at = ntohl(addr.s_addr) - pool->base;
    return at < ADDRESS_PER_SLOT ? &pool->used[at] : NULL;
}

bool address_claim(struct address_pool *pool, const char *text)
{
    bool *used = find(pool, text);
    if (used && *used)
        return false;
    if (used)
        *used = true;
    return true;
}

void address_give_back(struct address_pool *pool, const char *text)
{
    bool *used = find(pool, text);
    if (used && used != &pool->used[0])
        *used = false;
}
