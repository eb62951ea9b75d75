/* Names, labels and annotations as Kubernetes allows them, with its messages. */
#ifndef SANDBOX_OBJNAME_H
#define SANDBOX_OBJNAME_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/objfail.h"

enum objname_form {
    OBJNAME_SUBDOMAIN,  /* RFC 1123 subdomain: most objects */
    OBJNAME_LABEL,      /* RFC 1123 label: namespaces, containers */
    OBJNAME_LABEL_1035, /* as label, and begins with a letter: Services */
    OBJNAME_SEGMENT,    /* anything that is one path segment: RBAC */
};

/* Adds a cause under field when text is no such name. */
void objname_check(struct objfail *fail, const char *field, const char *text,
                   enum objname_form form);
/* metadata.labels, annotations, finalizers and ownerReferences of obj. */
void objname_check_metadata(struct objfail *fail, struct json_object *obj);

#endif
