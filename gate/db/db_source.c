
#include <libpq-fe.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/log.h"
#include "gate/db/db_internal.h"

enum { MAX_DSN = 16 * 1024 };

struct db_source {
    const char *file;
    char *dsn;
    unsigned generation;
    struct errinfo trouble; /* last error of the file that was logged */
};

/* Reads the file without surrounding white space, which editors and `echo` leave in it. */
static enum err read_dsn(const char *file, char **out, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    char *text = NULL;
    size_t len = 0;
    enum err err = file_read(arena, file, MAX_DSN, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a NUL byte", file);
    if (err == ERR_OK) {
        static const char blank[] = " \t\r\n";
        text += strspn(text, blank);
        len = strlen(text);
        while (len > 0 && strchr(blank, text[len - 1]))
            len--;
        text[len] = '\0';
        err = len ? resolve_check(text, ei)
                  : err_set(ei, ERR_INVALID, "it is empty: expected a connection string");
        if (err != ERR_OK)
            err_wrap(ei, err, "%s", file);
    }
    *out = err == ERR_OK ? heap_strdup(text) : NULL;
    arena_free(arena);
    return err;
}

enum err db_source_new(const char *dsn, const char *file, struct db_source **out,
                       struct errinfo *ei)
{
    char *read = NULL;
    enum err err = ERR_OK;
    if (file && *file) {
        err = read_dsn(file, &read, ei);
    } else {
        file = NULL;
        read = heap_strdup(dsn ? dsn : "");
        err = resolve_check(read, ei);
    }
    if (err != ERR_OK) {
        free(read);
        return err;
    }
    *out = heap_alloc(sizeof(**out));
    **out = (struct db_source){.file = file, .dsn = read, .generation = 1};
    return ERR_OK;
}

void db_source_free(struct db_source *source)
{
    if (!source)
        return;
    free(source->dsn);
    free(source);
}

static bool has_password(const char *dsn)
{
    PQconninfoOption *options = PQconninfoParse(dsn, NULL);
    bool has = false;
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        has = has ||
              ((strcmp(o->keyword, "password") == 0 || strcmp(o->keyword, "sslpassword") == 0) &&
               o->val && *o->val);
    PQconninfoFree(options);
    return has;
}

bool db_source_shows_password(const char *dsn, int argc, char *const *argv)
{
    bool shown = false;
    for (int i = 1; dsn && *dsn && i < argc; i++)
        shown = shown || strstr(argv[i], dsn);
    return shown && has_password(dsn);
}

unsigned db_source_poll(struct db_source *source)
{
    char *dsn = NULL;
    struct errinfo info = {0};
    if (!source->file)
        return source->generation;
    if (read_dsn(source->file, &dsn, &info) != ERR_OK) {
        if (strcmp(info.text, source->trouble.text) != 0)
            log_warn("database_file_unread", NULL, info.text);
        source->trouble = info;
        return source->generation;
    }
    source->trouble = (struct errinfo){0};
    if (strcmp(dsn, source->dsn) == 0) {
        free(dsn);
        return source->generation;
    }
    free(source->dsn);
    source->dsn = dsn;
    source->generation++;
    log_info("database_file_changed", NULL, "the database's connection string has changed");
    return source->generation;
}

const char *db_source_dsn(const struct db_source *source)
{
    return source->dsn;
}

unsigned db_source_generation(const struct db_source *source)
{
    return source->generation;
}

/* Limits of the addresses tried per host, and of hosts. */
enum { MAX_ADDRESSES = 8, MAX_HOSTS = 32 };

struct resolve {
    struct arena *arena;
    resolve_fn fn;
    void *arg;
    const char *hosts[MAX_HOSTS];
    const char *ports[MAX_HOSTS];
    int n_hosts, at; /* the host that is being resolved */
    struct resolved out[MAX_HOSTS * MAX_ADDRESSES];
    int n_out, first;
    struct errinfo trouble; /* error of the last name that could not be resolved */
    struct timer *timer;
    uv_getaddrinfo_t request;
    struct loop *loop;
};

static void resolve_next(struct resolve *resolve);

enum err resolve_check(const char *dsn, struct errinfo *ei)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(dsn, &why);
    PQfreemem(why); /* it contains the whole string with its passwords */
    if (!options)
        return err_set(ei, ERR_INVALID,
                       "the database's connection string cannot be read: expected a URL "
                       "postgresql://user:password@host:port/name or a list of key=value");
    PQconninfoFree(options);
    return ERR_OK;
}

static const char *option(const PQconninfoOption *options, const char *name)
{
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, name) == 0)
            return options->val && *options->val ? options->val : NULL;
    return NULL;
}

/* Splits at commas; empty parts count. */
static int split(struct arena *arena, const char *text, const char *parts[MAX_HOSTS])
{
    int n = 0;
    for (;;) {
        size_t len = strcspn(text, ",");
        if (n < MAX_HOSTS)
            parts[n++] = arena_strndup(arena, text, len);
        if (!text[len])
            return n;
        text += len + 1;
    }
}

static bool is_address(const char *host)
{
    struct in6_addr address;
    return uv_inet_pton(AF_INET, host, &address) == 0 ||
           uv_inet_pton(AF_INET6, host, &address) == 0;
}

static bool is_name(const char *host)
{
    return *host && *host != '/' && *host != '@' && !is_address(host);
}

