/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers and units of cgroups, and the names in the state of their runtimes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "privilege/containers.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void keep(void *context, const char *id, const char *name)
{
	char *text = context;

	sprintf(text + strlen(text), "%.2s=%s ", id, name);
}

static const char *names_of(const char *json, const char *id)
{
	static char text[1024];

	text[0] = '\0';
	container_state_read(json, strlen(json), id, keep, text);
	return text;
}

/* As each runtime writes it, cut down; what users choose (labels, variables) is no name. */
static void names(void **state)
{
	(void)state;
	assert_string_equal(
		names_of("{\"StreamConfig\":{},\"State\":{\"Running\":true},\"ID\":\"" ID
			 "\",\"Config\":{\"Env\":[\"Name\",\"/a\"],\"Labels\":{\"Name\":"
			 "\"/b\"}},\"Name\":\"/web.1\",\"Driver\":\"overlay2\","
			 "\"MountPoints\":{\"/x\":{\"Name\":\"c\"}}}",
			 ID),
		"01=web.1 ");
	assert_string_equal(names_of("[{\"id\":\"" ID
				     "\",\"names\":[\"web\",\"k8s_web_0\"],\"image\":\"i\","
				     "\"flags\":{\"names\":[\"a\"]},\"metadata\":\"{\\\"names\\\":["
				     "\\\"b\\\"]}\"},"
				     " {\"id\" : \"" OTHER "\",\n\"names\" : [ \"db\" ]},"
				     " {\"names\":[\"c\"]}, {\"id\":\"12\",\"names\":[\"d\"]}]",
				     NULL),
			    "01=web 01=k8s_web_0 11=db ");
	assert_string_equal(
		names_of("{\"ociVersion\":\"1.0\",\"process\":{\"env\":[\"nerdctl/name=a\"]},"
			 "\"annotations\":{\"io.kubernetes.cri.container-name\":\"web\","
			 "\"x\":\"io.kubernetes.cri.container-name\"},"
			 "\"linux\":{\"annotations\":{\"nerdctl/name\":\"b\"}}}",
			 ID),
		"01=web ");
	/* What no runtime permits is left out; a text that is cut has what came before. */
	assert_string_equal(names_of("{\"Name\":\"/a b\"}", ID), "");
	assert_string_equal(names_of("{\"Name\":\"/a\\u0041\"}", ID), "");
	assert_string_equal(names_of("{\"Name\":\"/a\",\"Name\":\"/b", ID), "01=a ");
	assert_string_equal(names_of("{\"Name\":\"\\", ID), "");
	assert_string_equal(names_of("]]]{{\"Name\":\"a\"", ID), "");
}

static void words(void **state)
{
	(void)state;
	assert_true(container_is_meant("web", ID, "web"));
	assert_false(container_is_meant("web", ID, "web2"));
	assert_true(container_is_meant("w*", ID, "web2"));
	assert_true(container_is_meant("0123", ID, "web"));
	assert_false(container_is_meant("1123", ID, "web"));
	assert_true(container_is_meant("abba", ID, "abba"));
}

static const char *place_of(const char *cgroup, const char *name)
{
	static char text[512];
	struct process_place place;

	cgroup_place(cgroup, &place);
	process_place_text(&place, name, text, sizeof(text));
	return text;
}

static void places(void **state)
{
	(void)state;
	assert_string_equal(place_of("/", ""), "");
	assert_string_equal(place_of("/system.slice/nginx.service", ""), "unit nginx.service");
	assert_string_equal(
		place_of("/user.slice/user-1.slice/user@1.service/app.slice/a.service/sub", ""),
		"unit user@1.service/a.service");
	assert_string_equal(place_of("/user@1.service/user@2.service/nginx.service", ""),
			    "unit user@1.service/nginx.service");
	assert_string_equal(place_of("/user@1.service", ""), "unit user@1.service");
	assert_string_equal(place_of("/system.slice/docker-" ID ".scope", "web"), "container web");
	assert_string_equal(place_of("/machine.slice/libpod-" ID ".scope/container", ""),
			    "container 0123456789ab");
	assert_string_equal(place_of("/kubepods/pod1/" ID "/init.scope", "web"),
			    "container web, unit kubepods/init.scope");
	/* What is delegated has the names that its owner chooses. */
	assert_string_equal(place_of("/system.slice/app.service/b.slice/nginx.service", ""),
			    "unit app.service/nginx.service");
	assert_string_equal(
		place_of("/system.slice/docker-" ID ".scope/system.slice/nginx.service", ""),
		"container 0123456789ab, unit 0123456789ab/nginx.service");
	assert_string_equal(place_of("/lxc.payload.a/system.slice/nginx.service", ""),
			    "unit lxc.payload.a/nginx.service");
	assert_string_equal(place_of("/a, b/nginx.service", ""), "unit ?/nginx.service");
	assert_string_equal(place_of("/docker-" ID "0.scope", ""), "unit docker-" ID "0.scope");
	/* Names that no unit has, in cgroups that a user may make. */
	assert_string_equal(place_of("/u@1.service/x, container web.service", ""),
			    "unit u@1.service");
	assert_string_equal(place_of("/a\xff.service/b\033.scope/ .service", ""), "");
	assert_string_equal(place_of("/dev-disk-by\\x2did.service/c", ""),
			    "unit dev-disk-by\\x2did.service");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(words),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
