#include <pthread.h>

#include "net/test_fixture.h"

/* A mail server that answers from a table, one connection after another. */
struct script {
    /* NULL: it closes; "": it says nothing */
    const char *greeting, *mail, *rcpt, *data, *end, *quit;
};

struct post {
    const struct script *script;
    int fd, port;
    char heard[4096];
    pthread_t thread;
};

static bool say(int fd, const char *text)
{
    return text && send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static const char *answer_to(const struct script *script, const char *line)
{
    static const struct {
        const char *word;
        size_t at; /* in the script */
        const char *always;
    } table[] = {
        {"EHLO", 0, "250-post\r\n250 8BITMIME\r\n"},
        {"MAIL", offsetof(struct script, mail), NULL},
        {"RCPT", offsetof(struct script, rcpt), NULL},
        {"DATA", offsetof(struct script, data), NULL},
        {"QUIT", offsetof(struct script, quit), NULL},
    };

    EACH_ROW (row, table) {
        if (strncmp(line, row->word, 4) == 0)
            return row->always
                       ? row->always
                       : *(const char *const *)(const void *)((const char *)script + row->at);
    }
    return "500 what\r\n";
}

static void talk(struct post *post, int fd)
{
    FILE *in = fdopen(fd, "r");
    char line[1024];
    bool letter = false;

    if (!say(fd, post->script->greeting))
        goto out;
    while (fgets(line, sizeof(line), in)) {
        if (strncmp(line, "EHLO", 4) != 0) /* which names this machine */
            strncat(post->heard, line, sizeof(post->heard) - strlen(post->heard) - 1);
        bool ends = letter && strcmp(line, ".\r\n") == 0;
        const char *answer = letter ? post->script->end : answer_to(post->script, line);
        if (letter && !ends)
            continue;
        letter = strncmp(answer ? answer : "", "354", 3) == 0;
        if (!say(fd, answer))
            break;
    }
out:
    fclose(in);
}

static void *serve(void *arg)
{
    struct post *post = arg;
    int fd;

    while ((fd = accept(post->fd, NULL, NULL)) >= 0)
        talk(post, fd);
    return NULL;
}

static void post_start(struct post *post, const struct script *script)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);

    *post = (struct post){.script = script, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(post->fd, (struct sockaddr *)&addr, len), 0);
    assert_int_equal(listen(post->fd, 4), 0);
    assert_int_equal(getsockname(post->fd, (struct sockaddr *)&addr, &len), 0);
    post->port = ntohs(addr.sin_port);
    assert_int_equal(pthread_create(&post->thread, NULL, serve, post), 0);
}

/* After the client has closed its connections. */
static void post_end(struct post *post)
{
    shutdown(post->fd, SHUT_RDWR);
    assert_int_equal(pthread_join(post->thread, NULL), 0);
    close(post->fd);
}

static const struct http_route no_routes[] = {{NULL, NULL, NULL}};
#define HELLO  "220 post\r\n"
#define OK     "250 ok\r\n"
#define GO_ON  "354 go on\r\n"
#define BYE    "221 bye\r\n"
#define LETTER "Subject: a\r\n\r\n.b\r\n"

static const char *const both[] = {"a@example.com", "b@example.com", NULL};
static const char *const nobody[] = {NULL};
static const char *const wrong[] = {"a@example.com>\r\nRCPT TO:<c@example.com", NULL};

static void send_letter(struct fixture *f, const char *url, const char *const *to, struct answer *a)
{
    struct http_mail mail = {.from = "flagger@example.com", .to = to};

    exchange(f,
             (struct http_request){.url = url,
                                   .mail = &mail,
                                   .body = LETTER,
                                   .body_len = strlen(LETTER),
                                   .timeout_ms = 500},
             a);
}

CASE(test_answers_of_a_mail_server)
{
    static const struct {
        struct script script;
        enum err err;
        int status;
        const char *info;
    } cases[] = {
        {{HELLO, OK, OK, GO_ON, OK, BYE}, ERR_OK, 250, ""},
        {{"554 no\r\n", OK, OK, GO_ON, OK, BYE}, ERR_RETRY, 554, "smtp://127.0.0.1"},
        {{HELLO, "451 later\r\n", OK, GO_ON, OK, BYE}, ERR_RETRY, 451, "MAIL failed: 451"},
        {{HELLO, OK, "550 who\r\n", GO_ON, OK, BYE}, ERR_RETRY, 550, "RCPT failed: 550"},
        {{HELLO, OK, OK, "452 full\r\n", OK, BYE}, ERR_RETRY, 452, "DATA failed: 452"},
        {{HELLO, OK, OK, GO_ON, "552 long\r\n", BYE}, ERR_RETRY, 552, "smtp://127.0.0.1"},
        {{NULL, OK, OK, GO_ON, OK, BYE}, ERR_RETRY, 0, "smtp://127.0.0.1"},
        {{HELLO, OK, OK, GO_ON, NULL, BYE}, ERR_RETRY, 354, "smtp://127.0.0.1"},
        {{HELLO, OK, OK, GO_ON, "", BYE}, ERR_RETRY, -1, "smtp://127.0.0.1"},
        {{"hello\r\n", OK, OK, GO_ON, OK, BYE}, ERR_RETRY, 0, "smtp://127.0.0.1"},
    };

    EACH_ROW (row, cases) {
        struct fixture *f = SERVER(no_routes);
        struct post post;
        struct answer a = {0};
        post_start(&post, &row->script);
        send_letter(f, arena_printf(arena, "smtp://127.0.0.1:%d", post.port), both, &a);
        fixture_end(f);
        post_end(&post);
        print_message("%s\n", a.info);
        assert_int_equal(a.err, row->err);
        if (row->status >= 0) /* of what was cut short nobody can say */
            assert_int_equal(a.status, row->status);
        if (!strstr(a.info, row->info))
            fail_msg("\"%s\" lacks \"%s\"", a.info, row->info);
        if (row->err == ERR_OK)
            assert_string_equal(post.heard, "MAIL FROM:<flagger@example.com>\r\n"
                                            "RCPT TO:<a@example.com>\r\nRCPT TO:<b@example.com>\r\n"
                                            "DATA\r\nSubject: a\r\n\r\n..b\r\n.\r\nQUIT\r\n");
    }
}

