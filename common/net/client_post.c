#include "net/client_post.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

struct client_post {
    uv_work_t work;
    CURL *easy;
    CURLcode code;
    atomic_bool abandoned;
    struct client_lists lists; /* once it is abandoned, and so is the arena */
    struct arena *arena;
    void (*done)(void *arg, CURLcode code);
    void *arg;
};

static int look_whether_to_go_on(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct client_post *post = arg;

    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&post->abandoned);
}

/* What the server says beside the last status is of no use to anybody. */
static size_t discard(char *data, size_t size, size_t count, void *arg)
{
    (void)data;
    (void)arg;
    return size * count;
}

static void transfer(uv_work_t *work)
{
    struct client_post *post = work->data;

    post->code = curl_easy_perform(post->easy);
}

static void on_transferred(uv_work_t *work, int status)
{
    struct client_post *post = work->data;

    (void)status;
    if (!post->abandoned) {
        post->done(post->arg, post->code);
    } else {
        curl_easy_cleanup(post->easy);
        client_lists_fini(&post->lists);
        arena_free(post->arena);
    }
    curl_global_cleanup();
    free(post);
}

struct client_post *client_post_start(struct loop *loop, CURL *easy,
                                      void (*done)(void *arg, CURLcode code), void *arg)
{
    struct client_post *post = heap_alloc(sizeof(*post));

    *post = (struct client_post){.easy = easy, .done = done, .arg = arg};
    post->work.data = post;
    curl_global_init(CURL_GLOBAL_DEFAULT); /* the client may end before the thread does */
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, discard);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_whether_to_go_on);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, post);
    int rc = uv_queue_work(loop_uv(loop), &post->work, transfer, on_transferred);
    if (rc != 0)
        abort();
    return post;
}

void client_post_abandon(struct client_post *post, const struct client_lists *lists,
                         struct arena *arena)
{
    post->lists = *lists;
    post->arena = arena;
    atomic_store(&post->abandoned, true);
}
