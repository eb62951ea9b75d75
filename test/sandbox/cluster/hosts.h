/*
 * The hosts file that lets the daemons, curl and hey find Services by name. It may be bind-mounted
 * over /etc/hosts, so it is changed in place: one write covers it whole, old bytes behind the new
 * ones are first blanked, then cut off.
 */
#ifndef CLUSTER_HOSTS_H
#define CLUSTER_HOSTS_H

#include "base/buf.h"

enum { HOSTS_MAX = 1024 * 1024 };

/* Appends the lines every hosts file begins with. */
void hosts_begin(struct buf *text);
/*
 * Appends the line of a Service: NAME.NS, NAME.NS.svc, NAME.NS.svc.cluster.local, and NAME alone in
 * the namespaces default and test.
 */
void hosts_add(struct buf *text, const char *address, const char *ns, const char *name);
/* Makes the file when it is missing. */
enum err hosts_write(const char *path, const struct buf *text, struct errinfo *ei) MUST_USE;

#endif
