/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files of the directory are served. The path comes from whoever connects, and it is decoded already. The kernel
 * resolves it beneath the directory (openat2(2)), so neither ".." nor a symbolic link leads out, also if the
 * directory changes at this moment.
 */
#include "viewer/ui_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* Browsers run scripts and WebAssembly only if their type is right. */
static const struct ui_type {
	const char *ending, *type;
} ui_types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".mjs", "text/javascript; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".wasm", "application/wasm" },
	{ ".json", "application/json" },
	{ ".map", "application/json" },
	{ ".txt", "text/plain; charset=utf-8" },
	{ ".svg", "image/svg+xml" },
	{ ".png", "image/png" },
	{ ".ico", "image/x-icon" },
	{ ".woff2", "font/woff2" },
	{ ".woff", "font/woff" },
};

static const char *ui_type_of(const char *path)
{
	for (size_t i = 0; i < sizeof(ui_types) / sizeof(ui_types[0]); i++) {
		if (text_ends_with(path, ui_types[i].ending))
			return ui_types[i].type;
	}
	return "application/octet-stream";
}

/* Files such as .git/config are not part of the viewer. */
static bool ui_path_is_hidden(const char *path)
{
	return path[0] == '.' || strstr(path, "/.");
}

int ui_open_file(int directory, const char *path, uint64_t *ret_size, const char **ret_type)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	int fd;

	path += strspn(path, "/");
	if (!*path)
		path = "index.html";
	if (ui_path_is_hidden(path))
		return -ENOENT;
	fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	*ret_size = (uint64_t)st.st_size;
	*ret_type = ui_type_of(path);
	return fd;
}

int ui_open_directory(const char *path, struct failure *f)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	const char *type;
	struct stat st;
	uint64_t size;
	int error = 0;

	if (directory < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	fd = ui_open_file(directory, "/", &size, &type);
	if (fstat(directory, &st))
		error = failure_set(f, -errno, "cannot open", path, NULL);
	else if ((st.st_mode & S_IWOTH) || (st.st_uid != geteuid() && st.st_uid != 0))
		/* Its scripts read the trace. */
		error = failure_set(f, -EPERM, "cannot serve", path,
				    "it belongs to another user, or everybody can write to it");
	else if (fd < 0)
		error = failure_set(f, fd, "cannot serve", path, "it has no index.html");
	if (error == fd && fd < 0)
		failure_hint(f, "`man proftrace-open` says how to get a copy of the viewer");
	if (fd >= 0)
		close(fd);
	if (error) {
		close(directory);
		return error;
	}
	return directory;
}
