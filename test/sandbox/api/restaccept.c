#include "api/restaccept.h"

#include <string.h>
#include <strings.h>

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t", text[len - 1]))
        text[--len] = '\0';
    return text;
}

static bool set_as(struct restaccept *accept, const char *as, const char *group,
                   const char *version)
{
    if (!as)
        return true;
    bool meta = !group || strcmp(group, "meta.k8s.io") == 0;
    bool known = !version || strcmp(version, "v1") == 0 || strcmp(version, "v1beta1") == 0;
    accept->version = version ? version : "v1";
    if (strcmp(as, "Table") == 0) {
        accept->as = REST_AS_TABLE;
        return meta && known;
    }
    if (strcmp(as, "PartialObjectMetadata") == 0 || strcmp(as, "PartialObjectMetadataList") == 0) {
        accept->as = REST_AS_PARTIAL;
        return meta && known;
    }
    return false;
}

/* One media range with its parameters; q is ignored, as the order says the same for every client
 * there is. */
static bool read_range(struct restaccept *accept, char *range)
{
    char *type = trim(strsep(&range, ";"));
    *accept = (struct restaccept){.acceptable = true};
    if (strcasecmp(type, "application/json") != 0 && strcmp(type, "*/*") != 0 &&
        strcasecmp(type, "application/*") != 0)
        return false;
    const char *as = NULL, *group = NULL, *version = NULL;
    while (range) {
        const char *item = trim(strsep(&range, ";"));
        if (strncmp(item, "as=", 3) == 0)
            as = item + 3;
        else if (strncmp(item, "g=", 2) == 0)
            group = item + 2;
        else if (strncmp(item, "v=", 2) == 0)
            version = item + 2;
    }
    return set_as(accept, as, group, version);
}

struct restaccept restaccept_parse(struct arena *arena, const char *header)
{
    if (!header || !*header)
        return (struct restaccept){.acceptable = true};
    char *rest = arena_strdup(arena, header);
    while (rest) {
        struct restaccept accept;
        if (read_range(&accept, strsep(&rest, ",")))
            return accept;
    }
    return (struct restaccept){.acceptable = false};
}
