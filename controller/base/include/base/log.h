/*
 * Structured log lines on stderr, one event a line, as JSON or as text. Only the engine, the web thread and main log;
 * functions below explain to their caller instead. Never give it a secret.
 *
 * JSON: {"time":"…","level":"info","message":"…","zone":"use1-az1"}   text: 03:04:05 info  message zone=use1-az1
 * Thread: any; a line is one write(2).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

void log_configure(enum log_level least, enum log_format format);

/* "debug" … "error"; false when it is none of them. */
bool log_parse_level(const char *name, enum log_level *out);

/*
 * Pairs of key, value (strings), at most 32, ended by NULL; a NULL value leaves its pair out. Values are cut at 4 KiB;
 * control characters and invalid UTF-8 are escaped. errno is kept.
 * log_event(LOG_INFO, "group changed", "zone", zone, "name", name, NULL);
 */
void log_event(enum log_level level, const char *message, ...) __attribute__((sentinel));

#endif
