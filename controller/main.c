#include "command.h"

int main(int count, char **arguments)
{
	return command_run(count, (const char *const *)arguments);
}
