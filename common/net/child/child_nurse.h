/*
 * The nursery's side of net/child/child_nursery.h: a process that keeps some supervisors ready at
 * the common socket, and what is sent through that.
 */
#ifndef NET_CHILD_NURSE_H
#define NET_CHILD_NURSE_H

#include <sys/socket.h>

enum { CHILD_SOCKET = 3, PARCEL_FDS = 3 };

/* A message with the three descriptors of a command. */
struct parcel {
    struct msghdr msg;
    struct iovec iov;
    char byte;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PARCEL_FDS * sizeof(int))];
};

void parcel_init(struct parcel *parcel);

#endif
