#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/sbom.sh PROGRAM VERSION
#
# Prints what is in a proftrace program as an SPDX 2.3 document: `make sbom`. Libraries and their versions are those
# that pkg-config finds, which the program was linked with.
set -eu
program=$1 version=$2
file=$(sha1sum <"$program" | cut -c1-40)
created=$(date -ud "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
link=DYNAMIC_LINK
readelf -d "$program" | grep -q NEEDED || link=STATIC_LINK
# Of libraries that are loaded when they are needed, but linked with a static program.
loaded=RUNTIME_DEPENDENCY_OF
[ $link = DYNAMIC_LINK ] || loaded=$link

found() { # PKG-CONFIG'S-NAME
	pkg-config --modversion "$1" 2>/dev/null || echo NOASSERTION
}
of_header() { # HEADER MACRO: of what has no file for pkg-config
	printf '#include <%s>\n' "$1" | ${CC:-cc} -E -dM - 2>/dev/null | sed -n "s/.*define $2 *\"\\([0-9.]*\\).*/\\1/p" |
		head -1 | grep . || echo NOASSERTION
}
installed() { # DEBIAN-PACKAGE
	dpkg-query -W -f '${source:Upstream-Version}' "$1" 2>/dev/null | grep . || echo NOASSERTION
}
first_version() { # COMMAND...
	"$@" 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+' | head -1 | grep . || echo NOASSERTION
}

# NAME VERSION LICENCE RELATION, which is to the program if it ends in OF. The text of libiberty is always in the program: it has no shared library.
components() {
	echo "libbpf|$(found libbpf)|LGPL-2.1-only OR BSD-2-Clause|$loaded"
	echo "elfutils|$(found libdw)|GPL-2.0-or-later OR LGPL-3.0-or-later|$loaded"
	echo "libiberty|$(installed libiberty-dev)|LGPL-2.0-or-later|STATIC_LINK"
	echo "zlib|$(found zlib)|Zlib|$loaded"
	echo "libdeflate|$(found libdeflate)|MIT|$loaded"
	echo "liblzma|$(found liblzma)|NOASSERTION|$loaded"
	echo "protobuf-c|$(found libprotobuf-c)|BSD-2-Clause|$loaded"
	echo "yajl|$(found yajl)|ISC|$loaded"
	echo "ncurses|$(found ncursesw)|X11-distribute-modifications-variant|$loaded"
	echo "libseccomp|$(found libseccomp)|LGPL-2.1-only|$loaded"
	echo "libpfm4|$(installed libpfm4-dev)|MIT|$loaded"
	[ $link = STATIC_LINK ] || {
		echo "libmicrohttpd|$(found libmicrohttpd)|LGPL-2.1-or-later|OPTIONAL_DEPENDENCY_OF"
		echo "libcurl|$(found libcurl)|curl|OPTIONAL_DEPENDENCY_OF"
		echo "libdebuginfod|$(found libdw)|GPL-2.0-or-later OR LGPL-3.0-or-later|OPTIONAL_DEPENDENCY_OF"
	}
	[ $link = DYNAMIC_LINK ] || {
		echo "bzip2|$(of_header bzlib.h BZ_VERSION)|bzip2-1.0.6|$link"
		echo "libgcc|$(first_version gcc -dumpfullversion)|GPL-3.0-or-later WITH GCC-exception-3.1|$link"
	}
	echo "glibc|$(first_version getconf GNU_LIBC_VERSION)|LGPL-2.1-or-later|$link"
	echo "compiler|$(first_version ${CC:-cc} --version)|NOASSERTION|BUILD_TOOL_OF"
	echo "clang|$(first_version ${CLANG:-clang} --version)|Apache-2.0 WITH LLVM-exception|BUILD_TOOL_OF"
	echo "bpftool|$(first_version ${BPFTOOL:-/usr/sbin/bpftool} version)|GPL-2.0-only OR BSD-2-Clause|BUILD_TOOL_OF"
}

package() { # NAME VERSION LICENCE
	printf '{"SPDXID": "SPDXRef-%s", "name": "%s", "versionInfo": "%s", "downloadLocation": "NOASSERTION", ' "$1" "$1" "$2"
	printf '"filesAnalyzed": false, "licenseConcluded": "%s", "licenseDeclared": "%s", ' "$3" "$3"
	printf '"copyrightText": "NOASSERTION"}'
}
relation() { # FROM WHAT TO
	printf ',\n  {"spdxElementId": "SPDXRef-%s", "relationshipType": "%s", "relatedSpdxElement": "SPDXRef-%s"}' "$1" "$2" "$3"
}

cat <<END
{
"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "proftrace-$version",
"documentNamespace": "https://spdx.org/spdxdocs/proftrace-$version-$file",
"creationInfo": {"created": "$created", "creators": ["Tool: proftrace-sbom-$version"]},
"packages": [
  $(package proftrace "$version" "BSD-2-Clause AND (GPL-2.0-only OR BSD-2-Clause)")$(
	components | while IFS='|' read -r name version licence _; do
		printf ',\n  %s' "$(package "$name" "$version" "$licence")"
	done)
],
"files": [
  {"SPDXID": "SPDXRef-program", "fileName": "./proftrace", "fileTypes": ["BINARY"],
   "checksums": [{"algorithm": "SHA1", "checksumValue": "$file"},
     {"algorithm": "SHA256", "checksumValue": "$(sha256sum <"$program" | cut -c1-64)"}],
   "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}
],
"relationships": [
  {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-proftrace"}$(
	relation program GENERATED_FROM proftrace
	components | while IFS='|' read -r name _ _ what; do
		case $what in
		*_OF) relation "$name" "$what" program ;;
		*) relation program "$what" "$name" ;;
		esac
	done)
]
}
END
