/* flagger-gate: options and wiring. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "gate/api/api.h"
#include "gate/db/db.h"
#include "gate/rules/history.h"

static struct {
    const char *address, *database, *database_file, *log_level;
    const char *token_file, *tls_cert, *tls_key, *tls_client_ca;
    const char *link_key_file, *public_url, *hosts;
    int64_t port, database_connections;
    bool anybody, anonymous_check;
} opt;

static const struct option_row rows[] = {
    OPTION(INT, "port", &opt.port, .value = "8080", .min = 0, .max = 65535, .arg = "PORT",
           .help = "port to listen on; 0 takes a free one"),
    OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0"),
    OPTION(STRING, "database", &opt.database, .env = "DATABASE_URL", .arg = "DSN", .secret = true,
           .help = "PostgreSQL connection string or URL; libpq's PG* variables fill in what it "
                   "leaves out"),
    OPTION(STRING, "database-file", &opt.database_file, .env = "DATABASE_FILE", .arg = "FILE",
           .help =
               "file that holds the connection string instead, as of a mounted Secret; a change is "
               "noticed within ten seconds, and loses no request"),
    OPTION(INT, "database-connections", &opt.database_connections, .value = "4", .min = 2,
           .max = DB_MAX_CONNECTIONS, .arg = "N",
           .help =
               "connections to the database, half for checks and half for changes; one more is for "
               "lists, "
               "and one more listens"),
    OPTION_ROW_LOG_LEVEL(&opt.log_level),
    OPTION(STRING, "token-file", &opt.token_file, .arg = "FILE", .group = "Access",
           .help = "tokens and certificates with their roles, a row each (see below); read again "
                   "when it changes"),
    OPTION(BOOL, "anybody", &opt.anybody, .group = "Access",
           .help = "every client that reaches the port may open every gate; without --token-file, "
                   "--tls-client-ca or this the gate does not start"),
    OPTION(
        BOOL, "anonymous-check", &opt.anonymous_check, .group = "Access",
        .help =
            "POST /gate/check and /rollback/check need no credentials, as webhooks of Flagger send "
            "none"),
    OPTION(STRING, "hosts", &opt.hosts, .arg = "NAMES", .group = "Access",
           .help =
               "further accepted host names, such as that of an Ingress, separated by commas; that "
               "of --public-url, names of Services and addresses are always accepted, others are "
               "answered 421"),
    OPTION_ROW_TLS_CERT(&opt.tls_cert, .group = "Access"),
    OPTION_ROW_TLS_KEY(&opt.tls_key, .group = "Access"),
    OPTION(STRING, "tls-client-ca", &opt.tls_client_ca, .arg = "FILE", .group = "Access",
           .help = "authority whose certificates clients may show instead of a token"),
    OPTION(
        STRING, "link-key-file", &opt.link_key_file, .arg = "FILE", .group = "Signed links",
        .help =
            "keys, one a line of at least 32 characters: the first signs, all verify; read again "
            "when it changes; without it there are no links"),
    OPTION(STRING, "public-url", &opt.public_url, .arg = "URL", .group = "Signed links",
           .help =
               "address of this gate for people, shown in the answer of a closed gate; without it "
               "links have the address of the request that created them"),
    {0}};

extern const char gate_help[]; /* help.txt */
static const struct option_program program = {
    .name = "flagger-gate",
    .summary =
        "Manual approval for releases: gates that a person opens and closes, kept in PostgreSQL.",
    .synopsis = "[OPTION...] | verify [OPTION...]",
    .details = gate_help,
    .rows = rows,
};

static void on_drain(void *arg)
{
    struct gate_api *api = arg;
    identities_stop(api->identities);
    feed_stop(api->feed);
    if (api->link_keys)
        link_keys_stop(api->link_keys);
    db_drain(api->db);
}

static bool is_ready(void *arg)
{
    const struct gate_api *api = arg;
    return db_ready(api->db);
}

/* Treats an empty option as absent: manifests may leave values empty. */
static const char *given(const char *text)
{
    return text && *text ? text : NULL;
}

static enum err check_options(struct errinfo *ei)
{
    if (!given(opt.tls_cert) != !given(opt.tls_key) ||
        (given(opt.tls_client_ca) && !given(opt.tls_cert)))
        return err_set(ei, ERR_INVALID,
                       "--tls-cert and --tls-key belong together, and --tls-client-ca needs both");
    return ERR_OK;
}

