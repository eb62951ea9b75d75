#include "cluster/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"

enum { MAX_REPLY = 64 * 1024 };

struct ctl {
    uv_pipe_t pipe;
    uv_connect_t connect;
    uv_write_t write;
    struct timer *timer;
    ctl_done_fn done; /* NULL: nobody waits */
    void *arg;
    char *command;
    struct buf reply;
    enum err err;
    struct errinfo info;
    char piece[4096];
};

static void on_closed(uv_handle_t *handle)
{
    struct ctl *ctl = handle->data;
    if (ctl->done)
        ctl->done(ctl->arg, ctl->err, ctl->reply.data, ctl->err == ERR_OK ? NULL : &ctl->info);
    buf_fini(&ctl->reply);
    free(ctl->command);
    free(ctl);
}

static void finish(struct ctl *ctl, enum err err, const char *what, int rc)
{
    if (uv_is_closing((uv_handle_t *)&ctl->pipe))
        return;
    ctl->err = err;
    if (err != ERR_OK)
        err_set(&ctl->info, err, "%s: %s", what, rc ? uv_strerror(rc) : "no answer in time");
    timer_stop(ctl->timer);
    ctl->timer = NULL;
    uv_close((uv_handle_t *)&ctl->pipe, on_closed);
}

static void on_timeout(void *arg)
{
    struct ctl *ctl = arg;
    ctl->timer = NULL;
    finish(ctl, ERR_RETRY, "control socket", 0);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct ctl *ctl = handle->data;
    (void)size;
    *buf = uv_buf_init(ctl->piece, sizeof(ctl->piece));
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct ctl *ctl = stream->data;
    if (len > 0)
        buf_add(&ctl->reply, buf->base, (size_t)len);
    else if (len == UV_EOF)
        finish(ctl, ERR_OK, NULL, 0);
    else if (len < 0)
        finish(ctl, ERR_RETRY, "control socket", (int)len);
}

static void on_written(uv_write_t *req, int status)
{
    struct ctl *ctl = req->data;
    if (status < 0)
        finish(ctl, ERR_RETRY, "control socket", status);
}

static void on_connected(uv_connect_t *req, int status)
{
    struct ctl *ctl = req->data;
    if (status < 0) {
        finish(ctl, ERR_RETRY, "control socket", status);
        return;
    }
    uv_buf_t out = uv_buf_init(ctl->command, (unsigned)strlen(ctl->command));
    ctl->write.data = ctl;
    int rc = uv_write(&ctl->write, (uv_stream_t *)&ctl->pipe, &out, 1, on_written);
    if (rc == 0)
        rc = uv_read_start((uv_stream_t *)&ctl->pipe, on_alloc, on_read);
    if (rc != 0)
        finish(ctl, ERR_RETRY, "control socket", rc);
}

struct ctl *ctl_send(struct loop *loop, const char *path, const char *command, int64_t timeout_ms,
                     ctl_done_fn done, void *arg)
{
    struct ctl *ctl = heap_alloc(sizeof(*ctl));
    ctl->done = done;
    ctl->arg = arg;
    ctl->command = heap_printf("%s\n", command);
    buf_init(&ctl->reply, MAX_REPLY);
    uv_pipe_init(loop_uv(loop), &ctl->pipe, 0);
    ctl->pipe.data = ctl;
    ctl->connect.data = ctl;
    ctl->timer = timer_start(loop, timeout_ms, 0, on_timeout, ctl);
    uv_pipe_connect(&ctl->connect, &ctl->pipe, path, on_connected);
    return ctl;
}

void ctl_forget(struct ctl *ctl)
{
    if (!ctl)
        return;
    ctl->done = NULL;
    finish(ctl, ERR_CANCELLED, "control socket", UV_ECANCELED);
}
