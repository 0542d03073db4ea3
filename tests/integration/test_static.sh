#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The static file: needs nothing of the machine that it runs on, records as the other one does, and says what it cannot.
. "$(dirname "$0")/lib.sh"
static=$root/build/static/proftrace
check "build" make -s -C "$root" static build/tests/programs/steps-static build/tests/programs/handler.so
equal "needs no library and no loader" "$(readelf -dl "$static" | grep -cE 'NEEDED|INTERP')" 0
equal "is at random addresses" "$(readelf -h "$static" | grep -c 'Type: *DYN')" 1
check "--version says that it is static" sh -c '"$1" --version | grep -q "^libraries (static): libbpf"' - "$static"
equal "has the options of the other one" "$("$static" record --help | md5sum)" "$("$proftrace" record --help | md5sum)"
need_tracing

# In a root that has these two files and nothing else.
mkdir -p "$tmp/root/proc" "$tmp/root/sys" "$tmp/root/dev" "$tmp/root/tmp"
cp "$static" "$programs/steps-static" "$tmp/root"
cat >"$tmp/in_root" <<'END'
for folder in proc sys dev; do mount --rbind "/$folder" "$1/$folder" || exit; done
exec chroot "$@"
END
if unshare --mount true 2>/dev/null; then
	unshare --mount --propagation private sh "$tmp/in_root" "$tmp/root" /proftrace -q --summary-json /tmp/summary \
		-o /tmp/t -- /steps-static 2 2 10 100 >"$tmp/said" 2>"$tmp/err"
	equal "an empty root: records" "$?/$(cat "$tmp/err")" "0/"
	equal "an empty root: each mark" "$(field "$tmp/root/tmp/summary" written)" "$(said "$tmp/said" marks)"
	check_account "an empty root" "$tmp/root/tmp/summary"
	check_agree "an empty root" "$tmp/root/tmp/t"
else
	skip "an empty root" "no mount namespaces here"
fi

says() { # NAME TEXT COMMAND...: fails with one message, which has the text
	name=$1 text=$2
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err"
	equal "$name: fails" $? 1
	equal "$name: with one message that says why" "$(grep -c '^proftrace: ' "$tmp/err")/$(grep -c "$text" "$tmp/err")" 1/1
}
says "a plug-in" "a static proftrace loads no shared objects" \
	"$static" -q --handler "$programs/handler.so" -o "$tmp/p" -- "$programs/steps-static" 1 1 1
"$static" -q -o "$tmp/t.pftrace" -- "$programs/steps-static" 1 1 1 >"$tmp/said"
says "open" "static proftrace cannot" "$static" open --no-browser "$tmp/t.pftrace"

# sudo's variables: the user's name and groups come from the files, without the services of /etc/nsswitch.conf.
user=$(awk -F: '$3 >= 1 && $3 < 65534 && $1 != "sync" { print $1; exit }' /etc/passwd)
mkdir -m 777 "$tmp/users"
SUDO_UID=$(id -u "$user") SUDO_GID=$(id -g "$user") "$static" -q -o "$tmp/users/u" -- /bin/sh -c 'id -G; echo $USER' >"$tmp/said"
equal "sudo: the command runs as the user" "$(tr '\n' ' ' <"$tmp/said")" "$(id -G "$user") $user "
finish
