#include "loadtester/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const struct task_type *task_type_find(const char *name)
{
    const char *wanted = name && *name ? name : "cmd";
    for (const struct task_type *const *type = task_type_table; *type; type++)
        if (strcmp((*type)->name, wanted) == 0)
            return *type;
    return NULL;
}

/* metadata.maxErrorRate: percent. */
static enum err read_rate(const struct webhook_message *message, double *out, struct errinfo *ei)
{
    const char *text = webhook_metadata(message, "maxErrorRate");
    char *end;

    *out = -1;
    if (!text)
        return ERR_OK;
    *out = strtod(text, &end);
    bool is_number = end != text && (!*end || strcmp(end, "%") == 0);
    if (!is_number || !(*out >= 0 && *out <= 100))
        return err_set(ei, ERR_INVALID,
                       "metadata.maxErrorRate: expected a percentage from 0 to 100, found "
                       "\"%.80s\"",
                       text);
    return ERR_OK;
}

/* metadata.maxP99: a duration. */
static enum err read_p99(const struct webhook_message *message, double *out, struct errinfo *ei)
{
    const char *text = webhook_metadata(message, "maxP99");
    int64_t ns;

    *out = -1;
    if (!text)
        return ERR_OK;
    if (duration_parse(text, &ns, NULL) != ERR_OK || ns <= 0)
        return err_set(ei, ERR_INVALID,
                       "metadata.maxP99: expected a duration such as 250ms, found \"%.80s\"", text);
    *out = (double)ns / 1e6;
    return ERR_OK;
}

enum err task_read_bounds(const struct webhook_message *message, struct task_bounds *out,
                          struct errinfo *ei)
{
    enum err err = webhook_metadata_bool(message, "failOnError", false, &out->fail_on_error, ei);

    if (err == ERR_OK)
        err = read_rate(message, &out->max_error_rate, ei);
    if (err == ERR_OK)
        err = read_p99(message, &out->max_p99_ms, ei);
    return err;
}

enum err task_need(struct arena *arena, const struct webhook_message *message, const char *key,
                   const char **out, struct errinfo *ei)
{
    const char *value = webhook_metadata(message, key);

    *out = NULL;
    if (!value || !*value)
        return err_set(ei, ERR_INVALID, "%s not found in metadata", key);
    *out = arena_strdup(arena, value);
    return ERR_OK;
}

enum err task_url(struct arena *arena, const char *key, const char *text, const char **out,
                  struct errinfo *ei)
{
    size_t len = strlen(text);

    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return err_set(ei, ERR_INVALID,
                       "metadata.%s: expected a URL such as http://example:8080, found \"%.80s\"",
                       key, text);
    while (len > 0 && text[len - 1] == '/')
        len--;
    *out = arena_strndup(arena, text, len);
    return ERR_OK;
}

/* The metric that requests the value has bounds of its own, and a failed run has no value. */
static enum err check_value(const struct task_plan *plan, struct errinfo *ei)
{
    const struct task_bounds *bounds = &plan->bounds;

    if (plan->return_value && plan->return_output)
        return err_set(
            ei, ERR_INVALID,
            "metadata.returnValue: expected without returnCmdOutput: a reply has one body");
    if (plan->return_value &&
        (bounds->fail_on_error || bounds->max_error_rate >= 0 || bounds->max_p99_ms >= 0))
        return err_set(ei, ERR_INVALID,
                       "metadata.returnValue: expected without failOnError, maxErrorRate and "
                       "maxP99, which are for the next check");
    return ERR_OK;
}

enum err task_read(struct arena *arena, const struct webhook_message *message,
                   struct task_plan *out, struct errinfo *ei)
{
    enum err err = task_need(arena, message, "cmd", &out->text, ei);

    out->key = out->text;
    if (err == ERR_OK)
        err = webhook_metadata_bool(message, "logCmdOutput", false, &out->log_output, ei);
    if (err == ERR_OK)
        err = webhook_metadata_bool(message, "returnCmdOutput", false, &out->return_output, ei);
    if (err == ERR_OK)
        err = webhook_metadata_bool(message, "returnValue", false, &out->return_value, ei);
    if (err == ERR_OK)
        err = task_read_bounds(message, &out->bounds, ei);
    return err == ERR_OK ? check_value(out, ei) : err;
}

enum err task_file(const struct task_policy *policy, const char *key, const char *path,
                   const char **out, struct errinfo *ei)
{
    size_t len = policy->key_dir ? strlen(policy->key_dir) : 0;

    if (!policy->key_dir)
        return err_set(ei, ERR_DENIED,
                       "metadata.%s: no file may be named while --api-key-dir is not given", key);
    while (len > 0 && policy->key_dir[len - 1] == '/')
        len--;
    if (strncmp(path, policy->key_dir, len) == 0 && path[len] == '/')
        path += len + 1;
    *out = path;
    bool climbs = strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 || strstr(path, "/../");
    size_t end = strlen(path);
    if (*path && *path != '/' && !climbs && !(end >= 3 && strcmp(path + end - 3, "/..") == 0))
        return ERR_OK;
    return err_set(ei, ERR_DENIED, "metadata.%s: expected a file below %s, found \"%.80s\"", key,
                   policy->key_dir, path);
}

enum err task_service(const struct task_policy *policy, const char *type, const char *server,
                      struct errinfo *ei)
{
    const char *const words[] = {type, server, NULL};

    return policy->commands ? policy_check(policy->commands, words, ei) : ERR_OK;
}
