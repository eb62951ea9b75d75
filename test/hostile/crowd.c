/*
 * A crowd of clients that never ask a whole question, or never take the answer: flagger-crowd
 * ADDRESS:PORT KIND COUNT SECONDS
 *
 * It keeps COUNT connections and says on each what KIND begins with; slow ones go on with a byte at
 * a time. Who is thrown out comes again, a few of them every millisecond. Prints how many
 * connections it made and how many were ended by the other side.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100000, FLYING = 256, AGAIN_PER_MS = 2, CHUNK = 4096, SLOW_MS = 200, SMALL = 4096 };

static const struct kind {
    const char *name;
    const char *begin;
    size_t more; /* bytes behind it */
    int again;   /* so many times more instead */
    bool slow;
    bool deaf; /* reads nothing */
} kinds[] = {
    {.name = "silent", .begin = ""},
    {.name = "slow", .begin = "GET /tasks HTTP/1.1\r\nHost: x\r\nX: ", .slow = true},
    {.name = "half-header", .begin = "GET /tasks HTTP/1.1\r\nHost: x\r\nX: ", .more = 200000},
    {.name = "half-body",
     .begin = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n",
     .more = 59999},
    {.name = "chunks",
     .begin = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nea60\r\n",
     .more = 59999},
    {.name = "continue",
     .begin = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\nExpect: 100-continue\r\n\r\n",
     .more = 59999},
    {.name = "too-long",
     .begin = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\nabc"},
    {.name = "deaf-tasks",
     .begin = "GET /tasks HTTP/1.1\r\nHost: x\r\n\r\n",
     .again = 10,
     .deaf = true},
    {.name = "deaf-metrics",
     .begin = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
     .again = 10,
     .deaf = true},
    {.name = "deaf-debug",
     .begin = "GET /debug/process HTTP/1.1\r\nHost: x\r\n\r\n",
     .again = 10,
     .deaf = true},
};

struct client {
    int fd; /* -1: none */
    size_t sent;
    bool flying;
};

static struct client clients[MOST];
static const struct kind *kind;
static struct sockaddr_in address;
static int poller, flying, made, ended;

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void come(struct client *client)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP, .data.ptr = client};

    if (fd < 0)
        return;
    if (kind->deaf)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){SMALL}, sizeof(int));
    *client = (struct client){.fd = fd, .flying = true};
    (void)connect(fd, (struct sockaddr *)&address, sizeof(address));
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    flying++;
    made++;
}

static void go(struct client *client)
{
    flying -= client->flying;
    ended++;
    close(client->fd);
    client->fd = -1;
}

static size_t all_of_it(void)
{
    size_t begin = strlen(kind->begin);

    return kind->again ? begin * (size_t)(kind->again + 1) : begin + kind->more;
}

/* What comes next; returns how much of it stands in one piece. */
static size_t next_piece(const struct client *client, const char **at)
{
    static char filler[CHUNK];
    size_t begin = strlen(kind->begin);
    size_t from = kind->again ? client->sent % begin : client->sent;

    memset(filler, 'a', sizeof(filler));
    *at = from < begin ? kind->begin + from : filler;
    return from < begin ? begin - from : CHUNK;
}

/* False: the connection is over. */
static bool say(struct client *client, bool slow)
{
    size_t begin = strlen(kind->begin), all = slow ? begin + MOST : all_of_it();

    while (client->sent < all) {
        const char *at;
        size_t len = next_piece(client, &at);
        if (len > all - client->sent)
            len = all - client->sent;
        if (slow && client->sent >= begin)
            len = 1;
        ssize_t n = send(client->fd, at, len, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN;
        client->sent += (size_t)n;
        if (slow && client->sent > begin)
            return true;
    }
    return true;
}

static void on_event(struct client *client, unsigned events)
{
    char answer[CHUNK];

    if (events & (EPOLLERR | EPOLLHUP) || (kind->deaf && events & EPOLLRDHUP)) {
        go(client);
        return;
    }
    if (client->flying && (events & EPOLLOUT)) {
        client->flying = false;
        flying--;
    }
    if (events & EPOLLIN && !kind->deaf) {
        ssize_t n = recv(client->fd, answer, sizeof(answer), 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            go(client);
            return;
        }
    }
    if ((events & EPOLLOUT) && !say(client, false)) {
        go(client);
        return;
    }
    /* Who reads nothing hears only of the end. */
    if (client->sent >= all_of_it() || kind->deaf) {
        uint32_t left = client->sent < all_of_it() ? EPOLLOUT : 0;
        struct epoll_event event = {.events = kind->deaf ? EPOLLRDHUP | left : EPOLLIN,
                                    .data.ptr = client};
        epoll_ctl(poller, EPOLL_CTL_MOD, client->fd, &event);
    }
}

/* All for the first time as fast as they are let in; who was thrown out, a few at a time. */
static void fill(int count, int *next, long *again_ms)
{
    static int at;
    int allowed = (int)(now_ms() - *again_ms) * AGAIN_PER_MS;

    while (*next < count && flying < FLYING)
        come(&clients[(*next)++]);
    if (*next < count || allowed <= 0)
        return;
    *again_ms = now_ms();
    for (int i = 0; i < count && allowed > 0 && flying < FLYING; i++) {
        at = (at + 1) % count;
        if (clients[at].fd >= 0)
            continue;
        come(&clients[at]);
        allowed--;
    }
}

static void trickle(int count, long *slow_ms)
{
    if (!kind->slow || now_ms() - *slow_ms < SLOW_MS)
        return;
    *slow_ms = now_ms();
    for (int i = 0; i < count; i++) {
        if (clients[i].fd >= 0 && !clients[i].flying && !say(&clients[i], true))
            go(&clients[i]);
    }
}

static bool read_arguments(int argc, char **argv, int *count, long *duration_ms)
{
    char *colon = argc == 5 ? strrchr(argv[1], ':') : NULL;

    if (!colon)
        return false;
    *colon = '\0';
    address = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10))};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, argv[2]) == 0)
            kind = &kinds[i];
    }
    *count = (int)strtol(argv[3], NULL, 10);
    *duration_ms = strtol(argv[4], NULL, 10) * 1000;
    return kind && *count > 0 && *count <= MOST &&
           inet_pton(AF_INET, argv[1], &address.sin_addr) == 1;
}

int main(int argc, char **argv)
{
    struct rlimit files;
    struct epoll_event events[FLYING];
    long duration_ms, start_ms = now_ms(), again_ms = start_ms, slow_ms = start_ms;
    int count, next = 0;

    if (!read_arguments(argc, argv, &count, &duration_ms)) {
        fputs("flagger-crowd: expected ADDRESS:PORT KIND COUNT SECONDS\n", stderr);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    for (int i = 0; i < count; i++)
        clients[i].fd = -1;
    poller = epoll_create1(EPOLL_CLOEXEC);
    while (next < count || now_ms() - start_ms < duration_ms) {
        fill(count, &next, &again_ms);
        trickle(count, &slow_ms);
        int n = epoll_wait(poller, events, FLYING, 1);
        for (int i = 0; i < n; i++) {
            struct client *client = events[i].data.ptr;
            if (client->fd >= 0)
                on_event(client, events[i].events);
        }
    }
    printf("%d connections made, %d ended by the other side\n", made, ended);
    return 0;
}
