/* GET /debug/process: how the gate stands, for a person who looks into it. */
#include "base/clock.h"
#include "base/json.h"
#include "gate/api/api.h"
#include "gate/db/db_connection.h"
#include "net/server/debug.h"

static void add_connection(void *arg, const char *lane, const struct db_connection_look *look)
{
    struct json_object *one = json_object_new_object();

    json_object_array_add(arg, one);
    json_set_str(one, "lane", lane);
    json_set_str(one, "state", look->state);
    debug_set_time(one, "since", look->since_ms);
    json_set_int(one, "inFlight", look->in_flight);
    if (look->oldest_ms > 0)
        json_set_int(one, "oldestMilliseconds", clock_monotonic_ms() - look->oldest_ms);
    json_set_str(one, "leaving", look->leaving);
}

static void set_database(struct json_object *out, const struct db *db)
{
    struct json_object *connections = json_object_new_array();
    const char *trouble = db_trouble(db);

    json_set_bool(out, "ready", db_ready(db));
    if (*trouble)
        json_set_str(out, "trouble", trouble);
    json_object_object_add(out, "connections", connections);
    db_each(db, add_connection, connections);
}

static void set_events(struct json_object *out, const struct feed *feed)
{
    struct feed_look look;

    feed_look(feed, &look);
    json_set_int(out, "clients", look.clients);
    json_set_int(out, "maxClients", FEED_MAX_CLIENTS);
    json_set_int(out, "behind", look.behind);
    json_set_int(out, "waiting", look.waiting);
    if (look.seq >= 0)
        json_set_int(out, "seq", look.seq);
}

void api_debug_process(void *arg, struct http_conn_request *req)
{
    const struct gate_api *api = arg;
    struct identity identity;

    if (!identity_admit(api->identities, req, ROLE_CHECK, &identity) || debug_shared(req))
        return;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());
    debug_process(api->server, out);
    set_database(json_sub(out, "database"), api->db);
    set_events(json_sub(out, "events"), api->feed);
    debug_reply(req, out);
}
