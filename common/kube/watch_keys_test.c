#include "kube/watch_keys.h"
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

CASE(what_a_list_leaves_out_is_stale)
{
    struct watch_keys keys;
    size_t count = 9;

    watch_keys_init(&keys);
    assert_null(watch_keys_take_stale(&keys, &count));
    assert_int_equal(count, 0);
    watch_keys_begin(&keys);
    assert_null(watch_keys_put(&keys, "ns", "a", "1"));
    assert_null(watch_keys_put(&keys, "ns", "b", "2"));
    assert_null(watch_keys_put(&keys, "other", "a", "3"));
    assert_null(watch_keys_put(&keys, "", "a", "4"));
    assert_null(watch_keys_take_stale(&keys, &count));

    watch_keys_begin(&keys);
    assert_null(watch_keys_put(&keys, "ns", "b", "2"));
    assert_null(watch_keys_put(&keys, "", "a", "4"));
    struct watch_key **stale = watch_keys_take_stale(&keys, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(stale[i]->name, "a");
        assert_true(strcmp(stale[i]->uid, "1") == 0 || strcmp(stale[i]->uid, "3") == 0);
        free(stale[i]);
    }
    free(stale);
    assert_int_equal(keys.table.count, 2);
    assert_null(watch_keys_take_stale(&keys, &count));
    watch_keys_fini(&keys);
}

CASE(another_uid_replaces)
{
    struct watch_keys keys;
    watch_keys_init(&keys);
    assert_null(watch_keys_put(&keys, "ns", "a", "1"));
    assert_null(watch_keys_put(&keys, "ns", "a", "1"));
    struct watch_key *before = watch_keys_put(&keys, "ns", "a", "2");
    assert_non_null(before);
    assert_string_equal(before->uid, "1");
    free(before);
    watch_keys_remove(&keys, "ns", "a");
    watch_keys_remove(&keys, "ns", "a");
    assert_null(watch_keys_put(&keys, "ns", "a", "3"));
    assert_int_equal(keys.table.count, 1);
    watch_keys_fini(&keys);
}
