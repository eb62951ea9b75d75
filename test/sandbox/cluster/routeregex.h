/*
 * Whether a regular expression of a route is one that the proxy takes. One that it does not take
 * would keep its whole configuration from being loaded, and with it every other route. Pure.
 */
#ifndef CLUSTER_ROUTEREGEX_H
#define CLUSTER_ROUTEREGEX_H

#include <stdbool.h>

/*
 * True for the common ground of RE2 (which the Gateway API's implementations mostly have) and
 * PCRE2: characters, classes, groups "(...)", "(?:...)" and a leading "(?i)", alternatives,
 * quantifiers, the usual escapes.
 */
bool routeregex_ok(const char *text);

#endif
