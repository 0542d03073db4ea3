/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the kernel for one socket by its pair of addresses: /proc/net/tcp would list all sockets of the machine. */
#include "viewer/peer_user.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int peer_user_read_reply(int diag, const struct inet_diag_sockid *wanted, uid_t *ret_uid)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
	ssize_t n = recv(diag, &answer, sizeof(answer), 0);

	if (n < 0)
		return -errno;
	if (!NLMSG_OK(&answer.head, (size_t)n))
		return -EBADMSG;
	if (answer.head.nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *error = NLMSG_DATA(&answer.head);

		return answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*error)) || !error->error
			       ? -EBADMSG
			       : error->error;
	}
	if (answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
		return -EBADMSG;
	/*
	 * Where it finds no such connection, the kernel answers with a socket that listens on the port. Of one that its
	 * process has closed (no inode) it may have forgotten the user, and says that it is root's.
	 */
	if (found->idiag_state == TCP_LISTEN || !found->idiag_inode ||
	    found->id.idiag_sport != wanted->idiag_sport ||
	    found->id.idiag_dport != wanted->idiag_dport ||
	    found->id.idiag_src[0] != wanted->idiag_src[0] ||
	    found->id.idiag_dst[0] != wanted->idiag_dst[0])
		return -ENOTCONN;
	*ret_uid = found->idiag_uid;
	return 0;
}

int peer_user(const struct sockaddr_in *peer, uint16_t port, uid_t *ret_uid)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} request = {
		.head = { sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0 },
		.body = { .sdiag_family = AF_INET,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0u,
			  .id = { .idiag_sport = peer->sin_port,
				  .idiag_dport = htons(port),
				  .idiag_src = { peer->sin_addr.s_addr },
				  .idiag_dst = { htonl(INADDR_LOOPBACK) },
				  /* Also finds sockets that are bound to this interface. */
				  .idiag_if = if_nametoindex("lo"),
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), error;

	if (diag < 0)
		return -errno;
	error = send(diag, &request, sizeof(request), 0) < 0
			? -errno
			: peer_user_read_reply(diag, &request.body.id, ret_uid);
	close(diag);
	return error;
}
