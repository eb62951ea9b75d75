#include "cluster/mirror.h"

#include <string.h>

#include "cluster/haproxy.h"

#define MARK "# rule " /* begins what is written of one rule */
#define TAIL "}\n"     /* ends the whole text */

/*
 * Where a request goes when HAProxy has just forgotten the rule and listens for it no more:
 * requests that are under way then must not fail. NULL: nowhere, or the rule changes requests.
 */
static const char *last_resort(const struct route_rule *rule)
{
    const struct route_filters *filters = &rule->filters;

    if (filters->host || filters->full_path || filters->prefix_path)
        return NULL;
    for (size_t i = 0; i < rule->backend_count; i++)
        if (rule->backends[i].weight > 0 && rule->backends[i].address)
            return rule->backends[i].address;
    return NULL;
}

static void put_upstream(const struct route_rule *rule, const char *directory, const char *key,
                         struct buf *out)
{
    buf_printf(out, "    upstream rule_%s {\n        server unix:%s/r%s.sock max_fails=0;\n", key,
               directory, key);
    if (last_resort(rule))
        buf_printf(out, "        server %s backup;\n", last_resort(rule));
    buf_puts(out, "    }\n");
}

static void put_rule(const struct route_rule *rule, const char *directory, const char *key,
                     struct buf *out)
{
    buf_printf(out, MARK "%s\n", key);
    for (size_t i = 0; i < rule->mirror_count; i++)
        if (rule->mirrors[i].percent < 100)
            buf_printf(out, "    split_clients $request_id $copy_%s_%zu { %.2f%% 1; * 0; }\n", key,
                       i, rule->mirrors[i].percent);
    put_upstream(rule, directory, key, out);
    buf_printf(out, "    server { # %s\n        listen unix:%s/m%s.sock;\n        location / {\n",
               rule->id, directory, key);
    for (size_t i = 0; i < rule->mirror_count; i++)
        buf_printf(out, "            mirror /sandbox-mirror-%zu;\n", i);
    buf_printf(out, "            proxy_pass http://rule_%s;\n        }\n", key);
    for (size_t i = 0; i < rule->mirror_count; i++) {
        const struct route_mirror *mirror = &rule->mirrors[i];
        buf_printf(out, "        location = /sandbox-mirror-%zu {\n            internal;\n", i);
        if (mirror->percent <= 0)
            buf_puts(out, "            return 204;\n");
        else if (mirror->percent < 100)
            buf_printf(out, "            if ($copy_%s_%zu = 0) { return 204; }\n", key, i);
        buf_puts(out, "            proxy_read_timeout 5s;\n");
        buf_printf(out, "            proxy_pass http://%s$request_uri;\n        }\n",
                   mirror->backend.address ? mirror->backend.address : "127.0.0.1:1");
    }
    buf_puts(out, "    }\n");
}

size_t mirror_config(const struct route_table *table, const char *directory, bool root,
                     struct arena *arena, struct buf *out)
{
    static const char *const temps[] = {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"};
    size_t count = 0;

    buf_puts(out, "# written by flagger-sandbox\n");
    if (root)
        buf_puts(out, "user root;\n");
    buf_printf(out, "daemon off;\nworker_processes 1;\nerror_log stderr warn;\npid %s/nginx.pid;\n",
               directory);
    buf_puts(out, "events { worker_connections 2048; }\nhttp {\n    access_log off;\n"
                  "    client_max_body_size 0;\n    proxy_http_version 1.1;\n"
                  "    proxy_set_header Host $http_host;\n    proxy_set_header Connection \"\";\n"
                  "    proxy_read_timeout 75s;\n    server_names_hash_bucket_size 128;\n"
                  "    variables_hash_bucket_size 128;\n");
    for (size_t i = 0; i < sizeof(temps) / sizeof(temps[0]); i++)
        buf_printf(out, "    %s_temp_path %s/nginx-%s;\n", temps[i], directory, temps[i]);
    for (size_t i = 0; i < table->rule_count; i++) {
        if (table->rules[i]->mirror_count == 0)
            continue;
        count++;
        put_rule(table->rules[i], directory, haproxy_rule_key(arena, table->rules[i]), out);
    }
    buf_puts(out, TAIL);
    return count;
}

/* What is written of the rule at `at`: up to the next one, or to the tail. */
static size_t rule_len(const char *at)
{
    const char *next = strstr(at + strlen(MARK), "\n" MARK);

    return next ? (size_t)(next + 1 - at) : strlen(at) - strlen(TAIL);
}

static const char *first_rule(const char *config)
{
    const char *found = strstr(config, "\n" MARK);

    return found ? found + 1 : NULL;
}

size_t mirror_keep(const char *live, const char *next, struct arena *arena, struct buf *out)
{
    const char *frame = *next ? next : live, *rule = first_rule(live);
    size_t kept = 0;

    buf_add(out, frame, *next ? strlen(next) - strlen(TAIL) : (size_t)(rule ? rule - live : 0));
    while (rule && strncmp(rule, MARK, strlen(MARK)) == 0) {
        size_t len = rule_len(rule);
        const char *head = arena_printf(arena, "%.*s", (int)strcspn(rule, "\n") + 1, rule);
        if (!strstr(next, head)) {
            buf_add(out, rule, len);
            kept++;
        }
        rule += len;
    }
    buf_puts(out, TAIL);
    return kept;
}
