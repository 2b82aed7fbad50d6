/*
 * What the journal holds of one open change. The table's attributes are in journal/journal.h; this is the value.
 */
#ifndef DOMAIN_RECORD_H
#define DOMAIN_RECORD_H

#include "domain/change.h"

enum record_state { RECORD_INTENT, RECORD_APPLIED, RECORD_SETTLED, RECORD_RESTORING };

const char *record_state_name(enum record_state state); /* "Intent" */
bool record_state_parse(const char *name, enum record_state *out);

struct record {
	const char *zone_id;
	const char *resource_id;
	const char *resource_type; /* the kind */
	struct string_list removed;
	struct string_list order;
	enum record_state state;
	struct string_list owners;
	int64_t undone_count;
	struct wallclock unanswered_until; /* 0 = nothing can still land */
	const struct json *detail;         /* {"schema":1,"name":…,"incarnation":…, kind-specific} */
	const char *attempt;               /* who wrote it last */
	struct wallclock created_at;
	struct wallclock updated_at;
	const char
		*unreadable; /* NULL; else why it could not be read: only zone and id are set then, and nobody may act on it */
};

struct records {
	struct record *at;
	size_t count;
	size_t capacity;
};

struct record *records_add(struct records *records, struct arena *arena);

struct record record_copy(const struct record *record, struct arena *arena);

/* The change that the record speaks of (borrowed). Name and incarnation come from `detail`. */
struct change record_change(const struct record *record);

/* A record for `change`, state Intent, one owner; `detail` gets schema, name and incarnation. */
struct record record_of_change(const struct change *change, const char *zone_id, const char *owner, const char *attempt,
                               struct wallclock now, struct arena *arena);

#endif
