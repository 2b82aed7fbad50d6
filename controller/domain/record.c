#include "domain/record.h"

#include "base/text.h"

enum { DETAIL_SCHEMA = 1 };

static const char *const STATE_NAMES[] = {
	[RECORD_INTENT] = "Intent",
	[RECORD_APPLIED] = "Applied",
	[RECORD_SETTLED] = "Settled",
	[RECORD_RESTORING] = "Restoring",
};

const char *record_state_name(enum record_state state)
{
	return STATE_NAMES[state];
}

bool record_state_parse(const char *name, enum record_state *out)
{
	for (size_t i = 0; i < sizeof(STATE_NAMES) / sizeof(STATE_NAMES[0]); i++)
		if (text_equal(name, STATE_NAMES[i])) {
			*out = (enum record_state)i;
			return true;
		}
	return false;
}

struct record *records_add(struct records *records, struct arena *arena)
{
	struct record *added;

	records->at = arena_grow(arena, records->at, records->count, &records->capacity, sizeof(*records->at));
	added = &records->at[records->count++];
	*added = (struct record){0};
	return added;
}

struct record record_copy(const struct record *record, struct arena *arena)
{
	struct record copy = *record;

	copy.zone_id = arena_string(arena, record->zone_id);
	copy.resource_id = arena_string(arena, record->resource_id);
	copy.resource_type = arena_string(arena, record->resource_type);
	copy.removed = string_list_copy(&record->removed, arena);
	copy.order = string_list_copy(&record->order, arena);
	copy.owners = string_list_copy(&record->owners, arena);
	copy.detail = record->detail == NULL ? NULL : json_copy(arena, record->detail);
	copy.attempt = arena_string(arena, record->attempt);
	return copy;
}

struct change record_change(const struct record *record)
{
	return (struct change){
		.kind = record->resource_type,
		.id = record->resource_id,
		.name = json_get_string(record->detail, "name"),
		.incarnation = json_get_string(record->detail, "incarnation"),
		.removed = record->removed,
		.order = record->order,
		.detail = record->detail,
	};
}

static struct json *detail_of_change(const struct change *change, struct arena *arena)
{
	struct json *detail = change->detail == NULL ? json_new_object(arena) : json_copy(arena, change->detail);

	json_set_integer(detail, "schema", DETAIL_SCHEMA);
	json_set_string(detail, "name", change->name);
	json_set_string(detail, "incarnation", change->incarnation);
	return detail;
}

struct record record_of_change(const struct change *change, const char *zone_id, const char *owner, const char *attempt,
                               struct wallclock now, struct arena *arena)
{
	struct record record = {
		.zone_id = arena_string(arena, zone_id),
		.resource_id = arena_string(arena, change->id),
		.resource_type = arena_string(arena, change->kind),
		.removed = string_list_copy(&change->removed, arena),
		.order = string_list_copy(&change->order, arena),
		.state = RECORD_INTENT,
		.detail = detail_of_change(change, arena),
		.attempt = arena_string(arena, attempt),
		.created_at = now,
		.updated_at = now,
	};

	string_list_add(&record.owners, arena, arena_string(arena, owner));
	return record;
}
