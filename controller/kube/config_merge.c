#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "config_parts.h"

#define KUBECONFIG_MAX_BYTES ((size_t)4 << 20)

const char *config_filled(const struct json *object, const char *key)
{
	const char *value = json_get_string(object, key);

	return value != NULL && *value != '\0' ? value : NULL;
}

bool config_is_set(const struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);
	enum json_type type = json_type(value);

	if (type == JSON_STRING)
		return config_filled(object, key) != NULL;
	return type == JSON_OBJECT || type == JSON_ARRAY ? json_count(value) > 0 : type != JSON_NULL;
}

const char *config_beside(struct config_load *load, const char *folder, const char *path)
{
	if (*folder == '\0')
		path = file_named(path);
	return *path == '/' ? arena_string(load->arena, path) : arena_printf(load->arena, "%s%s", folder, path);
}

bool config_files_add(struct config_load *load, struct config_files *files, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct config_file *file = &files->at[files->count];
	char *bytes;
	size_t length;

	if (files->count == CONFIG_FILES_MAX)
		return error_set(load->error, ERROR_INPUT, "more than %d kubeconfig files are named", CONFIG_FILES_MAX);
	if (!file_read(&load->scratch, file_named(path), KUBECONFIG_MAX_BYTES, &bytes, &length, load->error))
		return error_wrap(load->error, "kubeconfig");
	file->path = arena_string(&load->scratch, path);
	file->folder = slash == NULL ? "" : arena_copy(&load->scratch, path, (size_t)(slash - path) + 1);
	file->content = yaml_parse(&load->scratch, bytes, length, load->error);
	if (file->content == NULL)
		return error_wrap(load->error, "kubeconfig %s", path);
	if (json_type(file->content) != JSON_OBJECT && json_type(file->content) != JSON_NULL)
		return error_set(load->error, ERROR_INPUT, "kubeconfig %s is none: clusters, users and contexts are expected",
		                 path);
	files->names =
		files->count == 0 ? arena_string(load->arena, path) : arena_printf(load->arena, "%s:%s", files->names, path);
	files->count++;
	return true;
}

bool config_files_split(struct config_load *load, struct config_files *files, const char *variable)
{
	struct string_list names = string_list_split(variable, ":", &load->scratch);

	for (size_t i = 0; i < names.count; i++) {
		/* One that is named twice says nothing new. */
		if (string_list_find(&names, names.at[i]) < i || config_files_add(load, files, names.at[i]))
			continue;
		if (load->error->kind != ERROR_ABSENT)
			return false;
	}
	if (files->count > 0)
		return true;
	return error_set(load->error, ERROR_INPUT,
	                 names.count == 1 ? "KUBECONFIG names %s, which is not there"
	                                  : "KUBECONFIG names %s, none of which is there",
	                 variable);
}

const char *config_files_context(struct config_load *load, const struct config_files *files)
{
	if (load->request->context != NULL)
		return load->request->context;
	for (size_t i = 0; i < files->count; i++) {
		const char *name = config_filled(files->at[i].content, "current-context");

		if (name != NULL)
			return name;
	}
	error_set(load->error, ERROR_INPUT, "kubeconfig %s: has no current-context; choose one with --context",
	          files->names);
	return NULL;
}

/* The entry of that name in one file; *count of them. */
static const struct json *find_in(const struct config_file *file, const char *list_key, const char *name, size_t *count)
{
	const struct json *list = json_get(file->content, list_key);
	const struct json *found = NULL;

	*count = 0;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *entry = json_at(list, i);

		if (!text_equal(json_get_string(entry, "name"), name))
			continue;
		found = entry;
		++*count;
	}
	return found;
}

bool config_files_find(struct config_load *load, const struct config_files *files, const char *list_key,
                       const char *key, const char *name, struct config_entry *out)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct config_file *file = &files->at[i];
		size_t count;
		const struct json *entry = find_in(file, list_key, name, &count);

		if (count == 0)
			continue;
		*out = (struct config_entry){name, file->folder, file->path, json_get(entry, key)};
		if (count > 1)
			return error_set(load->error, ERROR_INPUT, "kubeconfig %s: %s \"%s\" is there twice; keep one of them",
			                 file->path, key, name);
		if (json_type(out->value) == JSON_OBJECT)
			return true;
		return error_set(
			load->error, ERROR_INPUT,
			"kubeconfig %s: %s \"%s\" has nothing in it; fill it, or choose another context with --context", file->path,
			key, name);
	}
	return error_set(load->error, ERROR_INPUT,
	                 "kubeconfig %s: %s \"%s\" is missing; add it, or choose another context with --context",
	                 files->names, key, name);
}
