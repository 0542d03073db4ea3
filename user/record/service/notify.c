/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells systemd, or another manager that sets NOTIFY_SOCKET, what the service is doing: a datagram of lines, to a socket
 * in the file system or, with a leading @, in the abstract namespace.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "record/service/service.h"

void notify_manager(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = path ? strlen(path) : 0;
	char text[512];
	va_list args;
	int fd, n;

	if (length < 2 || length > sizeof(address.sun_path) || !strchr("/@", path[0]))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = n < 0 || (size_t)n >= sizeof(text) ? -1
						: socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is no reason not to record. */
	(void)!sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
}
