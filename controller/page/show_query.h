/* What the metrics of a Canary ask, and where a person can ask the same. */
#ifndef PAGE_SHOW_QUERY_H
#define PAGE_SHOW_QUERY_H

#include "base/err.h"
#include "proto/canary.h"
#include "tick/tick.h"

/* Where people open what the controller asks by addresses of the cluster; NULL: not known. Without a
 * slash at the end. */
struct show_links {
    const char *prometheus, *grafana;
};
/* As an option says it, "" and NULL: not known. ERR_INVALID: it is no address that a browser opens.
 * Owned by the arena. */
enum err show_link_read(struct arena *arena, const char *option, const char *text, const char **out,
                        struct errinfo *ei) MUST_USE;

/*
 * [{name, query, link, grafana}], a metric each. query and links (to the graph of Prometheus, and to
 * Explore of Grafana where that is known) only of those that Prometheus is asked for by their name
 * or their own query; what a MetricTemplate asks stands there. Owned by the arena.
 */
struct json_object *show_queries(struct arena *arena, const struct settings *settings,
                                 const struct show_links *links, const struct canary *canary);

#endif
