#include "api/restpath.h"

#include <ctype.h>
#include <string.h>

enum { PARTS_MAX = 12 };

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode(struct arena *arena, const char *text, size_t len)
{
    char *out = arena_strndup(arena, text, len);
    char *to = out;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 2 < len && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            *to++ = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            *to++ = text[i];
        }
    }
    *to = '\0';
    return out;
}

static size_t split(struct arena *arena, const char *path, const char *parts[PARTS_MAX])
{
    size_t count = 0;
    while (*path) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (len == 0)
            break;
        if (count < PARTS_MAX)
            parts[count] = decode(arena, path, len);
        count++;
        path += len;
    }
    return count;
}

/* /namespaces/x/status is a subresource of the namespace; any other third part is a resource in it.
 */
static bool is_namespace_sub(const char *part)
{
    return strcmp(part, "status") == 0 || strcmp(part, "finalize") == 0;
}

static void read_resource(struct restpath *path, const char *const parts[], size_t count)
{
    size_t at = 0;
    if (count >= 3 && strcmp(parts[0], "namespaces") == 0 && !is_namespace_sub(parts[2])) {
        path->ns = parts[1];
        at = 2;
    }
    path->resource = true;
    path->plural = parts[at++];
    path->name = at < count ? parts[at++] : NULL;
    path->sub = at < count ? parts[at++] : NULL;
    path->excess = at < count;
}

struct restpath restpath_parse(struct arena *arena, const char *full)
{
    struct restpath path = {.full = full};
    const char *parts[PARTS_MAX] = {NULL};
    size_t count = split(arena, full, parts);
    size_t at = 0;
    if (count > PARTS_MAX) {
        path.excess = true;
        return path;
    }
    if (count > 0 && strcmp(parts[0], "api") == 0) {
        at = 1;
        path.group = count > 1 ? "" : NULL;
    } else if (count > 0 && strcmp(parts[0], "apis") == 0) {
        at = 1;
        path.group = count > 1 ? parts[at++] : NULL;
    } else {
        return path;
    }
    path.version = at < count ? parts[at++] : NULL;
    if (at < count)
        read_resource(&path, parts + at, count - at);
    return path;
}
