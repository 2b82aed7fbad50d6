/*
 * The three processes that change something. Each acts on one item, decides afresh at every look, and is begun again after a crash
 * without a special path.
 *
 * Taking out (change_evacuate.c):
 *
 *   look ──judge──► intent ───► update ──► settle ⟲ ──► done ──► (Settled, or Applied at the deadline)
 *     ▲      ├────► extend ───►   │           │
 *     │      ├────► redo ─────►   │           │ put back meanwhile, or an update that met silence
 *     │      ├────► claim ────►  │           │ (claim: an Intent that is another process', or has had its update)
 *     │      ├────► join          └─ stale ───┴──────────► look
 *     │      ├────► settle            (it is out, the record is open)
 *     └wait──┴────► end               (nothing to do, refused, rival, gone)
 *
 * Putting back (change_restore.c):
 *
 * rewrite (the record was deleted under us)
 *      ▼
 *   restore ─► look ──judge──► update ─► settle ⟲ ─► close ─► (Restored)
 *      │         ▲     ├─────────────────────────────► close     (BACK; GONE believed twice; SUPERSEDED)
 *      │         └──── wait (absent once; an update may still land)
 *      └► leave ─► (HeldByOthers)
 *
 * While somebody else is registered in the region (registration.h), what is judged to be changed is locked first, and looked at again under its lock
 * (lock.h).
 *
 * Nodes (change_node.c): patch, and the journal's copy behind it; back: patch, then restore and close the copy.
 */
#ifndef ENGINE_CHANGE_H
#define ENGINE_CHANGE_H

#include "item.h"

/* How long the effect of an update may take before it is called Applied instead of Settled. */
#define SETTLE_DEADLINE_MS (30 * 60 * 1000)
/* An update is built from a read no older than this. */
#define FRESH_MS 1000
/* Those that come within this time are looked at together. */
#define TOGETHER_MS 200
/* Two explicit answers so far apart make an absence believed. */
#define ABSENCE_MS 60000
/* The account's subnets are read again this long before the second opinion on their absence. */
#define SUBNETS_AGAIN_MS 10000
/* So often an update may be held back too long by the limiter before it is left for a while. */
#define STALES_MAX 20
#define STALE_SENTENCE "the service lets updates go so slowly that what they are built from grows old"
/* A signature of AWS is good for so long: until then an unanswered update can land. */
#define UNANSWERED_MS (5 * 60 * 1000)
/* An Intent is good for one update, sent within this time: whoever reads another owner's reckons with it. */
#define INTENDED_MS 30000
/* A read of AWS may be older than what was written, but not by so much. */
#define OLD_ANSWER_MS 15000
/* The service is busy with a resource: look again after. */
#define BUSY_WAIT_MS 5000
/* What is known of the zone's registration is too old to change anything: look again after. */
#define REGISTRATION_WAIT_MS 1000
#define REGISTRATION_SENTENCE "the zone's registration is being read again"
/* Another zone's evacuation, or another cluster's, is changing it: look again after. */
#define LOCKED_WAIT_MS 5000
#define LOCKED_SENTENCE "another evacuation is changing it; it is waited for"
/* A rival has undone it so often: no more fighting. */
#define UNDONE_MAX 3

extern const struct step *const change_evacuate_first;
extern const struct step *const change_restore_first;
extern const struct step *const change_restore_lost_first; /* held, and the journal does not know it any more */
extern const struct step *const change_node_out_first;
extern const struct step *const change_node_copy_first; /* the journal's copy of a node that is out */
extern const struct step *const change_node_back_first;
extern const struct step *const change_node_close_first; /* the copy of a node that is back, or gone */

/* Shared by them (change.c). */

/* Keep what a look found (or nothing) until the next one. */
void item_keep_look(struct item *item, const struct answer *answer);

/* End the process with an error of the environment or the service: FAILED, to be tried again. Returns NULL. */
const struct step *item_fail(struct item *item, const struct answer *answer);

/* The same with a sentence of ours. */
const struct step *item_fail_because(struct item *item, struct instant now, const char *reason);

/*
 * Did an effect meet silence, so that it may still land? Then remember until when. That its effect is seen does not answer it: that may be another
 * one's, or a person's.
 */
bool item_silence(struct item *item, const struct answer *answer);

/*
 * An Intent of another process, of this one under an earlier lease, of an evacuation before this one, or of one that shares the record, is open (or,
 * while somebody else is registered, a Restoring one): its update may still be on its way until five minutes after this process began to act (in the last
 * two cases: from now), and nothing that is seen before proves that it is not.
 */
void item_suspect_predecessor(struct item *item);

/* When to look before an update: at once when it is alone, else on a fine grid, so that those that come together are looked at together. */
struct instant item_look_together(const struct item *item, struct instant now);

/* A journal call about this item, filled but for what is the verb's own; with an attempt of its own. */
void item_ask_journal(struct item *item, enum journal_verb verb, struct wallclock wall, struct arena *arena,
                      struct ask *out);

/* The asks that several processes have in common: a look when it is due, a look at what settles, closing the record as it was read. */
void item_ask_look(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out);
void item_ask_settle(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out);
void item_ask_restore(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out);
void item_ask_close(void *self, struct instant now, struct wallclock wall, struct arena *arena, struct ask *out);

/* An update of the item in `direction`, built from what was just looked at. */
void item_ask_update(struct item *item, const struct change *change, enum direction direction, struct arena *arena,
                     struct ask *out);

/* The current scope of the item's evacuation. */
const struct scope *item_scope(const struct item *item);

/*
 * An answer without the resource: believed when an earlier one, a minute ago, said the same. False: item->look_due says when to look again.
 */
bool item_absence_believed(struct item *item, struct instant now);

/*
 * It reads as if it were back, and no update of this process did that: believed when its record was last written OLD_ANSWER_MS before this process
 * began, or an earlier answer, so long ago, said the same. False: item->look_due says when to look again.
 */
bool item_back_believed(struct item *item, struct instant now);

/*
 * Subnets that we took out and that the account does not show: believed when an observation of a minute later, another one than the first, says the
 * same. False: item->look_due says when to look again.
 */
bool item_subnets_absence_believed(struct item *item, struct instant now);

/* Does it lie in the account and region that we speak for? A node's does: its id is not an ARN. */
bool item_is_in_account(const struct item *item);

/* The limiter held an update back for too long: may it be built again? */
bool item_may_go_stale(struct item *item);

/* Does the journal's record name us among its owners? */
bool item_is_ours(const struct item *item);

#endif
