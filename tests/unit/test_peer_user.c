/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose a connection is, as the kernel says; of one that its process has closed nothing is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "viewer/peer_user.h"

/* Binds to any port of the loopback interface, or to the one of `at`. */
static int bound_socket(struct sockaddr_in *at)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	socklen_t size = sizeof(*at);

	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &size), 0);
	return fd;
}

static void test_owner(void **state)
{
	struct sockaddr_in server = { 0 }, client = { 0 };
	int listener = bound_socket(&server), own = bound_socket(&client), accepted;
	const uint16_t port = ntohs(server.sin_port);
	uid_t uid = (uid_t)-1;
	int error;

	(void)state;
	assert_int_equal(listen(listener, 1), 0);
	error = peer_user(&server, port, &uid);
	if (error != -ENOTCONN)
		skip(); /* a kernel without inet_diag */
	assert_int_equal(connect(own, (struct sockaddr *)&server, sizeof(server)), 0);
	assert_int_equal(peer_user(&client, port, &uid), 0);
	assert_int_equal(uid, geteuid());
	accepted = accept(listener, NULL, NULL);
	assert_true(accepted >= 0);
	/* The kernel keeps it for the peer, and would call it root's. */
	close(own);
	assert_int_not_equal(peer_user(&client, port, &uid), 0);
	close(accepted);
	close(listener);
}

/* A connection of a port with itself is whose who made it, and not that of the server which listens there later. */
static void test_itself(void **state)
{
	struct sockaddr_in at = { 0 };
	int itself = bound_socket(&at), listener;
	uid_t uid = (uid_t)-1;
	int error;

	(void)state;
	assert_int_equal(connect(itself, (struct sockaddr *)&at, sizeof(at)), 0);
	listener = bound_socket(&at);
	assert_int_equal(listen(listener, 1), 0);
	error = peer_user(&at, ntohs(at.sin_port), &uid);
	if (error && error != -ENOTCONN)
		skip();
	assert_int_equal(error, 0);
	assert_int_equal(uid, geteuid());
	close(itself);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
