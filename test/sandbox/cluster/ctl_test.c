
#include <string.h>

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/ctl.h"
#include "test/unit.h"

/* A server on a Unix socket that reads one command and gives one answer, or none. */
struct world {
    struct loop *loop;
    uv_pipe_t listener, peer;
    uv_write_t write;
    const char *answer; /* NULL: never answers */
    char got[256], reply[1024], path[64];
    enum err err;
    int done;
    bool peer_open;
};

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct world *w = handle->data;
    (void)size;
    *buf = uv_buf_init(w->got, sizeof(w->got) - 1);
}

static void on_written(uv_write_t *req, int status)
{
    struct world *w = req->data;
    (void)status;
    uv_close((uv_handle_t *)&w->peer, NULL);
    w->peer_open = false;
}

static void on_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct world *w = stream->data;
    (void)buf;
    if (len <= 0 || !w->answer)
        return;
    w->got[len] = '\0';
    uv_buf_t out = uv_buf_init((char *)(uintptr_t)w->answer, (unsigned)strlen(w->answer));
    w->write.data = w;
    uv_read_stop(stream);
    assert_int_equal(uv_write(&w->write, stream, &out, 1, on_written), 0);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct world *w = stream->data;
    assert_int_equal(status, 0);
    uv_pipe_init(loop_uv(w->loop), &w->peer, 0);
    w->peer.data = w;
    w->peer_open = true;
    assert_int_equal(uv_accept(stream, (uv_stream_t *)&w->peer), 0);
    uv_read_start((uv_stream_t *)&w->peer, on_alloc, on_read);
}

static void on_done(void *arg, enum err err, const char *reply, const struct errinfo *info)
{
    struct world *w = arg;
    w->err = err;
    w->done++;
    snprintf(w->reply, sizeof(w->reply), "%s", err == ERR_OK ? reply : info->text);
    uv_stop(loop_uv(w->loop));
}

static void begin(struct world *w, const char *answer)
{
    *w = (struct world){.loop = loop_new(1000), .answer = answer};
    snprintf(w->path, sizeof(w->path), "/tmp/ctl-test-%d.sock", (int)getpid());
    unlink(w->path);
    uv_pipe_init(loop_uv(w->loop), &w->listener, 0);
    w->listener.data = w;
    assert_int_equal(uv_pipe_bind(&w->listener, w->path), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&w->listener, 4, on_connection), 0);
}

static void end(struct world *w)
{
    uv_close((uv_handle_t *)&w->listener, NULL);
    if (w->peer_open)
        uv_close((uv_handle_t *)&w->peer, NULL);
    loop_drain(w->loop);
    assert_int_equal(loop_run(w->loop), 0);
    loop_free(w->loop);
    unlink(w->path);
}

CASE(answered)
{
    static struct world w;
    begin(&w, "name: x\n\n");
    ctl_send(w.loop, w.path, "show info", 5000, on_done, &w);
    assert_int_equal(w.done, 0);
    uv_run(loop_uv(w.loop), UV_RUN_DEFAULT);
    assert_int_equal(w.err, ERR_OK);
    assert_string_equal(w.got, "show info\n");
    assert_string_equal(w.reply, "name: x\n\n");
    end(&w);
    assert_int_equal(w.done, 1);
}

CASE(silent_absent_forgotten)
{
    static struct world w;
    begin(&w, NULL);
    ctl_send(w.loop, w.path, "show info", 50, on_done, &w);
    uv_run(loop_uv(w.loop), UV_RUN_DEFAULT);
    assert_int_equal(w.err, ERR_RETRY);
    assert_non_null(strstr(w.reply, "no answer in time"));
    ctl_send(w.loop, "/nonexistent/socket", "show info", 5000, on_done, &w);
    uv_run(loop_uv(w.loop), UV_RUN_DEFAULT);
    assert_int_equal(w.err, ERR_RETRY);
    assert_int_equal(w.done, 2);
    ctl_forget(ctl_send(w.loop, w.path, "show info", 5000, on_done, &w));
    ctl_forget(NULL);
    end(&w);
    assert_int_equal(w.done, 2);
}
