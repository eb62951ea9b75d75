#include "net/fixture_test.h"

/* Fair shares among several owners of calls. */

enum { PIECE = 64 * 1024, ROOM = 16 * PIECE, MOST = 64 };

static const struct http_route routes[] = {{NULL, "/echo", serve_echo},
                                           {"GET", "/hold", serve_hold},
                                           {"GET", "/stream", serve_stream},
                                           {NULL, NULL, NULL}};

static struct http_conn_request *answering[MOST];
static struct answer answers[MOST];
static struct http_call *calls[MOST];

static struct fixture *begin(struct fixture *f, const struct http_client_options *options)
{
    http_client_free(f->client);
    f->client = http_client_new(f->loop, options);
    memset(answers, 0, sizeof(answers));
    return f;
}

/* Sends a request whose answer the test sends in pieces. */
static void ask_for(struct fixture *f, int number, struct http_request *request)
{
    int before = f->holds;

    request->url = url_of(f, "/stream");
    request->timeout_ms = 20000;
    calls[number] = http_send(f->client, request, on_answer, &answers[number]);
    RUN_UNTIL(f, f->holds > before);
    answering[number] = f->held;
}

static void ask(struct fixture *f, int number, const char *owner)
{
    ask_for(f, number, &(struct http_request){.owner = owner});
}

static char piece[PIECE];

static void send_piece(struct fixture *f, int number)
{
    assert_true(http_stream_send(answering[number], piece, PIECE));
    LOOP_FOR(f->loop, 20);
}

static int ended_without_room(int from, int to)
{
    int count = 0;

    for (int i = from; i < to; i++)
        count += answers[i].count == 1 && answers[i].no_room && answers[i].err == ERR_RETRY;
    return count;
}

/* One owner has stalled while holding all of the memory, and another owner needs little. */
CASE(test_the_greediest_gives_way)
{
    enum { GREEDY = 18, OTHER = GREEDY };
    struct fixture *f =
        begin(SERVER(routes), &(struct http_client_options){.max_held = ROOM, .max_per_host = -1});

    for (int i = 0; i < GREEDY; i++) {
        ask(f, i, "tenant-a");
        send_piece(f, i);
    }
    /* no_room is set on its own call, since no other owner holds bytes */
    assert_int_equal(ended_without_room(0, GREEDY), GREEDY - ROOM / PIECE);
    for (int i = 0; i < GREEDY; i++)
        if (answers[i].count)
            assert_non_null(strstr(answers[i].info, "the answers that tenant-a waits for"));
    ask(f, OTHER, "tenant-b");
    for (int i = 0; i < 4; i++)
        send_piece(f, OTHER);
    http_stream_end(answering[OTHER]);
    RUN_UNTIL(f, answers[OTHER].count);
    assert_int_equal(answers[OTHER].err, ERR_OK);
    assert_int_equal(answers[OTHER].body_len, 4 * PIECE);
    /* the calls that have stalled for longest */
    assert_int_equal(ended_without_room(0, GREEDY), GREEDY - ROOM / PIECE + 4);
    assert_int_equal(ended_without_room(0, 4), 4);
    fixture_end(f);
}

/* Calls of this process itself have precedence over owners' calls. */
CASE(test_our_own_is_not_ended)
{
    enum { OWN, FIRST, LAST = 18 };
    struct fixture *f =
        begin(SERVER(routes), &(struct http_client_options){.max_held = ROOM, .max_per_host = -1});

    ask(f, OWN, NULL);
    for (int i = 0; i < 12; i++)
        send_piece(f, OWN);
    for (int i = FIRST; i < LAST; i++) {
        ask(f, i, "tenant-a");
        send_piece(f, i);
    }
    assert_int_equal(answers[OWN].count, 0);
    assert_int_equal(ended_without_room(FIRST, LAST), LAST - FIRST - 4);
    http_stream_end(answering[OWN]);
    RUN_UNTIL(f, answers[OWN].count);
    assert_int_equal(answers[OWN].err, ERR_OK);
    fixture_end(f);
}

