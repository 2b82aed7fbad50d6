#include "answer.h"

const char *answer_text(const struct json *json, const char *path)
{
	const char *text = json_path_string(json, path);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

const char *answer_copy(const struct json *json, const char *path, struct arena *arena)
{
	return arena_string(arena, answer_text(json, path));
}

bool answer_strings(const struct json *json, struct arena *arena, struct string_list *out)
{
	*out = (struct string_list){0};
	for (size_t i = 0; json_type(json) == JSON_ARRAY && i < json_count(json); i++) {
		const char *string = json_string(json_at(json, i));

		if (string != NULL)
			string_list_add(out, arena, arena_string(arena, string));
	}
	return json_type(json) == JSON_ARRAY && out->count == json_count(json);
}
