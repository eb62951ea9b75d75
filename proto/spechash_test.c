/*
 * Golden vectors for Flagger's hash. testdata/hash_vectors.json: object, dump and hash as Flagger
 * computes them; hash_vectors_more.json: the same for every field and for odd quantities, times and
 * nulls, computed with the Go libraries that Flagger is built with. A dump of "error" means that
 * they reject the object.
 */
#include <string.h>

#include "base/file.h"
#include "proto/spechash.h"
#include "test/unit.h"

static struct json_object *read_json(struct arena *arena, const char *text, size_t len)
{
    struct json_object *out;
    struct errinfo ei;
    if (json_parse(arena, text, len, 4 * 1024 * 1024, &out, &ei) != ERR_OK)
        fail_msg("%.60s: %s", text, ei.text);
    return out;
}

static struct json_object *read_vectors(struct arena *arena, const char *path)
{
    char *text;
    size_t len;
    struct errinfo ei;
    if (file_read(arena, path, 4 * 1024 * 1024, &text, &len, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return read_json(arena, text, len);
}

static const char *type_of(const char *kind)
{
    return strcmp(kind, "ServiceSpec") == 0 ? "v1.ServiceSpec" : "v1.PodTemplateSpec";
}

static void check_text(const char *name, const char *got, const char *want)
{
    size_t at = 0;
    while (got[at] != '\0' && got[at] == want[at])
        at++;
    if (got[at] != want[at])
        fail_msg("%s: differs at byte %zu:\n  got  ...%.200s\n  want ...%.200s", name, at,
                 got + (at > 60 ? at - 60 : 0), want + (at > 60 ? at - 60 : 0));
}

static void check_spec(struct arena *arena, struct json_object *vector)
{
    const char *name = json_str_at(vector, "name", NULL);
    const char *kind = json_str_at(vector, "kind", NULL);
    const char *input = json_str_at(vector, "input", NULL);
    const char *want = json_str_at(vector, "text", NULL);
    struct json_object *obj = read_json(arena, input, strlen(input));
    char hash[SPECHASH_TEXT];
    const char *text;
    struct errinfo ei;
    enum err err = spechash_dump(arena, type_of(kind), obj, &text, &ei);
    if (strcmp(want, "error") == 0) {
        if (err != ERR_INVALID)
            fail_msg("%s: accepted: %s", name, text);
        return;
    }
    if (err != ERR_OK)
        fail_msg("%s: %s", name, ei.text);
    check_text(name, text, want);
    if (strcmp(kind, "ServiceSpec") == 0)
        err = spechash_service(arena, obj, hash, &ei);
    else
        err = spechash_pod_template(arena, obj, hash, &ei);
    assert_int_equal(err, ERR_OK);
    assert_string_equal(hash, json_str_at(vector, "hash", NULL));
}

static void check_vector(struct arena *arena, struct json_object *vector)
{
    const char *kind = json_str_at(vector, "kind", NULL);
    const char *input = json_str_at(vector, "input", NULL);
    const char *want = json_str_at(vector, "hash", NULL);
    char hash[SPECHASH_TEXT], config[CONFIG_HASH_TEXT];
    if (strcmp(kind, "string") == 0) {
        spechash_string(input, hash);
        assert_string_equal(hash, want);
    } else if (strcmp(kind, "checksum") == 0) {
        struct json_object *obj = read_json(arena, input, strlen(input));
        spechash_checksum(arena, json_at(obj, "trackedConfigs", NULL),
                          json_str_at(obj, "lastAppliedSpec", NULL), hash);
        assert_string_equal(hash, want);
    } else if (strcmp(kind, "config") == 0) {
        confighash(arena, read_json(arena, input, strlen(input)), config);
        assert_string_equal(config, want);
    } else {
        check_spec(arena, vector);
    }
}

static void check_file(const char *path, size_t at_least)
{
    struct arena *arena = arena_new();
    struct json_object *vectors = read_vectors(arena, path);
    assert_true(json_len(vectors) >= at_least);
    for (size_t i = 0; i < json_len(vectors); i++) {
        struct arena *each = arena_new();
        check_vector(each, json_elem(vectors, i));
        arena_free(each);
    }
    arena_free(arena);
}

CASE(test_vectors_of_flagger)
{
    check_file("proto/testdata/hash_vectors.json", 16);
}

CASE(test_vectors_of_every_field)
{
    check_file("proto/testdata/hash_vectors_more.json", 29);
}

CASE(test_wrong_types_are_named)
{
    static const struct {
        const char *json;
        const char *message;
    } cases[] = {
        {"[]", ": expected an object, found []"},
        {"{\"spec\":1}", "spec: expected an object, found 1"},
        {"{\"spec\":{\"containers\":{}}}", "spec.containers: expected an array, found {}"},
        {"{\"spec\":{\"containers\":[1]}}", "spec.containers[0]: expected an object, found 1"},
        {"{\"spec\":{\"containers\":[{},{\"ports\":[{\"containerPort\":\"80\"}]}]}}",
         "spec.containers[1].ports[0].containerPort: expected a whole number of 32 bits, found "
         "\"80\""},
        {"{\"spec\":{\"priority\":2147483648}}",
         "spec.priority: expected a whole number of 32 bits, found 2147483648"},
        {"{\"spec\":{\"terminationGracePeriodSeconds\":1.5}}",
         "spec.terminationGracePeriodSeconds: expected a whole number, found 1.5"},
        {"{\"spec\":{\"hostNetwork\":\"yes\"}}",
         "spec.hostNetwork: expected true or false, found \"yes\""},
        {"{\"spec\":{\"nodeName\":3}}", "spec.nodeName: expected a string, found 3"},
        {"{\"metadata\":{\"labels\":{\"a\":1}}}", "metadata.labels.a: expected a string, found 1"},
        {"{\"metadata\":{\"labels\":[]}}", "metadata.labels: expected an object, found []"},
        {"{\"metadata\":{\"creationTimestamp\":\"now\"}}",
         "metadata.creationTimestamp: expected a time such as 2026-01-02T03:04:05Z, found \"now\""},
        {"{\"spec\":{\"overhead\":{\"cpu\":\"1x\"}}}",
         "spec.overhead.cpu: expected a quantity such as \"500m\" or \"1.5Gi\", found \"1x\""},
        {"{\"spec\":{\"overhead\":{\"cpu\":true}}}",
         "spec.overhead.cpu: expected a quantity such as \"500m\" or \"1.5Gi\", found true"},
        {"{\"spec\":{\"containers\":[{\"livenessProbe\":{\"httpGet\":{\"port\":[]}}}]}}",
         "spec.containers[0].livenessProbe.httpGet.port: expected a whole number of 32 bits, found "
         "[]"},
    };
    EACH_ROW (row, cases) {
        struct json_object *obj = read_json(arena, row->json, strlen(row->json));
        struct errinfo ei = {0};
        char hash[SPECHASH_TEXT];
        assert_int_equal(spechash_pod_template(arena, obj, hash, &ei), ERR_INVALID);
        assert_string_equal(ei.text, row->message);
        assert_string_equal(hash, "");
    }
}

/* The lookup of a struct relies on the order of the table. */
CASE(test_table_is_sorted)
{
    static const struct {
        const char *owner, *name, *type, *key;
    } rows[] = {
#define SPECHASH_FIELD(owner, name, type, key) {owner, name, type, key},
#include "proto/spechash_types.def"
#undef SPECHASH_FIELD
    };
    size_t n = sizeof rows / sizeof rows[0];
    assert_int_equal(n, 547);
    for (size_t i = 1; i < n; i++)
        assert_true(strcmp(rows[i - 1].owner, rows[i].owner) <= 0);
}

CASE(test_a_missing_template_is_the_empty_one)
{
    char none[SPECHASH_TEXT], empty[SPECHASH_TEXT];
    assert_int_equal(spechash_pod_template(arena, NULL, none, NULL), ERR_OK);
    assert_int_equal(
        spechash_pod_template(arena, json_own(arena, json_object_new_object()), empty, NULL),
        ERR_OK);
    assert_string_equal(none, empty);
}

/* --- configs */

/* The first 16 digits of the SHA-256 of the text on the right, which Go writes for the object on
 * the left. */
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

/* --- quantities */

#define SHORT(value, scale, text, format)                                                          \
    "{i:(resource.int64Amount){value:(int64)" value " scale:(resource.Scale)" scale "} "           \
    "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)" text                               \
    " Format:(resource.Format)" format "}"
#define LONG(negative, words, scale, format)                                                       \
    "{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} "                           \
    "d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)" negative              \
    " abs:(big.nat)" words "} scale:(inf.Scale)" scale "}} s:(string) "                            \
    "Format:(resource.Format)" format "}"

CASE(test_dumps)
{
    static const struct {
        const char *text, *dump;
    } cases[] = {
        {NULL, SHORT("0", "0", "", "")},
        {"0", SHORT("0", "0", "0", "DecimalSI")},
        {"500m", SHORT("500", "-3", "500m", "DecimalSI")},
        {"0.1", SHORT("1", "-1", "", "DecimalSI")},
        {"2000", SHORT("2000", "0", "", "DecimalSI")},
        {"1e3", SHORT("1", "3", "1e3", "DecimalExponent")},
        {"-1", SHORT("-1", "0", "-1", "DecimalSI")},
        {"512Mi", SHORT("536870912", "0", "", "BinarySI")},
        {"3Mi", SHORT("3145728", "0", "3Mi", "BinarySI")},
        {"1.5Gi", LONG("false", "[1610612736000000000]", "9", "BinarySI")},
        {"-1.5Gi", LONG("true", "[1610612736000000000]", "9", "BinarySI")},
        {"1Pi", LONG("false", "[2882303761517117440 61035]", "9", "BinarySI")},
        {"9Ei", LONG("false", "[9223372036854775807]", "0", "BinarySI")},
        {"0.0001Ki", LONG("false", "[102400000]", "9", "DecimalSI")},
        {"0.1n", LONG("false", "[1]", "9", "DecimalSI")},
    };
    EACH_ROW (row, cases) {
        struct buf out;
        buf_init(&out, 1024);
        assert_int_equal(spechash_quantity(&out, row->text, NULL), ERR_OK);
        assert_string_equal(out.data, row->dump);
        buf_fini(&out);
    }
}

CASE(test_what_is_no_quantity)
{
    static const char *const cases[] = {
        "",    "x",    "m",     "-",
        "1x",  "1Kii", "1K",    "1e",
        "1e+",

        "--1", "1 Gi", "1.2.3", "1234567890123456789012345678901234567890",
    };
    EACH_ROW (row, cases) {
        struct buf out;
        buf_init(&out, 1024);
        struct errinfo ei = {0};
        if (spechash_quantity(&out, *row, &ei) != ERR_INVALID)
            fail_msg("\"%s\" gave %s", *row, out.data);
        assert_non_null(strstr(ei.text, "expected a quantity"));
        buf_fini(&out);
    }
}
