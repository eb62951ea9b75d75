#include "fleet/rules/record.h"

#include <string.h>

#include "test/rows.h"
#include "test/unit.h"

static const struct inventory_entry entries[] = {
    {"shop-0", "one", "one-config/value", "Canary test/podinfo\nService test/podinfo-testloader"},
    {"shop-0", "two", "two-config", "Canary test/podinfo\nService test/podinfo-testloader"},
    {"shop-0", "three", "three", ""},
    {"shop-0", "four", "four", "Canary test/podinfo"},
    {"shop-1", "this cluster", "", "Canary test/other"},
};
enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

static const char text[] =
    "{\"clusters\":{\"one\":\"one-config/value\",\"two\":\"two-config\",\"four\":\"four\"},"
    "\"policies\":{\"shop-0\":[{\"clusters\":[\"one\",\"two\"],\"objects\":[\"Canary "
    "test/podinfo\","
    "\"Service test/podinfo-testloader\"]},{\"clusters\":[\"four\"],\"objects\":[\"Canary "
    "test/podinfo\"]}],\"shop-1\":[{\"clusters\":[\"this cluster\"],\"objects\":[\"Canary "
    "test/other\"]}]}}";

CASE(clusters_with_the_same_objects_stand_together)
{
    assert_string_equal(inventory_text(arena, entries, ENTRIES), text);
    assert_string_equal(inventory_text(arena, NULL, 0), "{\"clusters\":{},\"policies\":{}}");
}

CASE(what_is_written_is_read_again)
{
    struct inventory out;
    struct errinfo ei;

    assert_int_equal(inventory_read(arena, text, &out, &ei), ERR_OK);
    assert_int_equal(out.count, ENTRIES - 1);
    for (size_t i = 0, at = 0; i < ENTRIES; i++) {
        if (!*entries[i].objects)
            continue;
        assert_string_equal(out.entries[at].policy, entries[i].policy);
        assert_string_equal(out.entries[at].cluster, entries[i].cluster);
        assert_string_equal(out.entries[at].access, entries[i].access);
        assert_string_equal(out.entries[at].objects, entries[i].objects);
        at++;
    }
    assert_int_equal(inventory_read(arena, NULL, &out, &ei), ERR_OK);
    assert_int_equal(out.count, 0);
}

CASE(what_nobody_could_have_written_is_refused)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "flagger.app/inventory: "},
        {"[]", "flagger.app/inventory: "},
        {"{}", "flagger.app/inventory: policies: required: expected an object"},
        {"{\"policies\":{\"a\":[{}]}}", "flagger.app/inventory: policies.a[0].clusters: required"},
        {"{\"policies\":{\"a\":[{\"clusters\":[1],\"objects\":[]}]}}",
         "flagger.app/inventory: policies.a[0].clusters: expected at most"},
        {"{\"policies\":{\"a\":[{\"clusters\":[],\"objects\":[\"Canary\"]}]}}",
         "flagger.app/inventory: policies.a[0].objects: expected lines as \"Canary test/podinfo\", "
         "found \"Canary\""},
        {"{\"policies\":{\"a\":[{\"clusters\":[],\"objects\":[\"Canary a/b/c\"]}]}}",
         "flagger.app/inventory: policies.a[0].objects: "},
        {"{\"policies\":{\"a\":[{\"clusters\":[],\"objects\":[\"Canary a/b\\nPod a/b\"]}]}}",
         "flagger.app/inventory: policies.a[0].objects: "},
    };

    EACH_ROW (row, rows) {
        struct inventory out;
        struct errinfo ei = {0};
        assert_int_equal(inventory_read(arena, row->text, &out, &ei), ERR_INVALID);
        assert_int_equal(out.count, 0);
        if (strncmp(ei.text, row->says, strlen(row->says)) != 0)
            fail_msg("found %s", ei.text);
    }
}

CASE(lines_are_what_the_plan_has)
{
    struct json_object *list = inventory_list(arena, "Canary test/a\nService test/b");

    assert_int_equal(json_len(list), 2);
    assert_string_equal(json_str_at(json_elem(list, 1), "kind", NULL), "Service");
    assert_string_equal(json_str_at(json_elem(list, 1), "namespace", NULL), "test");
    assert_string_equal(json_str_at(json_elem(list, 1), "name", NULL), "b");
    assert_string_equal(inventory_objects(arena, list), "Canary test/a\nService test/b");
    assert_int_equal(json_len(inventory_list(arena, "")), 0);
    assert_string_equal(inventory_objects(arena, NULL), "");
    assert_string_equal(inventory_join(arena, "b x/y\na x/y", "b x/y\nc x/y"),
                        "a x/y\nb x/y\nc x/y");
    assert_true(inventory_has("a x/y\nb x/y", "b x/y"));
    assert_true(inventory_has("", ""));
    assert_false(inventory_has("a x/y\nb x/yz", "b x/y"));
}
