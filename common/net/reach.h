/*
 * Which addresses a client connects to, whatever name or redirect led there: those of the machine and of the
 * link are refused, as are the metadata services of clouds; a list opens and closes further ranges. Addresses
 * of IPv4 that are written as IPv6 (mapped, NAT64) count as what they are. Pure.
 */
#ifndef NET_REACH_H
#define NET_REACH_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/err.h"

struct reach;

/*
 * text: "+10.0.0.5,-10.0.0.0/8,+loopback": opens (+) or closes (-) an address, a range, or one of the words
 * loopback and link-local; of several that have an address in them the last counts. NULL or "": none.
 * loopback: whether the machine's own addresses are refused where the list says nothing of them.
 * Lives in the arena. ERR_INVALID: what of the text is none of these.
 */
enum err reach_read(struct arena *arena, const char *text, bool loopback, const struct reach **out,
                    struct errinfo *ei) MUST_USE;
bool reach_refuses(const struct reach *reach, const struct sockaddr *address);
/* The same of a numeric address, "127.0.0.1"; false: it is none. */
bool reach_refuses_text(const struct reach *reach, const char *address);

#endif
