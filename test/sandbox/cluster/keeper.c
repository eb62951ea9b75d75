#include "cluster/keeper.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void on_output(void *arg, const char *data, size_t len)
{
    static const char *const alarms[] = {"[ALERT]", "[emerg]", "[error]", "level=error"};
    struct keeper *keeper = arg;
    bool alarm = false;
    char line[512];
    snprintf(line, sizeof(line), "%.*s", (int)len, data);
    for (size_t i = 0; i < sizeof(alarms) / sizeof(alarms[0]); i++)
        alarm |= strstr(line, alarms[i]) != NULL;
    if (alarm)
        log_warn("child_says", NULL, line, LOG_STR("program", keeper->name));
    else
        log_debug("child_says", NULL, line, LOG_STR("program", keeper->name));
}

static void on_pause(void *arg)
{
    struct keeper *keeper = arg;
    keeper->pause = NULL;
    keeper_start(keeper);
}

static void on_ended(void *arg, const struct child_result *result)
{
    struct keeper *keeper = arg;
    bool ran = result->err == ERR_OK;
    keeper->child = NULL;
    if (keeper->stopped)
        return;
    log_warn("child_ended", NULL, ran ? "it has ended and is started again" : result->info->text,
             LOG_STR("program", keeper->name), LOG_INT("status", result->exit_status),
             LOG_INT("signal", result->signal), LOG_STR("said", result->output));
    if (ran && result->elapsed_ms > 1000)
        keeper_start(keeper);
    else
        keeper->pause =
            timer_start(keeper->loop, result->elapsed_ms > 200 ? 20 : 500, 0, on_pause, keeper);
}

void keeper_start(struct keeper *keeper)
{
    const struct child_spec spec = {
        .argv = keeper->argv, .grace_ms = 3000, .max_output = 2048, .on_output = on_output};
    if (keeper->child || keeper->pause || keeper->stopped)
        return;
    if (keeper->before)
        keeper->before(keeper->arg);
    keeper->child = child_spawn(keeper->loop, &spec, on_ended, keeper);
}

void keeper_stop(struct keeper *keeper)
{
    keeper->stopped = true;
    timer_stop(keeper->pause);
    keeper->pause = NULL;
    if (keeper->child)
        child_stop(keeper->child);
}
