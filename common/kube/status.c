#include "kube/status.h"

#include <string.h>

#include "base/json.h"

enum { MAX_MESSAGE = 300 };

enum err kube_status_err(int status)
{
    if (status >= 200 && status < 300)
        return ERR_OK;
    switch (status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
        return ERR_NOT_FOUND;
    case 409:
    case 410:
        return ERR_CONFLICT;
    case 408:
    case 429:
        return ERR_RETRY;
    default:
        return status >= 500 ? ERR_RETRY : ERR_INVALID;
    }
}

/* Length of the first line, without trailing blanks, at most MAX_MESSAGE. */
static int first_line(const char *text)
{
    size_t len = strcspn(text, "\r\n");

    if (len > MAX_MESSAGE)
        len = MAX_MESSAGE;
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    /* A cut must not leave half of a UTF-8 character. */
    if (len == MAX_MESSAGE)
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    return (int)len;
}

bool kube_status_unserved(int status, struct json_object *body)
{
    const char *name = json_str_at(body, "details", "name", NULL);

    return status == 404 && !(name && name[0]);
}

/* The words of the API server's own authorizers, and of nothing else that refuses. */
static bool is_of_role(const char *text)
{
    const char *user = strstr(text, "User \"");

    return user && strstr(user, " cannot ");
}

bool kube_status_forbidden(const struct errinfo *info)
{
    return info->status == 403;
}

bool kube_status_refused(const struct errinfo *info)
{
    return info->status == 400 || info->status == 422 ||
           (info->status == 403 && !is_of_role(info->text));
}

enum err kube_status_fill(struct errinfo *ei, const char *what, int status,
                          struct json_object *body, const char *text, int64_t retry_after_ms)
{
    enum err err = kube_status_err(status);
    const char *message = json_str_at(body, "message", NULL);

    if (err == ERR_OK)
        return ERR_OK;
    if (!message || !message[0])
        message = body ? NULL : text;
    if (message)
        message += strspn(message, " \t\r\n");
    if (message && message[0])
        err_set(ei, err, "%s: %s: %.*s", what, err_name(err), first_line(message), message);
    else
        err_set(ei, err, "%s: %s: the server answered HTTP %d", what, err_name(err), status);
    if (!ei)
        return err;
    ei->status = status;
    ei->retry_after_ms = retry_after_ms;
    int64_t seconds = json_int_at(body, 0, "details", "retryAfterSeconds", NULL);
    if (ei->retry_after_ms <= 0 && seconds > 0 && seconds < 3600)
        ei->retry_after_ms = seconds * 1000;
    return err;
}
