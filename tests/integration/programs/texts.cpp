/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * texts ROUNDS: marks values that are std::string and std::string_view, of every length up to beyond what is
 * kept. Prints `saw 3 text=s:"abc"` for the instants with this value, `cut` for the values that are longer than
 * that, and `total`.
 */
#include <proftrace.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

constexpr size_t kept = 256, longest = 300;

static std::map<std::string, unsigned> seen;
static unsigned cut, total;

static void saw(std::string_view text)
{
	seen[std::string(text.substr(0, kept)) + (text.size() > kept ? "…" : "")]++;
	cut += text.size() > kept;
	total++;
}

static void mark(const std::string &all, size_t n)
{
	const std::string text = all.substr(0, n);
	const std::string_view view(all.data() + 1, n); /* goes on behind its end */

	PROF_INSTANT("string", "text", text);
	saw(text);
	PROF_INSTANT("temporary", "text", text + "!");
	saw(text + "!");
	PROF_INSTANT("view", "text", view);
	saw(view);
	PROF_BEGIN("slice", "n", n, "text", view, "once more", text);
	total++;
	cut += (view.size() > kept) + (text.size() > kept);
	PROF_END("text", view);
	total++;
	cut += view.size() > kept;
}

int main(int argc, char **argv)
{
	const int rounds = argc == 2 ? atoi(argv[1]) : 1;
	std::string all;

	for (size_t i = 0; i <= longest; i++)
		all += static_cast<char>('a' + i % 26);
	for (int i = 0; i < rounds; i++) {
		for (size_t n = 0; n < longest; n++)
			mark(all, n);
	}
	for (const auto &[text, n] : seen)
		printf("saw %u text=s:\"%s\"\n", n, text.c_str());
	printf("cut %u\ntotal %u\n", cut, total);
	return 0;
}