CASE(test_letters_that_cannot_be_sent)
{
    static const struct {
        const char *url;
        const char *const *to;
        enum err err;
        const char *info;
    } cases[] = {
        {"http://127.0.0.1/", both, ERR_INVALID, "must start with smtp:// or smtps://"},
        {"smtpx://127.0.0.1/", both, ERR_INVALID, "must start with smtp:// or smtps://"},
        {"smtp://127.0.0.1:1", nobody, ERR_INVALID, "no recipient"},
        {"smtp://127.0.0.1:1", wrong, ERR_INVALID, "expected an address of mail"},
        {"smtp://127.0.0.1:1", both, ERR_RETRY, "connection refused"},
    };
    struct fixture *f = SERVER(no_routes);

    EACH_ROW (row, cases) {
        struct answer a = {0};
        send_letter(f, row->url, row->to, &a);
        assert_int_equal(a.err, row->err);
        if (!strstr(a.info, row->info))
            fail_msg("\"%s\" lacks \"%s\"", a.info, row->info);
    }
    fixture_end(f);
}

struct gaps {
    int64_t last, longest;
};

static void note_gap(void *arg)
{
    struct gaps *gaps = arg;
    int64_t now = clock_monotonic_ms();

    if (now - gaps->last > gaps->longest)
        gaps->longest = now - gaps->last;
    gaps->last = now;
}

/* It is waited for longer than these gaps: where nothing else waits. */
CASE(test_a_server_that_hangs_at_the_end_holds_up_nobody)
{
    enum { BUSY_MS = 3000 };
    static const struct script scripts[] = {
        {HELLO, OK, OK, GO_ON, OK, ""},
        {HELLO, OK, "550 who\r\n", GO_ON, OK, ""},
        {HELLO, OK, OK, GO_ON, "", ""},
    };

    EACH_ROW (row, scripts) {
        struct fixture *f = SERVER(no_routes);
        struct post post;
        struct answer a = {0};
        struct gaps gaps = {.last = clock_monotonic_ms()};
        struct timer *timer = timer_start(f->loop, 10, 10, note_gap, &gaps);
        post_start(&post, row);
        send_letter(f, arena_printf(arena, "smtp://127.0.0.1:%d", post.port), both, &a);
        LOOP_FOR(f->loop, 50);
        timer_stop(timer);
        fixture_end(f);
        post_end(&post);
        assert_true(gaps.longest < BUSY_MS);
    }
}

/* Its server offers no TLS. */
CASE(test_a_password_is_not_sent_in_the_clear)
{
    static const struct script script = {HELLO, OK, OK, GO_ON, OK, BYE};
    struct fixture *f = SERVER(no_routes);
    struct post post;
    struct answer a = {0};

    post_start(&post, &script);
    send_letter(f, arena_printf(arena, "smtp://user:hunter2@127.0.0.1:%d", post.port), both, &a);
    fixture_end(f);
    post_end(&post);
    assert_int_equal(a.err, ERR_RETRY);
    assert_null(strstr(a.info, "hunter2"));
    assert_null(strstr(post.heard, "AUTH"));
    assert_null(strstr(post.heard, "MAIL"));
}

/* The thread that sends it may be in the middle of a wait. */
CASE(test_a_letter_is_cancelled)
{
    static const struct script script = {HELLO, OK, OK, GO_ON, "", BYE};

    for (int by_client = 0; by_client < 2; by_client++) {
        struct fixture *f = SERVER(no_routes);
        struct post post;
        struct answer a = {0};
        struct http_mail mail = {.from = "flagger@example.com", .to = both};
        post_start(&post, &script);
        struct http_request request = {.url = arena_printf(arena, "smtp://127.0.0.1:%d", post.port),
                                       .mail = &mail,
                                       .body = LETTER,
                                       .body_len = strlen(LETTER)};
        struct http_call *call = http_send(f->client, &request, on_answer, &a);
        LOOP_FOR(f->loop, 100);
        assert_int_equal(a.count, 0);
        if (!by_client)
            http_cancel(call);
        fixture_end(f);
        post_end(&post);
        assert_int_equal(a.count, 1);
        assert_int_equal(a.err, ERR_CANCELLED);
    }
}
