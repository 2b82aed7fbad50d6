#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "domain/delta.h"

/* Times handed to the rules: a tick is a minute and a half here; only their order counts. */
#define TICK_MS 150000
#define MEMO_SLOTS (1u << 16)

static const char *const SUBNET_IDS[] = {"subnet-a", "subnet-a2", "subnet-b", "subnet-c", "subnet-d"};
static const char *const SUBNET_ZONES[] = {"az1", "az1", "az2", "az3", "az3"};
static const char *const ZONE_IDS[] = {"az1", "az2"};
static const char *const OWNERS[] = {"x", "y", "local"};
enum { SUBNET_COUNT = 5, OWNER_COUNT = 3 };

static struct scope scopes[ZONES];
static struct subnet subnets[SUBNET_COUNT];
static uint8_t in_zone[ZONES][SUBNETS], back[SUBNETS][SUBNETS], out[SUBNETS][SUBNETS], joined[SUBNETS][SUBNETS];
static bool is_back[SUBNETS][SUBNETS];

static struct memo {
	uint64_t key;
	struct row row;
	uint8_t verdict;
	bool used, attempt_changed;
} * memos;
static struct arena arena;

static struct string_list list_of(uint8_t mask, const char *const *names, size_t count)
{
	struct string_list list = {0};

	for (size_t i = 0; i < count; i++)
		if (mask & 1u << i)
			string_list_add(&list, &arena, names[i]);
	return list;
}

static uint8_t mask_of(const struct string_list *list, const char *const *names, size_t count)
{
	uint8_t mask = 0;

	for (size_t i = 0; i < count; i++)
		if (string_list_has(list, names[i]))
			mask |= (uint8_t)(1u << i);
	return mask;
}

static struct string_list subnet_list(uint8_t mask)
{
	return list_of(mask, SUBNET_IDS, SUBNET_COUNT);
}

static void fill_pair(uint8_t removed, uint8_t current)
{
	struct string_list now = subnet_list(current), all = subnet_list(SUBNETS - 1);
	struct change change = {.removed = subnet_list(removed), .order = all};
	struct resource resource = {.subnets = now};
	struct string_list next;

	next = delta_next(&scopes[ZONE_A], &change, &now, DIRECTION_OUT, &arena);
	out[removed][current] = mask_of(&next, SUBNET_IDS, SUBNET_COUNT);
	next = delta_next(&scopes[ZONE_A], &change, &now, DIRECTION_BACK, &arena);
	back[removed][current] = mask_of(&next, SUBNET_IDS, SUBNET_COUNT);
	next = delta_join(&change.removed, &now, &arena);
	joined[removed][current] = mask_of(&next, SUBNET_IDS, SUBNET_COUNT);
	is_back[removed][current] = delta_compare(&scopes[ZONE_A], &change, &resource, &arena) != STAND_OUT;
}

static void fill_zones(uint8_t current)
{
	struct string_list now = subnet_list(current), inside, elsewhere;

	for (int zone = 0; zone < ZONES; zone++) {
		delta_split(&scopes[zone], &now, &arena, &inside, &elsewhere);
		in_zone[zone][current] = mask_of(&inside, SUBNET_IDS, SUBNET_COUNT);
	}
}

void book_open(void)
{
	memos = calloc(MEMO_SLOTS, sizeof(*memos));
	if (!memos)
		abort();
	arena_init(&arena, "book", 64u << 20);
	for (size_t i = 0; i < SUBNET_COUNT; i++)
		subnets[i] = (struct subnet){SUBNET_IDS[i], SUBNET_ZONES[i], SUBNET_ZONES[i], "vpc-1"};
	for (int zone = 0; zone < ZONES; zone++) {
		scopes[zone] = (struct scope){.zone_id = ZONE_IDS[zone], .subnets = {subnets, SUBNET_COUNT, SUBNET_COUNT}};
		subnets_sort(&scopes[zone].subnets);
	}
	for (int removed = 0; removed < SUBNETS; removed++)
		for (int current = 0; current < SUBNETS; current++)
			fill_pair((uint8_t)removed, (uint8_t)current);
	for (int current = 0; current < SUBNETS; current++)
		fill_zones((uint8_t)current);
	arena_reset(&arena);
}

void book_shut(void)
{
	free(memos);
	memos = NULL;
	arena_done(&arena);
}

uint8_t book_in_zone(uint8_t zone, uint8_t list)
{
	return in_zone[zone][list];
}

uint8_t book_out(uint8_t removed, uint8_t current)
{
	return out[removed][current];
}

uint8_t book_back(uint8_t removed, uint8_t current)
{
	return back[removed][current];
}

bool book_is_back(uint8_t removed, uint8_t current)
{
	return is_back[removed][current];
}

uint8_t book_join(uint8_t a, uint8_t b)
{
	return joined[a][b];
}

/* The record a rule is asked about, and the call, unpacked. */

static const struct wallclock NOW = {INT64_C(1790000000000000)};

static struct wallclock claim_of(uint8_t ticks)
{
	return ticks ? wallclock_after_ms(NOW, (int64_t)ticks * TICK_MS) : (struct wallclock){0};
}

static uint8_t ticks_of(struct wallclock claim)
{
	return claim.us > NOW.us ? (uint8_t)((claim.us - NOW.us) / 1000 / TICK_MS) : 0;
}

static struct record unpack(const struct row *row, uint8_t zone)
{
	bool abandoned = row->age >= ABANDONED;

	return (struct record){
		.zone_id = ZONE_IDS[zone],
		.resource_id = "resource",
		.removed = subnet_list(row->removed),
		.state = (enum record_state)row->state,
		.owners = list_of(row->owners, OWNERS, OWNER_COUNT),
		.unanswered_until = claim_of(row->claim),
		.attempt = "the record's",
		.updated_at = wallclock_after_ms(NOW, abandoned ? -3600000 : -1000),
	};
}

