
#include <string.h>

#include "cluster/meta.h"
#include "test/unit.h"

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *obj = json_own(arena, json_tokener_parse(text));
    assert_non_null(obj);
    return obj;
}

static void reads(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *obj = parse(
        arena,
        "{'metadata':{'name':'a','namespace':'n','uid':'u','labels':{'l':'1'},'annotations':{'x/"
        "y':'2'},'creationTimestamp':'1970-01-01T00:01:00Z','ownerReferences':[{'uid':'o1'},{'uid':"
        "'o2','controller':true}]}}");
    assert_string_equal(meta_name(obj), "a");
    assert_string_equal(meta_ns(obj), "n");
    assert_string_equal(meta_uid(obj), "u");
    assert_string_equal(meta_label(obj, "l"), "1");
    assert_string_equal(meta_annotation(obj, "x/y"), "2");
    assert_int_equal(meta_created(obj), 60);
    assert_true(meta_owned_by(obj, "o2"));
    assert_false(meta_owned_by(obj, "o1")); /* an owner, but not the controller */
    assert_false(meta_deleting(obj));
    assert_string_equal(meta_name(NULL), "");
    assert_null(meta_label(NULL, "l"));
    assert_int_equal(meta_created(NULL), 0);
    assert_false(meta_owned_by(NULL, "o2"));
    struct json_object *list = json_own(arena, meta_owner_list(obj, "apps/v1", "Deployment"));
    assert_string_equal(json_str_at(json_elem(list, 0), "uid", NULL), "u");
    arena_free(arena);
}

static void conditions(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *list =
        parse(arena, "[{'type':'A','status':'True'},{'type':'B','status':'False'}]");
    assert_true(meta_condition_true(list, "A"));
    assert_false(meta_condition_true(list, "B"));
    assert_false(meta_condition_true(list, "C"));
    assert_null(meta_condition(NULL, "A"));
    arena_free(arena);
}

static void hashes(void **state)
{
    struct arena *arena = arena_new();
    const char *one = meta_hash(arena, parse(arena, "{'a':1,'b':2}"));
    assert_string_equal(one, meta_hash(arena, parse(arena, "{'b':2,'a':1}")));
    assert_string_not_equal(one, meta_hash(arena, parse(arena, "{'a':1,'b':3}")));
    assert_true(strspn(one, "bcdfghjklmnpqrstvwxz2456789") == strlen(one));
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(reads), cmocka_unit_test(conditions), cmocka_unit_test(hashes))
