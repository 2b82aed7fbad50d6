#include "setting.h"

#include <strings.h>

#include "aws/shared_files.h"
#include "base/file.h"
#include "base/text.h"

struct setting setting_find(struct arena *arena, const struct aws_environment *environment,
                            const struct profile *profile, const char *variable, const char *key)
{
	const char *said = aws_env(environment, variable);

	if (said != NULL)
		return (struct setting){said, variable};
	said = profile_get(profile, key);
	if (said == NULL || said[0] == '\0')
		return (struct setting){NULL, variable};
	return (struct setting){
		said, arena_printf(arena, "%s of AWS profile \"%s\"", key, shared_files_profile_name(environment))};
}

const char *setting_path(struct arena *arena, const struct aws_environment *environment, const char *named)
{
	const char *home = aws_env(environment, "HOME");

	if (text_starts_with(named, "~/") && home != NULL)
		return arena_printf(arena, "%s/%s", home, named + 2);
	return arena_string(arena, file_named(named));
}

bool setting_flag(const struct setting *setting, bool *out, struct error *error)
{
	*out = setting->value != NULL && strcasecmp(setting->value, "true") == 0;
	if (setting->value == NULL || *out || strcasecmp(setting->value, "false") == 0)
		return true;
	return error_set(error, ERROR_INPUT, "%s is \"%.32s\", which is neither true nor false", setting->from,
	                 setting->value);
}