/* Reads hosts and ports as libpq does; false if there is nothing to resolve: one socket or
 * address. */
static bool read_hosts(struct resolve *resolve, const char *dsn)
{
    PQconninfoOption *given = PQconninfoParse(dsn, NULL);
    PQconninfoOption *defaults = PQconndefaults(); /* the environment */
    const char *host = option(given, "host"), *port = option(given, "port");
    host = host ? host : option(defaults, "host");
    port = port ? port : option(defaults, "port");
    bool ours = host && !option(given, "hostaddr") && !option(defaults, "hostaddr") &&
                !option(given, "service") && !getenv("PGSERVICE");
    bool needed = false;
    if (ours) {
        resolve->n_hosts = split(resolve->arena, host, resolve->hosts);
        int n_ports = split(resolve->arena, port ? port : "", resolve->ports);
        /* A single port applies to all hosts; libpq rejects a list of another length. */
        for (int i = 1; n_ports == 1 && i < resolve->n_hosts; i++)
            resolve->ports[i] = resolve->ports[0];
        ours = n_ports == 1 || n_ports == resolve->n_hosts;
        needed = resolve->n_hosts > 1 || is_name(resolve->hosts[0]);
    }
    PQconninfoFree(given);
    PQconninfoFree(defaults);
    return ours && needed;
}

static void put(struct resolve *resolve, const char *address)
{
    resolve->out[resolve->n_out++] = (struct resolved){.host = resolve->hosts[resolve->at],
                                                       .port = resolve->ports[resolve->at],
                                                       .hostaddr = address};
}

/* Joins the lists, rotated to begin with the first address to try. */
static struct resolved joined(struct resolve *resolve)
{
    struct arena *arena = resolve->arena;
    struct resolved all = {0};
    for (int i = 0; i < resolve->n_out; i++) {
        const struct resolved *one = &resolve->out[(resolve->first + i) % resolve->n_out];
        all.host = i ? arena_printf(arena, "%s,%s", all.host, one->host) : one->host;
        all.port = i ? arena_printf(arena, "%s,%s", all.port, one->port) : one->port;
        all.hostaddr =
            i ? arena_printf(arena, "%s,%s", all.hostaddr, one->hostaddr) : one->hostaddr;
    }
    return all;
}

static void destroy(struct resolve *resolve)
{
    arena_free(resolve->arena);
    free(resolve);
}

static void finish(struct resolve *resolve)
{
    struct resolved all = joined(resolve);
    if (resolve->fn && resolve->n_hosts && !resolve->n_out)
        resolve->fn(resolve->arg, ERR_RETRY, &resolve->trouble, NULL);
    else if (resolve->fn)
        resolve->fn(resolve->arg, ERR_OK, &resolve->trouble, &all);
    destroy(resolve);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct resolve *resolve = request->data;
    const char *host = resolve->hosts[resolve->at];
    if (status < 0)
        err_set(&resolve->trouble, ERR_RETRY, "the name \"%s\" cannot be resolved: %s", host,
                uv_strerror(status));
    int n = 0;
    for (const struct addrinfo *info = list; info && n < MAX_ADDRESSES; info = info->ai_next, n++) {
        char text[INET6_ADDRSTRLEN];
        if (getnameinfo(info->ai_addr, info->ai_addrlen, text, sizeof(text), NULL, 0,
                        NI_NUMERICHOST) == 0)
            put(resolve, arena_strdup(resolve->arena, text));
    }
    uv_freeaddrinfo(list);
    resolve->at++;
    if (resolve->fn)
        resolve_next(resolve);
    else
        destroy(resolve);
}

/* Continues until it has to wait for a name. */
static void resolve_next(struct resolve *resolve)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    for (; resolve->at < resolve->n_hosts; resolve->at++) {
        const char *host = resolve->hosts[resolve->at];
        if (!is_name(host)) {
            put(resolve, is_address(host) ? host : "");
            continue;
        }
        resolve->request.data = resolve;
        int failed = uv_getaddrinfo(loop_uv(resolve->loop), &resolve->request, on_resolved, host,
                                    NULL, &hints);
        if (!failed)
            return;
        err_set(&resolve->trouble, ERR_RETRY, "the name \"%s\" cannot be resolved: %s", host,
                uv_strerror(failed));
    }
    finish(resolve);
}

static void begin(void *arg)
{
    struct resolve *resolve = arg;
    resolve->timer = NULL;
    resolve_next(resolve);
}

struct resolve *resolve_start(struct loop *loop, const char *dsn, int first, resolve_fn fn,
                              void *arg)
{
    struct resolve *resolve = heap_alloc(sizeof(*resolve));
    *resolve =
        (struct resolve){.arena = arena_new(), .loop = loop, .first = first, .fn = fn, .arg = arg};
    if (!read_hosts(resolve, dsn))
        resolve->n_hosts = 0;
    resolve->timer = timer_start(loop, 0, 0, begin, resolve);
    return resolve;
}

void resolve_free(struct resolve *resolve)
{
    if (!resolve)
        return;
    resolve->fn = NULL;
    if (resolve->timer) {
        timer_stop(resolve->timer);
        destroy(resolve);
        return;
    }
    uv_cancel((uv_req_t *)&resolve->request); /* on_resolved is called in any case, and frees */
}
