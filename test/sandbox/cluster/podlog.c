#include "cluster/podlog.h"

void podlog_init(struct podlog *log)
{
    buf_init(&log->text, PODLOG_KEEP);
    log->dropped = 0;
}

void podlog_fini(struct podlog *log)
{
    buf_fini(&log->text);
}

void podlog_add(struct podlog *log, const char *data, size_t len)
{
    if (len > PODLOG_KEEP / 2) {
        log->dropped += log->text.len + len - PODLOG_KEEP / 2;
        buf_clear(&log->text);
        data += len - PODLOG_KEEP / 2;
        len = PODLOG_KEEP / 2;
    } else if (log->text.len + len > PODLOG_KEEP) { /* half at a time: moving it is not free */
        size_t cut = log->text.len / 2;
        buf_consume(&log->text, cut);
        log->dropped += cut;
    }
    buf_add(&log->text, data, len);
}

void podlog_read(const struct podlog *log, size_t offset, struct buf *out)
{
    size_t at = offset > log->dropped ? offset - log->dropped : 0;
    if (at < log->text.len)
        buf_add(out, log->text.data + at, log->text.len - at);
}

void podlog_move(struct podlog *to, struct podlog *from)
{
    podlog_fini(to);
    *to = *from;
    podlog_init(from);
}
