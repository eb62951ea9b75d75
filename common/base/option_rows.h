/*
 * Options shared by several programs, with the same names and texts everywhere. A program adds its
 * default or group:
 *
 *     OPTION_ROW_ADDRESS(&opt.address, .value = "0.0.0.0"),
 */
#ifndef BASE_OPTION_ROWS_H
#define BASE_OPTION_ROWS_H

#include "base/log.h"
#include "base/option.h"

#define OPTION_ROW_ADDRESS(at_, ...)                                                               \
    OPTION(STRING, "address", at_, .arg = "ADDRESS", .help = "address to listen on", ##__VA_ARGS__)

#define OPTION_ROW_LOG_LEVEL(at_, ...)                                                             \
    OPTION(STRING, "log-level", at_, .value = "info", .choices = log_level_names, .arg = "LEVEL",  \
           .help = "least severe level that is logged", ##__VA_ARGS__)

#define OPTION_ROW_TLS_CERT(at_, ...)                                                              \
    OPTION(STRING, "tls-cert", at_, .arg = "FILE",                                                 \
           .help = "certificate (PEM) to serve HTTPS with; read again, as all of these, when it "  \
                   "changes",                                                                      \
           ##__VA_ARGS__)
#define OPTION_ROW_TLS_KEY(at_, ...)                                                               \
    OPTION(STRING, "tls-key", at_, .arg = "FILE", .help = "its private key", ##__VA_ARGS__)

/* Options of Flagger's manifests. */
#define OPTION_ROWS_ZAP(...)                                                                       \
    OPTION(IGNORED, "zap-replace-globals", NULL,                                                   \
           .help =                                                                                 \
               "accepted for Flagger's manifests; has no effect: the log is always JSON lines",    \
           ##__VA_ARGS__),                                                                         \
        OPTION(IGNORED, "zap-encoding", NULL, .arg = "ENCODING",                                   \
               .help = "accepted for Flagger's manifests; has no effect: the log is always JSON "  \
                       "lines",                                                                    \
               ##__VA_ARGS__)

#endif
