/* What a request to the sandbox's API brings: protobuf bodies, paths and Accept headers. */
#include <assert.h>
#include <string.h>

#include "api/restask.h"
#include "base/json.h"
#include "fuzz.h"

static void check_body(struct arena *arena, const uint8_t *data, size_t size)
{
    struct json_object *obj = NULL;
    struct errinfo ei = {0};
    if (restproto_read(arena, data, size, &obj, &ei) != ERR_OK) {
        assert(ei.text[0]);
        return;
    }
    assert(json_str_at(obj, "kind", NULL));
    /* What was read is JSON that our own parser takes. */
    struct json_object *again = NULL;
    const char *text = json_text(arena, obj);
    enum err err = json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &again, &ei);
    assert(err == ERR_OK || strstr(ei.text, "deep"));
    (void)err;
}

FUZZ_TARGET(arena, data, size)
{
    check_body(arena, data, size);
    const char *text = arena_strndup(arena, (const char *)data, size);
    struct restpath path = restpath_parse(arena, text);
    assert(!path.resource || (path.group && path.version && path.plural));
    assert(!path.sub || path.name);
    struct restaccept accept = restaccept_parse(arena, text);
    assert(accept.as == REST_AS_ITSELF || !accept.acceptable || accept.version);
}
