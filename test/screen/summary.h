/* What the demo found: times, shares asked for and measured, failed requests; as text and as the
 * JSON report. */
#ifndef STORY_SUMMARY_H
#define STORY_SUMMARY_H

#include "screen/story.h"

/* Points by which a measured share may differ from the one asked for. */
enum { SUMMARY_TOLERANCE = 5 };

/* Prints the summary. Returns true when everything was as it must be. */
bool summary_print(const struct story_options *options, const struct story *story);
/* Writes the report; ERR_INVALID or ERR_DENIED when the file cannot be written. */
enum err summary_report(const struct story_options *options, const struct story *story,
                        const char *path, struct errinfo *ei) MUST_USE;

#endif
