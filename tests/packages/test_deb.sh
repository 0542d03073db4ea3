#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages: lintian is silent, a second build elsewhere has the same bytes, and in a new Debian 12 two commands
# lead to a trace; nothing is left after they have been removed.
. "$(dirname "$0")/lib.sh"
need dh dh_python3 lintian dpkg-buildpackage
debs=$root/build/deb
rm -rf "$debs"
check "build" make -s -C "$root" deb
equal "build: packages" "$(cd "$debs" && ls -- *.deb | grep -v dbgsym | sed 's/_.*//' | LC_ALL=C sort | xargs)" \
	"libproftrace1 proftrace proftrace-dev proftrace-doc python3-proftrace"
equal "lintian" "$(lintian --allow-root --fail-on none "$debs"/*.changes 2>&1)" ""
equal "no scripts but systemd's, the removal of kept traces, and those that compile Python" "$(for deb in "$debs"/*.deb; do
	dpkg-deb --ctrl-tarfile "$deb" | tar -t | grep -E 'inst|rm$' | sed "s|^|$(basename "$deb" | cut -d_ -f1)|"
done | xargs)" \
	"$(echo proftrace./postinst proftrace./postrm proftrace./preinst proftrace./prerm python3-proftrace./postinst python3-proftrace./prerm)"
check "the service is neither enabled nor started" sh -c '! dpkg-deb --ctrl-tarfile "$1" | tar -xO ./postinst | grep -E "deb-systemd-invoke|enable .*was-disabled"' \
	sh "$debs"/proftrace_*.deb
(cd "$debs" && sha256sum -- *.deb) >"$tmp/first"
"$root/tools/stage.sh" "$tmp/another-folder" >"$tmp/epoch"
if (cd "$tmp/another-folder" && CCACHE_DISABLE=1 SOURCE_DATE_EPOCH=$(cat "$tmp/epoch") make -s deb) >"$tmp/deb.log" 2>&1; then
	(cd "$tmp/another-folder/build/deb" && sha256sum -- *.deb) >"$tmp/second"
	check "a second build in another-folder has the same bytes" diff "$tmp/first" "$tmp/second"
else
	not_ok "a second build" "$(tail -5 "$tmp/deb.log")"
fi

need_tracing
if ! make_root bookworm; then
	skip "a new Debian 12" "$why"
	finish
fi
apt() { apt_in bookworm "$@"; }
if ! apt update || ! apt install sudo; then
	skip "a new Debian 12" "packages cannot be downloaded: $(tail -1 "$tmp/apt")"
	finish
fi
# /run and /tmp are emptied when the machine starts.
files() {
	enter bookworm find / -xdev ! -path '/var/cache/*' ! -path '/var/lib/apt/*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' \
		! -path '/given*' ! -path '/run/*' ! -path '/tmp/*' \
		! -path /etc/ld.so.cache | sort
}
enter bookworm sh -c 'echo "127.0.0.1 $(cat /proc/sys/kernel/hostname)" >>/etc/hosts'
enter bookworm useradd -m user
enter bookworm sh -c 'echo "user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/user'
give bookworm "$debs"/*.deb "$programs/steps"
mkdir "$given/folder"
touch "$given/folder/a" "$given/folder/b" "$given/folder/c"
files >"$tmp/before"
check "apt install ./proftrace_*.deb" apt install "/given/$(cd "$debs" && ls proftrace_*.deb)"
enter bookworm su user -c 'cd && sudo proftrace -q -f libc.so.6:readdir64 -o /given/ls -- ls -a /given/folder' >"$tmp/said" 2>"$tmp/err"
equal "sudo proftrace: works" "$?/$(cat "$tmp/err")" "0/"
for format in json pftrace; do
	equal "sudo proftrace: each call in the $format" "$(count_slices "$given/ls.$format" readdir64)" 6
done
equal "sudo proftrace: the files belong to the user" "$(enter bookworm stat -c %U /given/ls.json)" user
enter bookworm su user -c 'sudo proftrace -q --summary-json /given/summary -o /given/t -- /given/steps 2 2 10 100' >"$tmp/said" 2>"$tmp/err"
equal "a program with marks: each" "$(field "$given/summary" written)" "$(said "$tmp/said" marks)"
check_account "a program with marks" "$given/summary"
check_agree "a program with marks" "$given/t"

cp "$programs/spans" "$given/demoserver"
enter bookworm su user -c "set -- sudo proftrace -q -n demoserver -d 3 --summary-json /given/summary -o /given/name
	cd
	$beside" >"$tmp/said" 2>"$tmp/err"
equal "sudo proftrace -n NAME: works" "$?/$(cat "$tmp/err")" "0/"
check "a program that runs, by its name: a trace" test "$(count_slices "$given/name.pftrace" request)" -gt 50
check_account "by name" "$given/summary"

check "the other packages can be installed" apt install $(cd "$debs" && ls -- *.deb | grep -v dbgsym | sed 's|^|/given/|')
cat >"$given/marks.py" <<-END
	import proftrace
	for i in range(50):
	    with proftrace.scope("python", number=i):
	        pass
END
enter bookworm proftrace -q -o /given/python -- python3 /given/marks.py >"$tmp/said" 2>&1
equal "python3-proftrace: each slice" "$(count_slices "$given/python.pftrace" python)" 50
equal "python3-proftrace: other packages find its version" \
	"$(enter bookworm python3 -c 'import importlib.metadata as m; print("proftrace", m.version("proftrace"))')" \
	"$("$proftrace" --version | head -1)"
check "--itt finds its library" enter bookworm proftrace -q --itt -o /given/itt -- /given/steps 1 1 1
sum=$(enter bookworm sha1sum /usr/bin/proftrace | cut -c1-40)
equal "the bill of materials is of this program" "$(enter bookworm cat /usr/share/doc/proftrace/proftrace.spdx.json | grep -c "$sum")" 2

check "recorders had a folder for their sockets" test -d "$tmp/layers/bookworm/upper/run/proftrace"
check "apt purge" apt purge proftrace proftrace-dev proftrace-doc libproftrace1 python3-proftrace
check "apt autoremove" apt autoremove --purge
files >"$tmp/after"
equal "removal leaves nothing" "$(diff "$tmp/before" "$tmp/after")" ""
equal "also not in /run" "$(enter bookworm ls /run | grep proftrace)" ""

# The libraries of the next Debian have other names.
if make_root trixie && apt_in trixie update; then
	give trixie "$debs"/proftrace_*.deb "$programs/steps"
	check "Debian 13: apt install" apt_in trixie install "/given/$(cd "$debs" && ls proftrace_*.deb)"
	enter trixie proftrace -q --summary-json /given/summary -o /given/t -- /given/steps 2 2 10 100 >"$tmp/said" 2>"$tmp/err"
	equal "Debian 13: works" "$?/$(cat "$tmp/err")" "0/"
	equal "Debian 13: each mark" "$(field "$given/summary" written)" "$(said "$tmp/said" marks)"
	check_account "Debian 13" "$given/summary"
else
	skip "Debian 13" "${why:-packages cannot be downloaded}"
fi
finish
