/*
 * Who asks, and whether he may. Three kinds of tokens: that of the sandbox, which may do everything;
 * TOKEN-readonly, which may read everything; and those that a ServiceAccount is given by its
 * subresource `token`, which may do what the Roles, ClusterRoles and their bindings in the store say,
 * as RBAC in a cluster. Such a token lives as long as its ServiceAccount.
 */
#ifndef SANDBOX_APIAUTH_H
#define SANDBOX_APIAUTH_H

#include "api/rest.h"

/* Answers 401 or 403 and returns false when the request may not go on. */
bool apiauth_allows(struct restreq *req);
/* Answers POST .../serviceaccounts/NAME/token: a TokenRequest with its status. */
void apiauth_token(struct restreq *req);

#endif
