#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Marks from Node.js (bindings/node): in worker threads and in asynchronous functions.
. "$(dirname "$0")/lib.sh"
if ! command -v node >/dev/null; then
	skip "Node.js" "it is not installed (nodejs)"
	finish
fi
need_tracing
install_library
package=$installed/node_modules/proftrace
export NODE_PATH="$installed/node_modules"
copy_binding node "$package"
build "make" make -C "$package"
[ $failures -eq 0 ] || finish

check_marks node "$root/tests/languages/node/marks.js"
check_sample "ASYNC_BEGIN request 100
BEGIN sieve 100" node "$root/bindings/node/sample/server.js"
equal "without the library: nothing happens" \
	"$(LD_LIBRARY_PATH='' node -p 'const p = require("proftrace"), c = p.counter("n", 2); c.add(1); p.name("x").run(() => c.value) +
	" " + p.enabled + " " + /libproftrace/.test(p.problems().missing)')" "3 false true"
finish
