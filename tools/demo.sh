#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Records a real program while it runs: tools/samples/compress, which compresses a directory tree
# with several threads. Ends with the table and the two files. Called by `make demo`.
#
#	DEMO_TREE	the tree (/usr/include)
#	DEMO_TIME	how long to record (3s)
set -u
cd "$(dirname "$0")/.." || exit 1
proftrace=build/proftrace
out=build/demo/compress
time=${DEMO_TIME:-3s}
tree=${DEMO_TREE:-/usr/include}

fail() {
	echo "demo: $*" >&2
	exit 1
}

as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || fail "recording needs root, and there is no sudo"
	as_root=sudo
	echo "demo: recording needs root: sudo may ask for your password"
	sudo true || fail "sudo refused"
fi
rm -rf build/demo && mkdir -p build/demo || exit 1
$as_root "$proftrace" check >build/demo/check 2>&1 || {
	cat build/demo/check
	fail "this machine cannot record; above is what it lacks"
}
build/samples/compress -n 100000 -o build/demo/archive.gz "$tree" >build/demo/said 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null' EXIT
echo "demo: $tree is being compressed by process $pid; now, while it runs:"
echo
echo "  \$ ${as_root:+sudo }proftrace -p $pid -d $time -o $out"
echo
$as_root "$proftrace" -p $pid -d "$time" -o $out || fail "the recording failed"

kill -0 $pid 2>/dev/null || {
	cat build/demo/said
	fail "the recorded program has ended; it should not have noticed"
}
kill $pid
wait $pid
status=$?
trap - EXIT
[ $status -eq 0 ] || fail "the recorded program ended with status $status"
for file in $out.pftrace $out.json; do
	[ -s $file ] || fail "$file was not written"
	"$proftrace" report $file >build/demo/report 2>&1 && grep -q deflate build/demo/report ||
		fail "$file does not show what was recorded: $(head -3 build/demo/report)"
done

echo
echo "demo: the program went on until it was told to stop, and ended with status 0. Its trace, twice:"
echo
for file in $out.pftrace $out.json; do
	echo "  $PWD/$file"
done
echo
echo "Open either in https://ui.perfetto.dev (\"Open trace file\"): it stays in your browser."
