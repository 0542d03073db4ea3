/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text as the arguments in a probe's note, and as the value of -u with a provider's and a probe's
 * name behind it: the first byte says of which.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/probes/usdt_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void arguments(uint16_t machine, const char *text)
{
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned i, n = usdt_args_parse(machine, text, args);

	check(n <= USDT_MAX_ARGS);
	for (i = 0; i < n; i++) {
		const struct usdt_arg *a = &args[i].arg;

		check((a->form == USDT_UNREADABLE) == (args[i].unreadable != NULL));
		check(memchr(args[i].symbol, '\0', sizeof(args[i].symbol)) != NULL);
		check(usdt_arg_type(a) != NULL);
		if (args[i].unreadable)
			continue;
		check(a->bits == 8 || a->bits == 16 || a->bits == 32 || a->bits == 64);
		check(a->reg <= USDT_NO_REGISTER && a->index <= USDT_NO_REGISTER);
		check(a->type && a->form <= USDT_ADDRESS && a->scale <= 8);
		check(!args[i].symbol[0] || a->form == USDT_RELATIVE || a->form == USDT_ADDRESS);
	}
}

static void request(const char *text, const char *provider, const char *name)
{
	char captures[USDT_MAX_CAPTURES], pair[64];
	static struct usdt_request r;
	unsigned i;

	if (usdt_request_parse(text, &r))
		return;
	check(r.n_parts <= USDT_MAX_PARTS && r.begin.n_choices <= MAX_ARGS);
	for (i = 0; i < r.n_parts; i++)
		check(r.parts[i].kind != USDT_PART_TEXT || strlen(r.parts[i].text) < USDT_MAX_TEXT);
	if (!usdt_request_role(&r, provider, name, captures) || !r.is_pair)
		return;
	check(memchr(captures, '\0', sizeof(captures)) != NULL);
	usdt_pair_name(&r, captures, pair, sizeof(pair));
	check(memchr(pair, '\0', sizeof(pair)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char nothing[1];
	char *text, *provider = nothing, *name = nothing;

	if (!size || size > 4096)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	if (data[0] % 3 < 2) {
		arguments(data[0] % 3 ? EM_AARCH64 : EM_X86_64, text);
	} else {
		if (strchr(text, '\n')) {
			provider = strchr(text, '\n');
			*provider++ = '\0';
		}
		if (strchr(provider, '\n')) {
			name = strchr(provider, '\n');
			*name++ = '\0';
		}
		request(text, provider, name);
	}
	free(text);
	return 0;
}
