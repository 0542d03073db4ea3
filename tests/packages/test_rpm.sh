#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The packages for rpm: rpmlint is silent, they have no script but the one that ends the service, and rpm installs and
# removes them.
. "$(dirname "$0")/lib.sh"
need rpmbuild rpm rpmlint busybox
rpms=$root/build/rpm
rm -rf "$rpms"
check "build" make -s -C "$root" rpm
for name in libproftrace proftrace proftrace-devel proftrace-doc; do
	check "build: $name" sh -c 'test -s "$1-"[0-9]*.rpm' - "$rpms/$name"
done
(cd "$rpms" && sha256sum -- *.rpm) >"$tmp/first"
"$root/tools/stage.sh" "$tmp/another-folder" >"$tmp/epoch"
check "a second build elsewhere" env CCACHE_DISABLE=1 SOURCE_DATE_EPOCH="$(cat "$tmp/epoch")" make -s -C "$tmp/another-folder" rpm
(cd "$tmp/another-folder/build/rpm" && sha256sum -- *.rpm) >"$tmp/second"
check "a second build elsewhere has the same bytes" diff "$tmp/first" "$tmp/second"
equal "no link-time optimisation of the stubs, whoever sets CFLAGS" "$(make -C "$root" -Bn CFLAGS="-O2 -flto=auto" build/obj/tools/stubs.o |
	grep -c -e "-flto=auto -fno-lto")" 1
rpmlint -c "$root/tests/packages/rpmlint.toml" "$rpms"/*.rpm >"$tmp/rpmlint" 2>&1
equal "rpmlint" "$(grep -E ': [EW]: |checked' "$tmp/rpmlint" | sed 's/.*checked; \(.*\) warnings.*/\1/')" "0 errors, 0"
equal "no script but the one before the removal" "$(for file in "$rpms"/*.rpm; do rpm -qp --scripts "$file"; done 2>&1 | grep scriptlet)" \
	"preuninstall scriptlet (using /bin/sh):"
mkdir -p "$tmp/rpm/bin"
cp "$(command -v busybox)" "$tmp/rpm/bin/sh"
rpm() { command rpm --root "$tmp/rpm" "$@"; }
# Without dependencies: the root has no other packages.
check "rpm -i" rpm -i --nodeps "$rpms"/*.rpm
equal "the program is there, and works" "$("$tmp/rpm/usr/bin/proftrace" --version | head -1)" "$("$proftrace" --version | head -1)"
equal "so does the library" "$(readelf -d "$tmp"/rpm/usr/lib*/libproftrace.so | grep -c 'SONAME.*libproftrace.so.1')" 1
check "rpm -V" rpm -Va --nodeps
check "rpm -e" rpm -e libproftrace proftrace proftrace-devel proftrace-doc
equal "removal leaves nothing" "$(find "$tmp/rpm" \( -path '*/var/lib/rpm' -o -name .rpmdb \) -prune -o \( -type f -o -type l \) -print)" "$tmp/rpm/bin/sh"
finish
