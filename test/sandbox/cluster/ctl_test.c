#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cluster/ctl.h"
#include "net/test_loop.h"

struct fixture {
    struct loop *loop;
    const char *path;
    int listener; /* takes a connection, and says nothing by itself */
    enum err err;
    int done;
    char reply[1024];
};

static int set_up(void **state)
{
    static struct fixture f;
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    f = (struct fixture){.loop = loop_new(1000), .path = unit_path("ctl.sock")};
    f.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", f.path);
    assert_int_equal(bind(f.listener, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(f.listener, 4), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close(f->listener);
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    loop_free(f->loop);
    assert_true(f->done <= 2); /* who was forgotten is told nothing */
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void on_done(void *arg, enum err err, const char *reply, const struct errinfo *info)
{
    struct fixture *f = arg;
    f->err = err;
    f->done++;
    snprintf(f->reply, sizeof(f->reply), "%s", err == ERR_OK ? reply : info->text);
}

FIXTURE_CASE(answered)
{
    static const char answer[] = "name: x\n\n";
    char got[64] = {0};
    ctl_send(f->loop, f->path, "show info", 5000, on_done, f);
    assert_int_equal(f->done, 0);
    int peer = accept(f->listener, NULL, NULL);
    RUN_UNTIL(f, recv(peer, got, sizeof(got) - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(got, "show info\n");
    assert_int_equal(send(peer, answer, strlen(answer), 0), strlen(answer));
    close(peer);
    RUN_UNTIL(f, f->done);
    assert_int_equal(f->err, ERR_OK);
    assert_string_equal(f->reply, answer);
}

FIXTURE_CASE(silent_absent_forgotten)
{
    ctl_send(f->loop, f->path, "show info", 50, on_done, f);
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(f->err, ERR_RETRY);
    assert_non_null(strstr(f->reply, "no answer in time"));
    ctl_send(f->loop, "/nonexistent/socket", "show info", 5000, on_done, f);
    RUN_UNTIL(f, f->done == 2);
    assert_int_equal(f->err, ERR_RETRY);
    ctl_forget(ctl_send(f->loop, f->path, "show info", 5000, on_done, f));
    ctl_forget(NULL);
}
