/*
 * Open records of this owner that no ZonalEvacuation accounts for: what was let go (zonevac.dev/abandon), or whose object was wiped away. They are
 * reported, by the metric zonevac_orphans and a line in the log, and never restored unasked.
 *
 * Where to look is told by the region's item of the journal: a zone stays registered for us as long as a record of ours in it is open. It is read a
 * minute after the lease was taken, then with each resync, and as soon as an object vanished that had something out; only the controller's own region,
 * and only by whoever leads. Records of a zone that an object wants are accounted for. What cannot be read says nothing.
 */
#ifndef ENGINE_ORPHANS_H
#define ENGINE_ORPHANS_H

#include "base/arena.h"
#include "base/instant.h"
#include "base/string_list.h"

struct engine;
struct exchange;

#define ORPHANS_ZONES_MAX 16

struct orphans_look {
	struct arena arena;
	struct string_list zones; /* registered for us */
	size_t counts[ORPHANS_ZONES_MAX];
};

struct orphans {
	struct exchange *exchange;
	struct orphans_look seen; /* the last look that came to its end */
	struct orphans_look under_way;
	size_t reading; /* the zone whose records are being read */
	int pages;
	bool known; /* a look has come to its end */
	size_t told;
	struct instant due; /* 0 = a while after this process began to act */
};

void orphans_init(struct orphans *orphans);
void orphans_done(struct orphans *orphans);

/* Look when it is time, and tell of a number that has changed. */
void orphans_turn(struct engine *engine);
struct instant orphans_due(const struct engine *engine, struct instant otherwise);

/* An object vanished that had something out: look now. */
void orphans_look_now(struct engine *engine);

/* How many there are; false when it is not known (yet), or not ours to say. */
bool orphans_count(const struct engine *engine, size_t *out);

#endif
