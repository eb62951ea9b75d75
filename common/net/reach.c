#include "net/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 16, BITS = 8 * BYTES, MAPPED_BITS = 96 };

/* A range of IPv6 addresses; IPv4 is mapped. */
struct range {
    unsigned char address[BYTES];
    int bits;
    bool refused;
};

struct reach {
    struct range *ranges;
    int count;
};

static const unsigned char mapped[BYTES] = {[10] = 0xff, [11] = 0xff};
static const unsigned char nat64[BYTES] = {0, 0x64, 0xff, 0x9b};

static const char *const loopback_ranges[] = {"127.0.0.0/8", "0.0.0.0/8", "::1", "::", NULL};
/* Includes metadata services outside the link-local range: Amazon, Google, Alibaba, Azure,
 * Oracle. */
static const char *const link_ranges[] = {
    "169.254.0.0/16",  "fe80::/10",     "fd00:ec2::/32", "fd20:ce::254",
    "100.100.100.200", "168.63.129.16", "192.0.0.192",   NULL};

static bool has(const struct range *range, const unsigned char address[BYTES])
{
    int whole = range->bits / 8, rest = range->bits % 8;
    unsigned char mask = (unsigned char)(0xff << (8 - rest));

    return memcmp(range->address, address, (size_t)whole) == 0 &&
           (rest == 0 || ((range->address[whole] ^ address[whole]) & mask) == 0);
}

static bool read_address(const char *text, unsigned char out[BYTES], bool *four)
{
    memcpy(out, mapped, BYTES);
    *four = inet_pton(AF_INET, text, out + 12) == 1;
    return *four || inet_pton(AF_INET6, text, out) == 1;
}

static bool read_range(struct arena *arena, const char *text, struct range *out)
{
    size_t len = strcspn(text, "/");
    const char *address = arena_strndup(arena, text, len);
    char *end = NULL;
    bool four;

    if (!read_address(address, out->address, &four))
        return false;
    long most = four ? 32 : BITS, bits = text[len] ? strtol(text + len + 1, &end, 10) : most;
    if (end && (*end || end == text + len + 1 || bits < 0 || bits > most))
        return false;
    out->bits = (int)bits + (four ? MAPPED_BITS : 0);
    return true;
}

static void add(struct arena *arena, struct reach *reach, const struct range *range)
{
    struct range *all = arena_array(arena, (size_t)reach->count + 1, sizeof(*all));

    if (reach->count > 0)
        memcpy(all, reach->ranges, (size_t)reach->count * sizeof(*all));
    all[reach->count++] = *range;
    reach->ranges = all;
}

static bool add_text(struct arena *arena, struct reach *reach, const char *text, bool refused)
{
    const char *const one[] = {text, NULL}, *const *list = one;

    if (strcmp(text, "loopback") == 0)
        list = loopback_ranges;
    else if (strcmp(text, "link-local") == 0)
        list = link_ranges;
    for (; *list; list++) {
        struct range range = {.refused = refused};
        if (!read_range(arena, *list, &range))
            return false;
        add(arena, reach, &range);
    }
    return true;
}

enum err reach_read(struct arena *arena, const char *text, bool loopback, const struct reach **out,
                    struct errinfo *ei)
{
    struct reach *reach = ARENA_NEW(arena, struct reach);

    *reach = (struct reach){0};
    *out = reach;
    (void)add_text(arena, reach, "link-local", true);
    (void)add_text(arena, reach, "loopback", loopback);
    while (text && *text) {
        size_t len = strcspn(text, ",");
        const char *item = arena_strndup(arena, text, len);
        bool sign = *item == '+' || *item == '-';
        if (!sign || !add_text(arena, reach, item + 1, *item == '-'))
            return err_set(
                ei, ERR_INVALID,
                "expected + or - and an address, a range such as 10.0.0.0/8, loopback or "
                "link-local, found \"%.60s\"",
                item);
        text += len + (text[len] == ',');
    }
    return ERR_OK;
}

static bool refuses(const struct reach *reach, const unsigned char address[BYTES])
{
    for (int i = reach->count - 1; i >= 0; i--) {
        if (has(&reach->ranges[i], address))
            return reach->ranges[i].refused;
    }
    return false;
}

/* NAT64 leads to the embedded IPv4 address. */
static bool refuses_either(const struct reach *reach, unsigned char address[BYTES])
{
    if (refuses(reach, address))
        return true;
    if (memcmp(address, nat64, 12) != 0)
        return false;
    memcpy(address, mapped, 12);
    return refuses(reach, address);
}

enum err reach_option(struct arena *arena, const char *text, const struct reach **out,
                      struct errinfo *ei)
{
    enum err err = reach_read(arena, text, getenv("KUBERNETES_SERVICE_HOST") != NULL, out, ei);

    return err == ERR_OK ? ERR_OK : err_wrap(ei, err, REACH_OPTION);
}

bool reach_refuses(const struct reach *reach, const struct sockaddr *address)
{
    unsigned char bytes[BYTES];

    memcpy(bytes, mapped, BYTES);
    if (address->sa_family == AF_INET)
        memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6)
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, BYTES);
    else
        return false;
    return refuses_either(reach, bytes);
}

bool reach_refuses_text(const struct reach *reach, const char *address)
{
    unsigned char bytes[BYTES];
    bool four;

    return read_address(address, bytes, &four) && refuses_either(reach, bytes);
}
