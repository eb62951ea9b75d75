/*
 * Filter of the addresses that a client connects to, whatever name or redirect leads there.
 * Addresses of the machine and of the link are refused, as are metadata services of clouds; a list
 * opens and closes further ranges. IPv4 addresses within IPv6 (mapped, NAT64) count as IPv4. Pure.
 */
#ifndef NET_REACH_H
#define NET_REACH_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/err.h"

struct reach;

/*
 * text: "+10.0.0.5,-10.0.0.0/8,+loopback": opens (+) or closes (-) an address, a range, or one of
 * the words loopback and link-local; the last match wins. NULL or "" is an empty list. loopback:
 * refuse the machine's own addresses if the list does not mention them. Lives in the arena.
 * ERR_INVALID with the item that is invalid.
 */
enum err reach_read(struct arena *arena, const char *text, bool loopback, const struct reach **out,
                    struct errinfo *ei) MUST_USE;
/* The option of the daemons that has such a list. */
#define REACH_OPTION "--tenant-addresses"
/* The same for that option, which the error names. In a pod the machine's own addresses are refused:
 * they are those of sidecars and of this process. */
enum err reach_option(struct arena *arena, const char *text, const struct reach **out,
                      struct errinfo *ei) MUST_USE;
bool reach_refuses(const struct reach *reach, const struct sockaddr *address);
/* The same for a numeric address, "127.0.0.1"; false if the text is no address. */
bool reach_refuses_text(const struct reach *reach, const char *address);

#endif