static void unpack_call(const struct book_call *packed, const struct record *found, struct journal_call *call)
{
	*call = (struct journal_call){
		.verb = (enum journal_verb)packed->verb,
		.zone_id = ZONE_IDS[packed->zone],
		.resource_id = "resource",
		.owner = OWNERS[packed->owner >> 1],
		.attempt = packed->attempt_is_records ? "the record's" : "this call's",
		.now = NOW,
		.removed_old = subnet_list(packed->removed_old),
		.removed_new = subnet_list(packed->removed_new),
		.done_state = (enum record_state)packed->done_state,
		.undone_by = 1,
		.unanswered_until = claim_of(packed->claim),
	};
	if (found)
		call->record = *found;
	if (call->verb != JOURNAL_INTENT)
		return;
	call->record = (struct record){.state = RECORD_INTENT, .removed = call->removed_new};
	call->record.owners = list_of(packed->owner, OWNERS, OWNER_COUNT);
}

/* A dropped condition is one that finds what it wants to see. */
static void look_away(enum drop drop, const struct book_call *packed, struct record *found, struct journal_call *call)
{
	bool close = call->verb == JOURNAL_CLOSE;
	struct string_list me = list_of(packed->owner, OWNERS, OWNER_COUNT);

	if ((drop == DROP_JOIN_RESTORING && call->verb == JOURNAL_JOIN) ||
	    (drop == DROP_REDO_RESTORING && call->verb == JOURNAL_REDO))
		found->state = found->state == RECORD_RESTORING ? RECORD_APPLIED : found->state;
	if (drop == DROP_EXTEND_OLD && call->verb == JOURNAL_EXTEND)
		call->removed_old = found->removed;
	if ((drop == DROP_DONE_ATTEMPT && call->verb == JOURNAL_DONE) || (drop == DROP_CLOSE_ATTEMPT && close))
		call->attempt = found->attempt;
	if ((drop == DROP_RESTORE_OWNERS && call->verb == JOURNAL_RESTORE) || (drop == DROP_CLOSE_OWNERS && close))
		found->owners = me;
	if (drop == DROP_CLOSE_RESTORING && close)
		found->state = RECORD_RESTORING;
	if (drop == DROP_CLOSE_UNANSWERED && close)
		found->unanswered_until = (struct wallclock){0};
	if (drop == DROP_LEAVE_LAST && call->verb == JOURNAL_LEAVE)
		string_list_add(&found->owners, &arena, "nobody");
}

static void pack(const struct record *record, const struct book_call *call, const struct row *found, struct row *row,
                 bool mine)
{
	*row = (struct row){
		.is = 1,
		.state = (uint8_t)record->state & 3u,
		.owners = mask_of(&record->owners, OWNERS, OWNER_COUNT) & 7u,
		.claim = ticks_of(record->unanswered_until) & 3u,
		.removed = mask_of(&record->removed, SUBNET_IDS, SUBNET_COUNT) & 31u,
		.writer = (mine ? call->writer : found->writer) & 7u,
	};
}

static void ask_rule(enum drop drop, const struct book_call *packed, struct memo *memo)
{
	struct row found = memo->row;
	struct record record = unpack(&found, packed->zone);
	struct journal_call call;
	struct journal_outcome outcome = {0};
	bool exists = found.is && !(drop == DROP_INTENT_NONE && packed->verb == JOURNAL_INTENT);

	unpack_call(packed, exists ? &record : NULL, &call);
	if (exists)
		look_away(drop, packed, &record, &call);
	journal_rule(&call, exists ? &record : NULL, &arena, &outcome);
	memo->verdict = (uint8_t)outcome.verdict;
	memo->attempt_changed = outcome.keep == JOURNAL_STORE && text_equal(outcome.record.attempt, "this call's");
	if (outcome.keep == JOURNAL_DELETE)
		memo->row = (struct row){0};
	else if (outcome.keep == JOURNAL_STORE)
		pack(&outcome.record, packed, &found, &memo->row, memo->attempt_changed);
	if (drop == DROP_RESTORE_OWNERS && packed->verb == JOURNAL_RESTORE && found.is)
		memo->row.owners = found.owners;
	arena_reset(&arena);
}

static uint64_t key_of(enum drop drop, const struct book_call *call, const struct row *row)
{
	uint64_t key = row->is | row->state << 1 | row->owners << 3 | row->claim << 6 | row->removed << 8;

	key |= (uint64_t)row->writer << 13 | (uint64_t)(row->age >= ABANDONED) << 16;
	key |= (uint64_t)(call->verb | call->owner << 3 | call->zone << 6 | call->removed_old << 7) << 17;
	key |= (uint64_t)(call->removed_new | call->done_state << 5 | call->claim << 7) << 29;
	key |= (uint64_t)(call->writer | call->attempt_is_records << 3) << 38;
	return key | (uint64_t)drop << 42;
}

enum journal_verdict book_rule(enum drop drop, const struct book_call *call, struct row *row, bool *attempt_changed)
{
	uint64_t key = key_of(drop, call, row);
	size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 48) % MEMO_SLOTS;
	struct memo *memo = &memos[slot];

	if (!memo->used || memo->key != key) {
		*memo = (struct memo){.key = key, .row = *row, .used = true};
		ask_rule(drop, call, memo);
	}
	*attempt_changed = memo->attempt_changed;
	if (memo->verdict != JOURNAL_DONE_NOW)
		return (enum journal_verdict)memo->verdict; /* nothing was written: it is as old as it was */
	*row = memo->row;
	row->age = 0;
	return JOURNAL_DONE_NOW;
}
