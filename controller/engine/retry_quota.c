#include "retry_quota.h"

enum { CAPACITY = 500, REPEAT_COST = 5, SILENCE_COST = 10 };

bool retry_quota_take(struct retry_quota *quota, const struct error *error, int *taken)
{
	int cost = error->kind == ERROR_TIMEOUT || error->kind == ERROR_UNREACHABLE ? SILENCE_COST : REPEAT_COST;

	if (quota->spent + cost > CAPACITY)
		return false;
	quota->spent += cost;
	*taken = cost;
	return true;
}

void retry_quota_return(struct retry_quota *quota, int taken)
{
	quota->spent -= taken > 0 ? taken : 1;
	if (quota->spent < 0)
		quota->spent = 0;
}
