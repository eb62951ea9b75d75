/*
 * The credentials that go with each request, kept fresh: a token file is read again when it changed
 * (looked at once a minute), an exec plugin is run again when its answer expires. A 401 refreshes
 * either at once.
 *
 * Belongs to the client. `changed` is called from the loop, never from inside a function of this
 * file, when a pending answer is there or has failed.
 */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include "kube/config.h"
#include "net/loop.h"

struct credentials;

enum credentials_state {
    CREDENTIALS_READY,   /* the view is filled */
    CREDENTIALS_PENDING, /* ask again when changed() is called */
    CREDENTIALS_FAILED,  /* errinfo says why */
};

/* Valid until the loop is entered again. */
struct credentials_view {
    const char *authorization; /* header value, NULL: none */
    const struct http_tls *tls;
    uint64_t generation;
};

struct credentials *credentials_new(struct loop *loop, const struct kube_config *config,
                                    void (*changed)(void *arg), void *arg);
void credentials_free(struct credentials *c); /* a running plugin is stopped */
/* How often the token file is looked at, default once a minute; for tests. */
void credentials_set_check_interval(struct credentials *c, int64_t ms);
enum credentials_state credentials_get(struct credentials *c, struct credentials_view *view,
                                       struct errinfo *ei);
/* A request with that generation was answered 401. True: credentials_get() may bring others, try
 * once more. */
bool credentials_refused(struct credentials *c, uint64_t generation);

#endif
