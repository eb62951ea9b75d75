#include "api/objkind.h"

#include <stdio.h>

#include "object/try.h"

/* Every row is complete, so that no reader of the table has to look for NULL. */
CASE(test_table)
{
    size_t count = 0;
    for (const struct objkind *kind = objkind_builtin(); kind->kind; kind++, count++) {
        assert_non_null(kind->group);
        assert_non_null(kind->plural);
        assert_non_null(kind->singular);
        assert_non_null(kind->short_names);
        assert_non_null(kind->categories);
        const struct objversion *storage = objkind_version(kind, kind->storage);
        assert_non_null(storage);
        assert_true(kind->served);
        assert_int_equal(storage->flags & OBJKIND_STATUS, kind->flags & OBJKIND_STATUS);
        char list[64];
        (void)snprintf(list, sizeof(list), "%sList", kind->kind);
        assert_string_equal(kind->list_kind, list);
        for (const struct objkind *other = objkind_builtin(); other != kind; other++) {
            assert_false(strcmp(other->group, kind->group) == 0 &&
                         strcmp(other->plural, kind->plural) == 0);
        }
    }
    assert_true(count > 15);
}

CASE(test_names)
{
    const struct objkind *kind = objkind_builtin();
    assert_string_equal(kind->plural, "namespaces");
    assert_string_equal(objkind_resource(arena, kind), "namespaces");
    assert_string_equal(objkind_api_version(arena, kind, "v1"), "v1");
    assert_null(objkind_version(kind, "v2"));
    while (strcmp(kind->plural, "deployments") != 0)
        kind++;
    assert_string_equal(objkind_resource(arena, kind), "deployments.apps");
    assert_string_equal(objkind_api_version(arena, kind, "v1"), "apps/v1");
}
