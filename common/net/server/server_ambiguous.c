/*
 * Requests that another parser could read differently: a proxy in front of us that takes the other
 * of two lengths sees another request behind this one. h2o takes the first Content-Length, the last
 * Host, and chunks before a length; so the text of the headers, which stands in front of the body
 * in the socket's buffer, is looked at once more.
 */
#include <string.h>
#include <strings.h>

#include "net/server/server_internal.h"

struct counts {
    int hosts, lengths, codings;
};

/* False: the line cannot be a header. */
static bool count_line(const char *line, size_t len, struct counts *counts)
{
    static const char host[] = "host", length[] = "content-length", coding[] = "transfer-encoding";
    const char *colon = memchr(line, ':', len);

    /* A line that begins with a blank continues the one above for some. */
    if (!colon || *line == ' ' || *line == '\t')
        return false;
    size_t name = (size_t)(colon - line);
    counts->hosts += name == sizeof(host) - 1 && strncasecmp(line, host, name) == 0;
    counts->lengths += name == sizeof(length) - 1 && strncasecmp(line, length, name) == 0;
    counts->codings += name == sizeof(coding) - 1 && strncasecmp(line, coding, name) == 0;
    return true;
}

bool server_request_is_ambiguous(h2o_req_t *req)
{
    const h2o_buffer_t *input = req->conn->callbacks->get_socket(req->conn)->input;
    const char *line = input->bytes; /* it stays until the request is over */
    const char *end = line + input->size;
    struct counts counts = {0};
    bool first = true;

    for (const char *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline)
            return true;
        next = newline + 1;
        size_t len = (size_t)(newline - line);
        if (len > 0 && line[len - 1] == '\r')
            len--;
        if (len == 0 && !first)
            break;
        if (!first && !count_line(line, len, &counts))
            return true;
        first = first && len == 0; /* h2o skips an empty line in front of a request */
    }
    return counts.hosts > 1 || counts.lengths > 1 || counts.codings > 1 ||
           (counts.codings > 0 && (counts.lengths > 0 || req->version < 0x101));
}