/* Listens and serves until the loop has drained. */
static int serve(struct gate_api *api, struct loop *loop, struct db_source *source,
                 struct errinfo *ei)
{
    static const struct db_statement *const *const statements[] = {gates_statements,
                                                                   api_link_statements, NULL};
    struct arena *arena = arena_new();
    const struct db_options database = {.source = source,
                                        .schema = schema_new(arena, gate_schema_sql),
                                        .statements = statements,
                                        .connections = (int)opt.database_connections};
    struct http_server *server = NULL;
    int status = 1;
    struct http_server_options options = {.address = opt.address,
                                          .port = (int)opt.port,
                                          .routes = gate_routes,
                                          .authorize = routes_admit,
                                          .arg = api,
                                          .ready = is_ready,
                                          .max_body = 64 * 1024,
                                          .tls_cert_file = given(opt.tls_cert),
                                          .tls_key_file = given(opt.tls_key),
                                          .tls_client_ca_file = given(opt.tls_client_ca),
                                          /* probes, links and clients with a token have no
                                           * certificate */
                                          .tls_client_optional = true,
                                          .name = "flagger_gate"};
    if (http_server_new(loop, &options, &server, ei) == ERR_OK) {
        api->db = db_new(loop, &database);
        api->feed = feed_new(loop, api->db, api->identities);
        api->server = server;
        loop_on_drain(loop, on_drain, api);
        loop_take_hangup(loop, "a restart takes: options and their environment");
        log_info("started", NULL, "answering for the gates", LOG_STR("version", FLAGGER_VERSION),
                 LOG_INT("port", http_server_port(server)));
        status = loop_run(loop);
        http_server_free(server);
        db_free(api->db);
        feed_free(api->feed);
    }
    arena_free(arena);
    return status;
}

/* Loads tokens and keys of links. */
static enum err open_access(struct gate_api *api, struct loop *loop, struct errinfo *ei)
{
    const struct identities_options options = {.token_file = opt.token_file,
                                               .client_ca = given(opt.tls_client_ca) != NULL,
                                               .anybody = opt.anybody,
                                               .anonymous_check = opt.anonymous_check};
    enum err err = identities_new(loop, &options, &api->identities, ei);
    if (err == ERR_OK && given(opt.link_key_file))
        err = link_keys_new(loop, opt.link_key_file, &api->link_keys, ei);
    return err;
}

/* /etc/resolv.conf names the namespace of a pod. */
static const struct hosts *own_hosts(struct arena *arena, const char *public_url)
{
    enum { MAX_FILE = 64 * 1024, MAX_NAME = 256 };
    struct errinfo info = {0};
    char *text = NULL, name[MAX_NAME] = "";
    size_t len;

    if (file_read(arena, "/etc/resolv.conf", MAX_FILE, &text, &len, &info) != ERR_OK)
        text = NULL;
    if (gethostname(name, sizeof(name) - 1) != 0)
        *name = '\0';
    const struct hosts_options options = {.public_url = public_url,
                                          .names = opt.hosts,
                                          .resolv_conf = text,
                                          .pod = arena_strdup(arena, name)};
    return hosts_new(arena, &options);
}

static int run(void)
{
    struct errinfo info = {0};
    struct gate_api api = {.tls = given(opt.tls_cert) != NULL};
    struct arena *arena = arena_new();
    struct db_source *source = NULL;
    int status = 2;

    if (check_options(&info) == ERR_OK &&
        api_public_url(arena, opt.public_url, &api.public_url, &info) == ERR_OK &&
        db_source_new(opt.database, opt.database_file, &source, &info) == ERR_OK) {
        struct loop *loop = loop_new(10000);
        api.hosts = own_hosts(arena, api.public_url);
        if (open_access(&api, loop, &info) == ERR_OK)
            status = serve(&api, loop, source, &info);
        link_keys_free(api.link_keys);
        identities_free(api.identities);
        loop_free(loop);
        db_source_free(source);
    }
    arena_free(arena);
    if (*info.text)
        log_error("start_failed", NULL, info.text);
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "verify") == 0)
        return verify_main(argc - 1, argv + 1);
    struct arena *arena = arena_new();
    option_parse_daemon(&program, arena, argc, argv, &opt.log_level);
    if (db_source_shows_password(opt.database, argc, argv))
        log_warn("password_in_arguments", NULL,
                 "every user of this machine can read the password in --database: give it in the "
                 "environment, DATABASE_URL, or as --database-file");
    int status = run();
    metrics_reset();
    arena_free(arena);
    return status;
}
