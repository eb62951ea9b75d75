#include <string.h>

#include "proto/spechash.h"
#include "test/unit.h"

/* The first 16 digits of SHA-256 over the text on the right, which is what Go writes for the object
 * on the left. */
CASE(test_hash_of_gos_text)
{
    static const struct {
        const char *json, *hash;
    } cases[] = {
        {"null", "74234e98afe7498f"},                      /* null */
        {"{}", "44136fa355b3678a"},                        /* {} */
        {"{\"a\":\"1\"}", "9afeb0f2b203f254"},             /* {"a":"1"} */
        {"{\"b\":\"2\",\"a\":\"1\"}", "21f76dfbfe6dfe21"}, /* {"a":"1","b":"2"} */
        {"{\"k\":\"<a>&\\u2028\"}", "aed2e14a74c0e768"},   /* {"k":"\u003ca\u003e\u0026\u2028"} */
    };
    EACH_ROW (row, cases) {
        struct json_object *data;
        char hash[CONFIG_HASH_TEXT];
        assert_int_equal(
            json_parse(arena, row->json, strlen(row->json), JSON_MAX_BYTES, &data, NULL), ERR_OK);
        confighash(arena, data, hash);
        assert_string_equal(hash, row->hash);
    }
}
