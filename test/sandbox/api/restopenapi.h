/*
 * /openapi/v2 in the protobuf encoding that kubectl reads: for every served kind one PATCH
 * operation with the query parameters dryRun and fieldValidation, and no schemas. kubectl up
 * to 1.26 refuses
 * --dry-run=server for a kind without them; as there are no schemas, every kubectl leaves
 * validation to the server.
 */
#ifndef SANDBOX_RESTOPENAPI_H
#define SANDBOX_RESTOPENAPI_H

#include "api/rest.h"

void restopenapi(struct restreq *req);

#endif
