/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses lines of /proc/kallsyms (kallsyms.h). */
#include "base/kallsyms.h"

#include <stdlib.h>
#include <string.h>

/* "ffffffff81000000 T name", followed by "\t[module]" for a module. */
bool kallsyms_parse(char *line, struct kallsyms_function *ret)
{
	char *at, *name, *module;
	uint64_t address = strtoull(line, &at, 16);

	if (!address || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	name = at + 3;
	at = name + strcspn(name, "\t \n");
	if (at == name)
		return false;
	module = *at ? strchr(at + 1, '[') : NULL;
	*at = '\0';
	if (module)
		module[strcspn(module, "]")] = '\0';
	*ret = (struct kallsyms_function){ address, name, module ? module + 1 : NULL };
	return true;
}

/* The kernel's own come in the order of their addresses, before those of modules. */
void kallsyms_find_begin(const struct kallsyms_function *function, uint64_t *begin)
{
	if (!*begin && !function->module)
		*begin = function->address;
}
