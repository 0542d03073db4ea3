#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A program has as many mappings as the kernel permits, and as many marker sites as proftrace permits, each in a mapping of
# its own. Reading the list for each site took minutes; attaching kept the kernel busy for many seconds without interruption.
# On an overlay, memory is compared with the file as well, before and after.
. "$(dirname "$0")/lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || { skip "many mappings" "the program has x86 instructions"; finish; }
begin_recording
mkdir "$tmp/layers" && mkfifo "$tmp/in"
cat >"$tmp/overlay" <<END
#!/bin/sh
mount -t tmpfs none "$tmp/layers" && cd "$tmp/layers" && mkdir lower upper work merged && cp "$attacks/many_mappings" lower &&
	mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged || { echo cannot mount an overlay; exit 1; }
exec "$tmp/layers/merged/many_mappings" "\$@"
END
chmod 755 "$tmp/overlay"
try() { # WANTED COMMAND...
	wanted=$1
	shift
	name="$(echo "$*" | sed 's|.*/||')"
	"$@" <"$tmp/in" >"$tmp/target" 2>&1 &
	exec 9>"$tmp/in"
	wait_for "$tmp/target" 'ready\|cannot' >"$tmp/wait"
	if ! grep -q '^ready' "$tmp/target"; then
		skip "$name" "$(cat "$tmp/target")"
		exec 9>&-
		wait $!
		return
	fi
	timeout -k 5 20 "$proftrace" -v -e none -p "$(said "$tmp/target" ready)" -d 100ms -o "$tmp/r" --summary-json "$tmp/s" 9>&- >"$tmp/out" 2>&1
	status=$?
	exec 9>&-
	wait $!
	if [ "$wanted" = refused ]; then
		never_else "$name: refused, with one clear line" "$status $(grep "^proftrace: cannot attach to '.*': its process has too many mappings" "$tmp/out" | sort -u | wc -l)" "1 1"
	else
		equal "$name: recorded" "$status $(grep -c 'attached to 40[0-9]* sites' "$tmp/out") $(($(field "$tmp/s" written) > 5))" "0 1 1"
	fi
}
try recorded "$attacks/many_mappings" 4000 split
try refused "$attacks/many_mappings" 50000 split
try recorded unshare -m "$tmp/overlay" 4000 split
try refused unshare -m "$tmp/overlay" 50000 split

# Where each process has links of its own, one that is refused does not keep others from being recorded.
cp "$attacks/many_mappings" "$tmp/several"
"$tmp/several" 50000 split <"$tmp/in" >"$tmp/first" &
first=$!
"$tmp/several" 10 <"$tmp/in" >"$tmp/second" &
second=$!
exec 9>"$tmp/in"
if wait_for "$tmp/first" ready >"$tmp/wait" && wait_for "$tmp/second" ready >"$tmp/wait"; then
	timeout -k 5 20 "$proftrace" -v -e none -n several --no-children -d 100ms -o "$tmp/r" --summary-json "$tmp/s" 9>&- >"$tmp/out" 2>&1
	equal "two processes: the other one is recorded, and one is refused, once" \
		"$? $(($(field "$tmp/s" written) > 5)) $(grep -c "too many mappings" "$tmp/out")" "0 1 1"
else
	skip "two processes" "$(cat "$tmp/first" "$tmp/second")"
fi
exec 9>&-
wait $first $second
finish
