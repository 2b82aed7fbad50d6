/*
 * What one observation found, whole: nothing of it changes after it is complete. Counted: items that act on it hold it.
 */
#ifndef ENGINE_FACTS_H
#define ENGINE_FACTS_H

#include "aws/ec2.h"
#include "domain/record.h"
#include "inquiry.h"

#define FACTS_SURVEYS_MAX 16

struct facts {
	struct arena arena;
	struct scope scope;
	struct zones zones;
	struct records records;                     /* of the zone, whoever owns them */
	struct inquiry *surveys[FACTS_SURVEYS_MAX]; /* held; one a target kind; one that failed says nothing of its kind */
	size_t survey_count;
	int64_t generation; /* of the object when it was begun */
	struct instant began;
	bool records_read; /* the journal was asked at all */
	bool complete;     /* all surveys have ended; until then more comes */
	int references;
};

struct facts *facts_new(void);
struct facts *facts_hold(struct facts *facts);
void facts_release(struct facts *facts);

/* A survey that failed or has not ended, or NULL: its kind has not been seen. */
const struct inquiry *facts_unseen(const struct facts *facts);

/* Once the records are complete, so that facts_record can find them. */
void facts_sort_records(struct facts *facts);

/* The record of a resource, or NULL. */
const struct record *facts_record(const struct facts *facts, const char *resource_id);

#endif
