/* Who is shown a page of the controller, and what all its pages answer alike. */
#ifndef PAGE_DOOR_H
#define PAGE_DOOR_H

#include "net/server/files.h"
#include "net/server/tokens.h"

/* With neither the page is off. */
struct page_door {
    bool open;                   /* to everybody who reaches the port */
    const struct tokens *tokens; /* to who has one; NULL: none is asked for */
};

/* False, and answered: the data below /ui/api/ and /debug is not for who asks. */
bool page_admits(const struct page_door *door, struct http_conn_request *req) MUST_USE;

/* Answers whatever is below /ui: the files, and by data() what is below /ui/api/. */
void page_answer(const struct page_door *door, struct http_conn_request *req,
                 const struct http_file *files,
                 void (*data)(void *arg, struct http_conn_request *req), void *arg);

#endif
