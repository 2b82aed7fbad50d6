#include "phase.h"

#include "base/text.h"

const char *phase_name(enum phase phase)
{
	static const char *const names[] = {
		[PHASE_PENDING] = "Pending",   [PHASE_OBSERVING] = "Observing", [PHASE_PLANNED] = "Planned",
		[PHASE_APPLYING] = "Applying", [PHASE_HOLDING] = "Holding",     [PHASE_RESTORING] = "Restoring",
		[PHASE_RESTORED] = "Restored",
	};

	return names[phase];
}

static void count(struct tally *tally, const struct item *item)
{
	tally->found++;
	switch (item->state) {
	case ITEM_SETTLED:
		tally->settled++;
		tally->changed++;
		break;
	case ITEM_APPLIED:
	case ITEM_RESTORING:
		tally->changed++;
		break;
	case ITEM_PLANNED:
	case ITEM_WAITING:
	case ITEM_APPLYING:
		tally->open++;
		break;
	case ITEM_FAILED:
		tally->failed++;
		break;
	case ITEM_RIVAL:
		tally->rival++;
		break;
	case ITEM_REFUSED:
		tally->refused++;
		break;
	case ITEM_RESTORED:
	case ITEM_GONE:
	case ITEM_SUPERSEDED:
		tally->restored++;
		break;
	case ITEM_HELD_BY_OTHERS:
		tally->held_by_others++;
		break;
	case ITEM_STATES:
		break;
	}
}

struct tally phase_tally(const struct items *items, const char *kind)
{
	struct tally tally = {0};

	for (const struct item *item = items->first; item; item = item->next)
		if (!kind || text_equal(item->change.kind, kind))
			count(&tally, item);
	return tally;
}
