#include <curl/curl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "net/client.h"

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c));
}

static const char *encode(struct arena *arena, const char *text, const char *space)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t len = strlen(text);
    char *out = arena_array(arena, len + 1, 3);
    char *p = out;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (is_unreserved(c)) {
            *p++ = (char)c;
        } else if (c == ' ' && space) {
            *p++ = *space;
        } else {
            *p++ = '%';
            *p++ = hex[c >> 4];
            *p++ = hex[c & 15];
        }
    }
    *p = '\0';
    return out;
}

const char *url_encode(struct arena *arena, const char *text)
{
    return encode(arena, text, NULL);
}

const char *url_encode_form(struct arena *arena, const char *text)
{
    return encode(arena, text, "+");
}

static bool same_part(CURLU *one, CURLU *other, CURLUPart part)
{
    char *a = NULL, *b = NULL;
    bool same = curl_url_get(one, part, &a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(other, part, &b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                strcasecmp(a, b) == 0;
    curl_free(a);
    curl_free(b);
    return same;
}

static bool same_parts(const char *one, const char *other, const CURLUPart *parts, size_t n)
{
    CURLU *a = curl_url(), *b = curl_url();
    bool same = curl_url_set(a, CURLUPART_URL, one, 0) == CURLUE_OK &&
                curl_url_set(b, CURLUPART_URL, other, 0) == CURLUE_OK;
    for (size_t i = 0; same && i < n; i++)
        same = same_part(a, b, parts[i]);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return same;
}

const char *url_origin(struct arena *arena, const char *url)
{
    static const CURLUPart others[] = {CURLUPART_PATH, CURLUPART_QUERY,    CURLUPART_FRAGMENT,
                                       CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS};
    CURLU *parts = curl_url();
    char *text = NULL;
    const char *origin = "(not a URL)";

    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            curl_url_set(parts, others[i], NULL, 0);
        /* without a path there is a slash at its end */
        if (curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK && *text)
            origin = arena_strndup(arena, text, strlen(text) - 1);
    }
    curl_free(text);
    curl_url_cleanup(parts);
    return origin;
}

bool url_same_origin(const char *one, const char *other)
{
    static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};

    return same_parts(one, other, parts, sizeof(parts) / sizeof(parts[0]));
}

bool url_same_host(const char *one, const char *other)
{
    static const CURLUPart host = CURLUPART_HOST;

    return same_parts(one, other, &host, 1);
}
