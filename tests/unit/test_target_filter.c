/* SPDX-License-Identifier: BSD-2-Clause */
/* The globs of -n, which the kernel applies as well, compared with fnmatch(3); and the conditions together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/target_filter.h"

static bool matches(const char *glob, const char *text)
{
	struct target_filter f = { 0 };
	const char *why = target_filter_add_name(&f, glob);

	assert_null(why);
	return target_glob_matches(&f.globs[0], text);
}

static void patterns(void **state)
{
	(void)state;
	assert_true(matches("nginx", "nginx"));
	assert_false(matches("nginx", "nginx2"));
	assert_false(matches("nginx", "ngin"));
	assert_true(matches("ng*x", "ngx"));
	assert_true(matches("*", ""));
	assert_true(matches("**a", "bca"));
	assert_true(matches("a[!b-d]?", "aef"));
	assert_false(matches("a[!b-d]?", "acf"));
	assert_true(matches("[]x]", "]"));
	assert_true(matches("\\*", "*"));
	assert_false(matches("\\*", "a"));
	assert_true(matches("[a", "[a"));
	assert_true(matches("?", "\xff"));
}

/* Both ways to match agree on everything that can be made of few letters. */
static void as_fnmatch(void **state)
{
	static const char in_glob[] = "ab*?[]!-\\/", in_text[] = "ab]-/!\\";
	unsigned i, n = 0;

	(void)state;
	srand(1);
	for (i = 0; i < 400000; i++) {
		char glob[12] = "", text[10] = "";
		int length = 1 + rand() % 9;

		while (length--)
			glob[strlen(glob)] = in_glob[rand() % (sizeof(in_glob) - 1)];
		for (length = rand() % 8; length > 0; length--)
			text[strlen(text)] = in_text[rand() % (sizeof(in_text) - 1)];
		/* A set that ends the pattern too early, or holds a slash or an escape, means other things to each. */
		if (strchr(glob, '[') && (!strchr(glob, ']') || strpbrk(glob, "\\/-!")))
			continue;
		if (glob[strlen(glob) - 1] == '\\')
			continue;
		n++;
		if (matches(glob, text) != !fnmatch(glob, text, 0))
			fail_msg("'%s' on '%s'", glob, text);
	}
	assert_true(n > 100000);
}

static void limits(void **state)
{
	struct target_filter f = { 0 };
	char glob[80], text[300];
	unsigned i;

	(void)state;
	memset(glob, 'a', sizeof(glob));
	glob[63] = '\0';
	assert_null(target_filter_add_name(&f, glob));
	assert_true(target_glob_matches(&f.globs[0], glob));
	glob[63] = 'a';
	glob[64] = '\0';
	assert_non_null(target_filter_add_name(&f, glob));
	assert_non_null(target_filter_add_name(&f, ""));
	assert_non_null(target_filter_add_name(&f, "[[:alpha:]]"));
	for (i = 1; i < TARGET_GLOBS; i++)
		assert_null(target_filter_add_name(&f, "*"));
	assert_non_null(target_filter_add_name(&f, "*"));
	/* A longer text is compared up to its beginning, as in the kernel. */
	memset(text, 'b', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(matches("b*", text));
	assert_false(matches("b*c", text));
	for (i = 0; i < TARGET_USERS; i++)
		assert_null(target_filter_add_user(&f, "0"));
	assert_non_null(target_filter_add_user(&f, "0"));
}

static void users(void **state)
{
	struct target_filter f = { 0 };

	(void)state;
	assert_null(target_filter_add_user(&f, "root"));
	assert_null(target_filter_add_user(&f, "4294967294"));
	assert_int_equal(f.users[0], 0);
	assert_int_equal(f.users[1], 4294967294u);
	assert_non_null(target_filter_add_user(&f, "4294967295"));
	assert_non_null(target_filter_add_user(&f, "no such user"));
	assert_non_null(target_filter_add_user(&f, ""));
}

/* This process has to match each kind of condition. */
static void conditions(void **state)
{
	struct target_filter none = { 0 }, f = { 0 }, other = { 0 };
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	char uid[16];

	(void)state;
	assert_true(self >= 0);
	snprintf(uid, sizeof(uid), "%u", getuid());
	assert_true(target_filter_is_empty(&none));
	assert_false(target_filter_matches(&none, NULL, self));
	assert_null(target_filter_add_name(&f, "nothing"));
	assert_false(target_filter_matches(&f, NULL, self));
	assert_null(target_filter_add_name(&f, "test_target_f*"));
	assert_true(target_filter_matches(&f, NULL, self));
	assert_null(target_filter_add_user(&f, "4294967294"));
	assert_false(target_filter_matches(&f, NULL, self));
	assert_null(target_filter_add_user(&f, uid));
	assert_true(target_filter_matches(&f, NULL, self));
	assert_null(target_filter_add_name(&other, "/*/test_target_filter"));
	assert_true(target_filter_matches(&other, NULL, self));
	close(self);
}

/* The names that systemd and the runtimes give to cgroups. */
static void groups(void **state)
{
	static const char id[] = "4c01db0b339c2c1c2d1b0c5d2c2d6d1f0a9c8b7e6d5f4a3b2c1d0e9f8a7b6c5d";
	struct target_filter f = { 0 };
	char name[128];

	(void)state;
	assert_null(target_filter_add_unit(&f, "nginx"));
	assert_true(target_glob_matches(&f.globs[0], "nginx.service"));
	assert_false(target_glob_matches(&f.globs[0], "nginx"));
	assert_null(target_filter_add_unit(&f, "app-*.scope"));
	assert_true(target_glob_matches(&f.globs[1], "app-x.scope"));
	assert_non_null(target_filter_add_unit(&f, "a/b"));
	assert_non_null(target_filter_add_unit(&f, ""));
	assert_null(target_filter_add_container(&f, id));
	snprintf(name, sizeof(name), "docker-%s.scope", id);
	assert_true(target_glob_matches(&f.globs[2], name));
	assert_true(target_glob_matches(&f.globs[2], id));
	snprintf(name, sizeof(name), "cri-containerd-%.12s%052d.scope", id, 0);
	assert_false(target_glob_matches(&f.globs[2], name));
	assert_int_equal(f.n_containers, 0);
	assert_null(target_filter_add_container(&f, "4c01db0b339"));
	assert_null(target_filter_add_container(&f, "web*"));
	assert_int_equal(f.n_containers, 2);
	assert_string_equal(f.containers[1], "web*");
	assert_non_null(target_filter_add_container(&f, ""));
	assert_non_null(target_filter_add_container(&f, "a/b"));
	memset(name, 'z', 64);
	name[64] = '\0';
	assert_non_null(target_filter_add_container(&f, name));
	assert_non_null(target_filter_add_cgroup(&f, "/proc"));
	assert_int_equal(f.kinds, TARGET_UNIT | TARGET_CONTAINER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns), cmocka_unit_test(as_fnmatch), cmocka_unit_test(limits),
		cmocka_unit_test(users),    cmocka_unit_test(conditions), cmocka_unit_test(groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
