/* SPDX-License-Identifier: BSD-2-Clause */
/* The labels of metrics: what is in a cgroup's path, and how many there are at most. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privilege/target_filter.h"
#include "record/metrics/labels.h"
#include "timeline/names.h"

#define ID "4c01db0b339c2c1c2d1b0c5d2c2d6d1f0a9c8b7e6d5f4a3b2c1d0e9f8a7b6c5d"

static void cgroups(void **state)
{
	static const struct {
		const char *path, *unit, *container;
	} cases[] = {
		{ "/", "", "" },
		{ "/system.slice/nginx.service", "nginx.service", "" },
		{ "/user.slice/user-0.slice/user@0.service/app.slice/a-1.scope/x",
		  "user@0.service/a-1.scope", "" },
		{ "/system.slice/docker-" ID ".scope", "", "4c01db0b339c" },
		{ "/system.slice/k3s.service/kubepods/burstable/pod1/" ID, "k3s.service",
		  "4c01db0b339c" },
		{ "/machine.slice/libpod-" ID ".scope/container", "", "4c01db0b339c" },
		{ "/docker/4c01db0b339c2c1c", "", "" },
	};
	char directory[] = "/tmp/test_labels.XXXXXX", file[64];
	char unit[TARGET_LABEL], container[TARGET_LABEL];
	unsigned i;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(directory));
	fd = open(directory, O_RDONLY | O_DIRECTORY);
	snprintf(file, sizeof(file), "%s/cgroup", directory);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *out = fopen(file, "w");

		fprintf(out, "1:cpu:/other.service\n0::%s\n", cases[i].path);
		fclose(out);
		target_labels(fd, unit, container);
		assert_string_equal(unit, cases[i].unit);
		assert_string_equal(container, cases[i].container);
	}
	unlink(file);
	target_labels(fd, unit, container);
	assert_string_equal(unit, "");
	close(fd);
	rmdir(directory);
}

/* A process that changes its name all the time. */
static void bound(void **state)
{
	struct names *names = names_new(0);
	struct labels *labels = labels_new(names);
	uint32_t pid = (uint32_t)getpid(), first = 0;
	const char *text;
	char name[16];
	unsigned i;

	(void)state;
	for (i = 0; i < 2 * LABEL_SETS; i++) {
		snprintf(name, sizeof(name), "a/%u", i);
		prctl(PR_SET_NAME, name);
		labels_forget(labels, pid);
		text = labels_text(labels, labels_of(labels, pid))->text;
		if (!i)
			first = labels_of(labels, pid);
		if (i < LABEL_SETS)
			assert_string_equal(text + strlen(text) - strlen(name), name);
		else
			assert_string_equal(text, "(other) (other) (other)");
		assert_int_equal(labels_beyond(labels), i < LABEL_SETS ? 0 : i - LABEL_SETS + 1);
	}
	prctl(PR_SET_NAME, "a/0");
	labels_forget(labels, pid);
	assert_int_equal(labels_of(labels, pid), first);
	/* It is counted once, although it goes back to a known name in between. */
	for (i = 0; i < 4; i++)
		labels_rename(labels, pid, i % 2 ? "a/0" : "another");
	assert_int_equal(labels_beyond(labels), LABEL_SETS + 1);
	assert_int_equal(labels_of(labels, 0x7ffffff0), 0);
	labels_free(labels);
	names_free(names);
}

static const char *label_name(struct labels *labels, uint32_t pid)
{
	return strrchr(labels_text(labels, labels_of(labels, pid))->text, ' ') + 1;
}

/* A new name costs no look into /proc: it is what the kernel's event says, whatever the process is called there by now. */
static void renamed(void **state)
{
	struct names *names = names_new(0);
	struct labels *labels = labels_new(names);
	uint32_t pid = (uint32_t)getpid(), other = pid + (1u << 22); /* beyond all processes */

	(void)state;
	prctl(PR_SET_NAME, "fi\nrst");
	labels_rename(labels, pid, "before it is seen");
	assert_string_equal(label_name(labels, pid), "fi\\x0arst");
	labels_rename(labels, pid, "second");
	assert_string_equal(label_name(labels, pid), "second");
	/* Nor do processes cost one whose numbers have the same low bits. */
	assert_int_equal(labels_of(labels, other), 0);
	assert_string_equal(label_name(labels, pid), "second");
	labels_rename(labels, other, "exited");
	assert_int_equal(labels_of(labels, other), 0);
	assert_int_equal(labels_beyond(labels), 1);
	labels_forget(labels, pid);
	prctl(PR_SET_NAME, "third");
	assert_string_equal(label_name(labels, pid), "third");
	labels_free(labels);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cgroups), cmocka_unit_test(bound),
					    cmocka_unit_test(renamed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
