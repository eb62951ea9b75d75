#include <string.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cluster/haproxy.h"
#include "test/unit.h"

#define DATA "test/sandbox/cluster/testdata/"

static const char *resolve(void *arg, struct arena *arena, const char *ns, const char *name)
{
    (void)arg;
    (void)arena;
    (void)ns;
    if (strcmp(name, "missing") == 0)
        return NULL;
    return strcmp(name, "web-canary") == 0 ? "127.96.0.3" : "127.96.0.2";
}

static void load(struct arena *arena, const char *file, struct route_table *table)
{
    char *text;
    size_t len;
    struct json_object *doc;
    struct errinfo ei;
    assert_int_equal(file_read(arena, file, 1 << 20, &text, &len, &ei), ERR_OK);
    assert_int_equal(json_parse(arena, text, len, 1 << 20, &doc, &ei), ERR_OK);
    struct json_object **routes =
        arena_array(arena, json_len(doc) + 1, sizeof(struct json_object *));
    for (size_t i = 0; i < json_len(doc); i++)
        routes[i] = json_elem(doc, i);
    route_table_make(arena, routes, json_len(doc), resolve, NULL, table);
}

/* UPDATE_GOLDEN=1 writes what came out instead, to be looked at and committed. */
static void golden(struct arena *arena, const char *file, const struct buf *got)
{
    char *want;
    size_t len;
    struct errinfo ei;
    assert_false(got->truncated);
    if (getenv("UPDATE_GOLDEN"))
        assert_int_equal(file_write(file, got->data, got->len, 0644, &ei), ERR_OK);
    assert_int_equal(file_read(arena, file, 1 << 20, &want, &len, &ei), ERR_OK);
    assert_string_equal(got->data, want);
}

CASE(texts)
{
    struct route_table table;
    struct buf out;
    load(arena, DATA "routes.json", &table);
    for (size_t i = 0; i < table.result_count; i++)
        assert_null(table.results[i].refused);
    const struct haproxy_in in = {.table = &table,
                                  .directory = "/run/sandbox",
                                  .address = "127.96.0.1",
                                  .port = 8080,
                                  .mark = "change-7"};
    buf_init(&out, HAPROXY_CONFIG_MAX);
    haproxy_config(&in, arena, &out);
    golden(arena, DATA "haproxy.cfg", &out);
    buf_fini(&out);
}

/* The exit status; 0 as well where the program is not installed. */
static int run(const char *const *argv)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(errno == ENOENT ? 0 : 126);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whatever the routes say, the real program must take it. */
CASE(accepted_by_haproxy)
{
    struct route_table table;
    struct buf out;
    load(arena, DATA "routes.json", &table);
    unit_put("gateway.lua", haproxy_lua);
    const struct haproxy_in in = {.table = &table, .directory = unit_folder(), .port = 18999};
    buf_init(&out, HAPROXY_CONFIG_MAX);
    haproxy_config(&in, arena, &out);
    const char *path = unit_put("haproxy.cfg", out.data);
    assert_int_equal(run((const char *[]){"haproxy", "-c", "-q", "-f", path, NULL}), 0);
    buf_fini(&out);
}

/* Only weights differ: the structure is the same, so no reload; anything else: it is not. */
CASE(structure)
{
    struct route_table table;
    struct buf before, after, commands;
    load(arena, DATA "routes.json", &table);
    struct haproxy_in in = {
        .table = &table, .directory = "/d", .port = 1, .mark = "m", .no_weights = true};
    buf_init(&before, HAPROXY_CONFIG_MAX);
    buf_init(&after, HAPROXY_CONFIG_MAX);
    buf_init(&commands, HAPROXY_CONFIG_MAX);
    haproxy_config(&in, arena, &before);
    table.rules[0]->backends[0].weight++;
    in.mark = "n";
    haproxy_config(&in, arena, &after);
    assert_string_equal(before.data, after.data);
    table.rules[0]->backends[0].address = "127.96.0.9:80";
    buf_clear(&after);
    haproxy_config(&in, arena, &after);
    assert_string_not_equal(before.data, after.data);
    haproxy_weights(&table, arena, &commands);
    assert_non_null(strstr(commands.data, "rule."));
    /* Who gets a share comes before who loses it. */
    assert_true(table.rules[0]->backend_count >= 2);
    table.rules[0]->backends[0].weight = 0;
    table.rules[0]->backends[1].weight = 100;
    buf_clear(&commands);
    haproxy_weights(&table, arena, &commands);
    assert_true(strstr(commands.data, "/s1 1\n") < strstr(commands.data, "/s0 0\n"));
    for (size_t i = 0; i < table.rules[0]->backend_count; i++) /* none left: that is another text */
        table.rules[0]->backends[i].weight = 0;
    buf_clear(&before);
    haproxy_config(&in, arena, &before);
    assert_string_not_equal(before.data, after.data);
    buf_fini(&before);
    buf_fini(&after);
    buf_fini(&commands);
}
