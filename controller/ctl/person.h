/* Who asks: the name that an approval or a request carries. */
#ifndef CTL_PERSON_H
#define CTL_PERSON_H

#include "ctl/read.h"

/*
 * The name by which the API server knows the person (SelfSubjectReview), or as_name if that is not
 * NULL. ERR_NOT_FOUND: the server cannot say, which one before Kubernetes 1.28 cannot.
 */
enum err person_name(struct ctl *ctl, const char *as_name, const char **out,
                     struct errinfo *ei) MUST_USE;

#endif
