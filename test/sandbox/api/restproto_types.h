/* The messages of Kubernetes' generated.proto that clients send in protobuf; see restproto.h. */
#ifndef SANDBOX_RESTPROTO_TYPES_H
#define SANDBOX_RESTPROTO_TYPES_H

#include <stdbool.h>
#include <stdint.h>

enum proto_type {
    PROTO_STRING,
    PROTO_INT,
    PROTO_BOOL,
    PROTO_BYTES, /* base64 in JSON */
    PROTO_MESSAGE,
    PROTO_TIME,
    PROTO_INT_OR_STRING,
    PROTO_QUANTITY,
    PROTO_SKIP, /* what the server decides anyway */
};
enum proto_shape { PROTO_ONE, PROTO_LIST, PROTO_MAP /* string keys; type is that of the values */ };

struct proto_field {
    uint64_t number;
    const char *name; /* in JSON */
    enum proto_type type;
    enum proto_shape shape;
    bool pointer; /* zero is not the same as absent */
    const struct proto_message *message;
};

struct proto_message {
    const char *name;
    const struct proto_field *fields; /* ended by name NULL */
};

extern const struct proto_message proto_type_meta;
/* The message of a kind, NULL if it is not known. */
const struct proto_message *proto_message_of(const char *kind);

#endif
