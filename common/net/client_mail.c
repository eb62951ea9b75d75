#include "net/client_mail.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 10000 };

/* What curl reads the letter from; lives in the call's arena. */
struct letter {
    const char *text;
    size_t len, at;
};

static size_t read_letter(char *data, size_t size, size_t count, void *arg)
{
    struct letter *letter = arg;
    size_t room = size * count, left = letter->len - letter->at;
    size_t len = left < room ? left : room;

    memcpy(data, letter->text + letter->at, len);
    letter->at += len;
    return len;
}

/* More could end the command, or the address, and begin another. */
static bool is_address(const char *text)
{
    const char *at = strchr(text, '@');

    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("<>,;\"", *c))
            return false;
    }
    return at && at != text && at[1];
}

static enum err check(const char *address, struct errinfo *ei)
{
    if (is_address(address))
        return ERR_OK;
    return err_set(ei, ERR_INVALID,
                   "expected an address of mail, such as name@example.com, found \"%.100s\"",
                   address);
}

static enum err set_recipients(struct client_lists *lists, const char *const *to,
                               struct errinfo *ei)
{
    if (!*to)
        return err_set(ei, ERR_INVALID, "the letter has no recipient");
    for (; *to; to++) {
        enum err err = check(*to, ei);
        if (err != ERR_OK)
            return err;
        struct curl_slist *list = curl_slist_append(lists->recipients, *to);
        if (!list)
            abort();
        lists->recipients = list;
    }
    return ERR_OK;
}

static bool has_user(const struct http_request *request)
{
    const char *host = strstr(request->url, "://");
    const char *at = host ? strchr(host, '@') : NULL;

    return at && at < host + 3 + strcspn(host + 3, "/?#");
}

enum err client_mail_apply(CURL *easy, struct client_lists *lists,
                           const struct http_request *request, struct arena *arena,
                           struct errinfo *ei)
{
    const struct http_mail *mail = request->mail;
    struct letter *letter = ARENA_NEW(arena, struct letter);
    enum err err = check(mail->from, ei);

    if (err == ERR_OK)
        err = set_recipients(lists, mail->to, ei);
    if (err != ERR_OK)
        return err;
    letter->text = arena_strndup(arena, request->body, request->body_len);
    letter->len = request->body_len;
    curl_easy_setopt(easy, CURLOPT_MAIL_FROM, mail->from);
    curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, lists->recipients);
    curl_easy_setopt(easy, CURLOPT_USE_SSL,
                     has_user(request) ? (long)CURLUSESSL_ALL : (long)CURLUSESSL_TRY);
    /* curl waits for the answer to QUIT when it closes a connection: that is where the letter is
     * sent, on a thread of its own, and not where the request is cleaned up, on the loop. */
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)letter->len);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_letter);
    curl_easy_setopt(easy, CURLOPT_READDATA, letter);
    /* What waits without returning looks at these two only. */
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     (long)(request->timeout_ms > 0 ? request->timeout_ms : TIMEOUT_MS));
    curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, (long)TIMEOUT_MS / 1000);
    return ERR_OK;
}
