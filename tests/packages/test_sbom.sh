#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The bill of materials names each library that the program loads, and itself; what it relates is there.
. "$(dirname "$0")/lib.sh"
check "build" make -s -C "$root" sbom
sbom=$root/build/proftrace.spdx.json
if ! command -v python3 >/dev/null; then
	skip "the document" "there is no python3"
	finish
fi
python3 - "$sbom" >"$tmp/said" 2>&1 <<'END'
import json, re, sys
document = json.load(open(sys.argv[1]))
elements = document["packages"] + document["files"]
names = [e["SPDXID"] for e in elements] + [document["SPDXID"]]
assert len(names) == len(set(names)), "an id twice"
assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", n) for n in names), names
for relation in document["relationships"]:
    assert relation["spdxElementId"] in names and relation["relatedSpdxElement"] in names, relation
related = {r["relatedSpdxElement"] for r in document["relationships"]} | {r["spdxElementId"] for r in document["relationships"]}
assert related >= set(names), "an element without a relation"
for package in document["packages"]:
    assert package["versionInfo"] != "NOASSERTION", package["name"]
print(*sorted(c["checksumValue"] for c in document["files"][0]["checksums"]))
print(*sorted(p["name"] for p in document["packages"]))
END
equal "it is of this program" "$(sed -n 1p "$tmp/said")" \
	"$(for sum in sha1sum sha256sum; do $sum <"$proftrace" | cut -d' ' -f1; done | sort | xargs)"
# The name of the file is not always that of the library.
equal "each library that is loaded is named" "$(readelf -d "$proftrace" | sed -n 's/.*NEEDED.*\[\(.*\)\.so.*/\1/p' | sed -E \
	's/lib(dw|elf)$/elfutils/; s/libz$/zlib/; s/libprotobuf-c/protobuf-c/; s/libyajl/yajl/
	s/lib(ncursesw|tinfo)/ncurses/; s/lib[cm]$|ld-linux.*/glibc/' | sort -u | grep -vxF "$(sed -n '2s/ /\n/gp' "$tmp/said")")" ""
# As they are named in the program: "libcurl.so.4".
loaded=$(grep -rhoE '"lib[a-z-]+\.so\.[0-9]+"' "$root/user" "$root/tools/stubs.c" | sed -E 's/"(.*)\.so.*/\1/; s/libcurl-gnutls/libcurl/' | sort -u)
equal "each library that is loaded when it is needed is named" "$(echo "$loaded" | sed 's/^libpfm$/libpfm4/; s/^libdw$/elfutils/; s/^libyajl$/yajl/; s/^libncursesw$/ncurses/; s/^libelf$/elfutils/; s/^libz$/zlib/; s/^libprotobuf-c$/protobuf-c/; s/^libm$/glibc/' | grep -vxF "$(sed -n '2s/ /\n/gp' "$tmp/said")")" ""
equal "--version: those that are loaded when they are needed" "$("$proftrace" --version | sed -n 's/^loaded when needed: //p' | wc -w)" 16
# The C library and that of terminals are not: they are everywhere, and a part of ncurses.
equal "--version names all of them, too" "$({ readelf -d "$proftrace" | sed -n 's/.*NEEDED.*\[\(.*\)\.so.*/\1/p' | sed -E \
	's/lib(dw|elf)$/elfutils/; s/libz$/zlib/; s/libprotobuf-c/protobuf-c/; s/libyajl/yajl/; s/libncursesw/ncurses/
	/lib([cm]|tinfo)$|ld-linux.*/d'; echo "$loaded" | sed 's/^libyajl$/yajl/; s/^libncursesw$/ncurses/; s/^libelf$/elfutils/; s/^libz$/zlib/; s/^libprotobuf-c$/protobuf-c/; /^libm$/d'; } | while read -r name; do "$proftrace" --version | grep -qwF -e "$name" || echo "$name"; done)" ""
finish
