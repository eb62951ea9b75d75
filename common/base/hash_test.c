#include "base/hash.h"

#include <string.h>

#include "test/unit.h"

CASE(test_fnv)
{
    assert_int_equal(hash_text(HASH_START, ""), HASH_START);
    assert_true(hash_text(HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_text(HASH_START, "foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(hash_text(hash_text(HASH_START, "foo"), "bar") == hash_text(HASH_START, "foobar"));
}

CASE(test_sha256)
{
    char hex[SHA256_TEXT];

    assert_string_equal(sha256_hex("", 0, hex),
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(sha256_hex("abc", 3, hex),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
