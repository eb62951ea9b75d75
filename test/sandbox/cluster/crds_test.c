#include <string.h>

#include "api/trystore.h"
#include "cluster/crds.h"

CASE(embedded)
{
    struct trystore t TRY_CLOSED = try_open();
    struct errinfo ei = {0};
    assert_null(objstore_kind(t.store, "gateway.networking.k8s.io", "httproutes"));
    assert_int_equal(crds_install(t.store, &ei), ERR_OK);
    assert_int_equal(crds_install(t.store, &ei), ERR_OK); /* what is there stays */
    try_kind(&t, "gateway.networking.k8s.io", "httproutes");
}

CASE(files)
{
    static const char *const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: "
                                   "CustomResourceDefinition\nmetadata: {name: cars.test.io}\n"
                                   "spec:\n  group: test.io\n  scope: Namespaced\n  names: "
                                   "{plural: cars, singular: car, kind: Car, listKind: CarList}\n"
                                   "  versions:\n  - {name: v1, served: true, storage: true, "
                                   "schema: {openAPIV3Schema: {type: object}}}\n";
    struct trystore t TRY_CLOSED = try_open();
    struct errinfo ei = {0};
    const char *path = unit_put("car.yaml", crd);
    unit_put("notes.txt", "no yaml: [");
    assert_int_equal(crds_load(t.store, unit_folder(), &ei), ERR_OK);
    try_kind(&t, "test.io", "cars");
    assert_int_equal(crds_load(t.store, path, &ei), ERR_OK); /* again: replaced */
    assert_int_equal(crds_load(t.store, "/nonexistent", &ei), ERR_NOT_FOUND);
    unit_put("car.yaml", "kind: Pod\n");
    assert_int_equal(crds_load(t.store, path, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "expected a CustomResourceDefinition"));
}
