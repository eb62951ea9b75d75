
#include <string.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cluster/crds.h"
#include "test/unit.h"

static const struct objkind *kind(struct objstore *store, const char *plural)
{
    return objstore_kind(store, "gateway.networking.k8s.io", plural);
}

CASE(embedded)
{
    struct errinfo ei = {0};
    struct loop *loop = loop_new(1000);
    struct objstore *store = objstore_new(loop, 0);
    assert_null(kind(store, "httproutes"));
    if (crds_install(store, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_int_equal(crds_install(store, &ei), ERR_OK); /* what is there stays */
    assert_non_null(objkind_version(kind(store, "httproutes"), "v1"));
    assert_non_null(objkind_version(kind(store, "httproutes"), "v1beta1"));
    assert_non_null(kind(store, "gateways"));
    loop_drain(loop);
    assert_int_equal(loop_run(loop), 0);
    objstore_free(store);
    loop_free(loop);
}

CASE(files)
{
    static const char *const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: "
                                   "CustomResourceDefinition\nmetadata: {name: cars.test.io}\n"
                                   "spec:\n  group: test.io\n  scope: Namespaced\n  names: "
                                   "{plural: cars, singular: car, kind: Car, listKind: CarList}\n"
                                   "  versions:\n  - {name: v1, served: true, storage: true, "
                                   "schema: {openAPIV3Schema: {type: object}}}\n";
    char directory[] = "/tmp/crds-test-XXXXXX", path[64], other[64];
    struct errinfo ei = {0};
    struct loop *loop = loop_new(1000);
    struct objstore *store = objstore_new(loop, 0);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/car.yaml", directory);
    snprintf(other, sizeof(other), "%s/notes.txt", directory);
    assert_int_equal(file_write(path, crd, strlen(crd), 0600, &ei), ERR_OK);
    assert_int_equal(file_write(other, "no yaml: [", 10, 0600, &ei), ERR_OK);
    assert_int_equal(crds_load(store, directory, &ei), ERR_OK);
    assert_non_null(objstore_kind(store, "test.io", "cars"));
    assert_int_equal(crds_load(store, path, &ei), ERR_OK); /* again: replaced */
    assert_int_equal(crds_load(store, "/nonexistent", &ei), ERR_NOT_FOUND);
    assert_int_equal(file_write(path, "kind: Pod\n", 10, 0600, &ei), ERR_OK);
    assert_int_equal(crds_load(store, path, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "expected a CustomResourceDefinition"));
    unlink(path);
    unlink(other);
    rmdir(directory);
    loop_drain(loop);
    assert_int_equal(loop_run(loop), 0);
    objstore_free(store);
    loop_free(loop);
}
