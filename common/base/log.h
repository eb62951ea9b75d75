/*
 * Log lines: one JSON object each on stderr. Keys in order: ts (RFC 3339), level, event, canary (if
 * any), msg, then the caller's fields. error = a person must act; warn = it is being retried; info
 * = a state changed; debug = detail. Never a secret, never a whole object. Control characters and
 * bad UTF-8 in values are escaped, values are truncated to LOG_MAX_VALUE bytes.
 *
 *     log_info("gate_opened", NULL, "opened by request", LOG_STR("gate", name),
 *              LOG_INT("status", 202));
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_MAX_VALUE = 4096 };
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
    const char *key;
    const char *str; /* NULL for a number */
    int64_t num;
};
static inline const char *log_text(const char *text)
{
    return text ? text : "";
}
#define LOG_STR(key_, value_) ((struct log_field){.key = (key_), .str = log_text(value_)})
#define LOG_INT(key_, value_) ((struct log_field){.key = (key_), .num = (int64_t)(value_)})

/* Names for log_set_level(), NULL-ended: the choices of a --log-level option. */
extern const char *const log_level_names[];
/* Sets the level by name: debug, info, warn, warning, error (fatal and panic count as error).
 * Returns false if unknown. */
bool log_set_level(const char *text);
bool log_enabled(enum log_level level);
/* Sets the descriptor, default 2; for tests. */
void log_set_fd(int fd);
/*
 * Called by daemons after reading their options: from then on a thread writes the log, so that a
 * slow reader does not block the loop. log_stop() waits at most a second for all lines to be
 * written.
 */
void log_start(void);
void log_stop(void);

void log_write(enum log_level level, const char *event, const char *canary, const char *msg,
               const struct log_field *fields, int count);

#define LOG_AT_(level, event, canary, msg, ...)                                                    \
    do {                                                                                           \
        if (log_enabled(level)) {                                                                  \
            const struct log_field log_fields_[] = {{0}, ##__VA_ARGS__};                           \
            log_write(level, event, canary, msg, log_fields_ + 1,                                  \
                      (int)(sizeof(log_fields_) / sizeof(log_fields_[0])) - 1);                    \
        }                                                                                          \
    } while (0)
/* event: snake_case name; canary: "name.namespace" or NULL; msg: one sentence. */
#define log_debug(event, canary, msg, ...) LOG_AT_(LOG_DEBUG, event, canary, msg, ##__VA_ARGS__)
#define log_info(event, canary, msg, ...)  LOG_AT_(LOG_INFO, event, canary, msg, ##__VA_ARGS__)
#define log_warn(event, canary, msg, ...)  LOG_AT_(LOG_WARN, event, canary, msg, ##__VA_ARGS__)
#define log_error(event, canary, msg, ...) LOG_AT_(LOG_ERROR, event, canary, msg, ##__VA_ARGS__)

/*
 * The queue behind log_start(), for log.c and tests. A thread writes, so that a stalled reader
 * blocks only that thread. (stderr may be shared with other processes and so cannot be made
 * non-blocking, and not every kernel can write to a pipe without waiting.) Lines that do not fit
 * are dropped and counted; the number is logged once the reader continues.
 */
enum { LOG_QUEUE_BYTES = 1024 * 1024, LOG_END_MS = 1000 };

/* Starts the thread, which writes to fd. */
void log_queue_start(int fd);
/* Queues one line with its newline, or drops it. */
void log_queue_add(const char *line, size_t len);
/* Writes queued lines, for at most LOG_END_MS, and ends the thread. Returns false if it is still
 * blocked. */
bool log_queue_stop(void);
/* Lines dropped since the start of the process. */
uint64_t log_queue_dropped(void);

#endif
