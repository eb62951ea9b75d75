/* Kinds of Kubernetes that only tests and the pretend clusters name; the others: kube/resource.h. */
#ifndef TEST_KINDS_H
#define TEST_KINDS_H

#include "kube/resource.h"

#define KIND_OF_TESTS __attribute__((unused)) static const struct kube_resource

KIND_OF_TESTS kube_pods = {.group = "", .version = "v1", .plural = "pods", .kind = "Pod"};
KIND_OF_TESTS kube_namespaces = {.group = "",
                                 .version = "v1",
                                 .plural = "namespaces",
                                 .kind = "Namespace",
                                 .cluster_scoped = true};
KIND_OF_TESTS kube_crds = {.group = "apiextensions.k8s.io",
                           .version = "v1",
                           .plural = "customresourcedefinitions",
                           .kind = "CustomResourceDefinition",
                           .cluster_scoped = true};

#endif
