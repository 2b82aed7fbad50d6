#include "aws/region.h"

#include <string.h>

#include "aws/shared_files.h"
#include "base/text.h"

#define REGION_MAX_LENGTH 32

bool aws_region_valid(const char *region)
{
	size_t length = region != NULL ? strlen(region) : 0;
	const char *number = length > 0 ? strrchr(region, '-') : NULL;

	if (length > REGION_MAX_LENGTH || number == NULL || !text_all_digits(number + 1))
		return false;
	return strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && region[0] >= 'a' && region[0] <= 'z' &&
	       strstr(region, "--") == NULL;
}

bool aws_zone_id_valid(const char *zone_id)
{
	size_t letters = zone_id != NULL ? strspn(zone_id, "abcdefghijklmnopqrstuvwxyz") : 0;
	size_t digits = letters > 0 ? strspn(zone_id + letters, "0123456789") : 0;

	if (letters < 2 || letters > 10 || digits == 0)
		return false;
	zone_id += letters + digits;
	return text_starts_with(zone_id, "-az") && text_all_digits(zone_id + 3);
}

bool aws_region_load(struct arena *arena, const struct aws_environment *environment, const char **out,
                     struct error *error)
{
	const struct profile *profile = NULL;
	const char *from = "AWS_REGION";

	*out = aws_env(environment, from);
	if (*out == NULL)
		*out = aws_env(environment, from = "AWS_DEFAULT_REGION");
	if (*out == NULL) {
		if (!shared_files_profile(arena, environment, &profile, error))
			return false;
		*out = profile_get(profile, "region");
		from = arena_printf(arena, "the region of AWS profile \"%s\"", shared_files_profile_name(environment));
	}
	if (*out == NULL || (*out)[0] == '\0')
		return error_set(error, ERROR_ABSENT, "no AWS region is set: give --region, or set AWS_REGION");
	if (!aws_region_valid(*out))
		return error_set(error, ERROR_INPUT, "%s is \"%.64s\", which is not a region like us-east-1", from, *out);
	return true;
}