static struct buf kept[MOST];
static size_t kept_most;

/* Keeps what its stream brings, as a watch does until a line is complete. */
static bool keep_data(void *arg, const char *data, size_t len)
{
    struct answer *answer = arg;
    size_t number = (size_t)(answer - answers), bytes = 0;
    bool held = buf_add(&kept[number], data, len) && http_call_hold(calls[number], &kept[number]);

    for (int i = 0; i < MOST; i++)
        bytes += kept[i].cap;
    if (bytes > kept_most)
        kept_most = bytes;
    return held;
}

/* All streams have data in the same round of the loop, before any of those that end is done. */
CASE(test_what_ended_streams_have_kept_is_freed_before_others_take_as_much)
{
    enum { STREAMS = 48 };
    struct fixture *f =
        begin(SERVER(routes), &(struct http_client_options){.max_held = ROOM, .max_per_host = -1});

    kept_most = 0;
    for (int i = 0; i < STREAMS; i++) {
        buf_init(&kept[i], ROOM);
        ask_for(f, i, &(struct http_request){.owner = "tenant-a", .on_data = keep_data});
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < STREAMS; i++)
            if (!answers[i].count)
                assert_true(http_stream_send(answering[i], piece, PIECE));
        LOOP_FOR(f->loop, 50);
    }
    assert_true(ended_without_room(0, STREAMS) >= STREAMS - ROOM / PIECE);
    assert_true(kept_most > ROOM / 2 && kept_most <= ROOM);
    fixture_end(f);
    for (int i = 0; i < STREAMS; i++)
        buf_fini(&kept[i]);
}

CASE(test_an_owner_has_a_part_of_the_turns)
{
    enum { TURNS = 8, PART = TURNS / 4, CALLS = 20 };
    struct fixture *f = begin(
        SERVER(routes), &(struct http_client_options){.max_calls = TURNS, .max_per_host = -1});
    struct answer other = {0}, own = {0};

    for (int i = 0; i < CALLS; i++)
        http_send(f->client,
                  &(struct http_request){
                      .url = url_of(f, "/hold"), .timeout_ms = 20000, .owner = "tenant-a"},
                  on_answer, &answers[i]);
    RUN_UNTIL(f, f->holds == PART);
    exchange(f, (struct http_request){.url = url_of(f, "/echo"), .owner = "tenant-b"}, &other);
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &own);
    assert_int_equal(other.err, ERR_OK);
    assert_int_equal(own.err, ERR_OK);
    assert_int_equal(f->holds, PART);
    fixture_end(f);
}

CASE(test_an_answer_that_stalls_ends)
{
    struct fixture *f = begin(SERVER(routes), &(struct http_client_options){.stalled_ms = 200});

    ask(f, 0, "tenant-a");
    LOOP_FOR(f->loop, 400); /* it has not begun to answer: stalled_ms does not apply */
    assert_int_equal(answers[0].count, 0);
    send_piece(f, 0);
    RUN_UNTIL(f, answers[0].count);
    assert_int_equal(answers[0].err, ERR_RETRY);
    assert_non_null(strstr(answers[0].info, "nothing came for 200 ms"));
    fixture_end(f);
}

CASE(test_an_answer_is_cut)
{
    char body[1000];
    struct answer a = {0};
    struct fixture *f = begin(SERVER(routes), NULL);

    memset(body, 'x', sizeof(body));
    exchange(f,
             (struct http_request){.method = "POST",
                                   .url = url_of(f, "/echo"),
                                   .body = body,
                                   .body_len = sizeof(body),
                                   .max_body = 100,
                                   .cuts_body = true},
             &a);
    assert_int_equal(a.err, ERR_OK);
    assert_int_equal(a.body_len, 100);
    fixture_end(f);
}
