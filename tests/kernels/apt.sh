#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/kernels/apt.sh ARCH COMMAND...
#
#	update		fetch the lists of packages
#	kernel SERIES	print the name of the package with the newest cloud kernel of SERIES ("6.12")
#	get PACKAGE...	download packages into the current directory
#	closure PACKAGE...	the same with all they depend on
#
# Debian packages of any architecture and of newer suites, with an apt of our own under
# build/kernels: it has its own lists and cache, and neither installs nor changes anything. Where
# packages come from, and through which proxy, it takes from the machine's configuration.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
arch=$1 command=$2
shift 2
state=$root/build/kernels/apt/$arch
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"

# "deb [signed-by=KEY] URI SUITE COMPONENT" of both formats that sources are written in.
sources() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk '
		$1 == "deb" {
			key = ""
			i = 2
			if ($i ~ /^\[/)
				do
					if (match($i, /signed-by=[^] ]*/))
						key = " [" substr($i, RSTART, RLENGTH) "]"
				while ($(i++) !~ /\]$/ && i < NF)
			print "deb" key, $i, $(i + 1), "main"
		}'
	cat /dev/null /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
		function flush(  u, s, nu, ns, us, ss, key) {
			if (types ~ /deb( |$)/ && enabled != "no") {
				key = signed ~ /^\// ? " [signed-by=" signed "]" : ""
				nu = split(uris, us, " ")
				ns = split(suites, ss, " ")
				for (u = 1; u <= nu; u++)
					for (s = 1; s <= ns; s++)
						print "deb" key, us[u], ss[s], "main"
			}
			types = uris = suites = signed = enabled = ""
		}
		{ value = $0; sub(/^[^:]*: */, "", value) }
		/^[ \t]*$/ { flush() }
		/^Types:/ { types = value }
		/^URIs:/ { uris = value }
		/^Suites:/ { suites = value }
		/^Signed-By:/ { signed = value }
		/^Enabled:/ { enabled = value }
		END { flush() }'
}

# The suites of this machine's release, and from the same places those that have newer kernels.
configure() {
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ -n "$release" ] || { echo "this machine's release has no name" >&2; exit 1; }
	sources | awk -v release="$release" '
		{ suite = $(NF - 1) }
		suite == release || index(suite, release "-") == 1 || index(suite, release "/") == 1 { print }
		suite == release {
			sub(" " release " main$", "")
			print $0, release "-backports main"
			print $0, "trixie-backports main"
		}' | sort -u >"$state/sources.list"
	# Only how to fetch is the machine's: no hooks run for us. Lists are small: no other indexes.
	{
		apt-config dump | grep -E '^Acquire::' | grep -vE '^Acquire::IndexTargets::'
		cat <<-END
			Dir::Etc::main "/dev/null";
			Dir::Etc::parts "/dev/null";
			Dir::Etc::preferencesparts "/dev/null";
			Dir::Etc::sourcelist "$state/sources.list";
			Dir::Etc::sourceparts "/dev/null";
			Dir::State "$state";
			Dir::State::status "/dev/null";
			Dir::Cache "$state/cache";
			APT::Architecture "$arch";
			APT::Architectures:: "$arch";
			APT::Sandbox::User "";
			Acquire::Languages "none";
		END
	} >"$state/apt.conf"
}

export APT_CONFIG="$state/apt.conf"
case $command in
update)
	unset APT_CONFIG
	configure
	export APT_CONFIG="$state/apt.conf"
	# A suite that a mirror lacks is no failure: the others' lists are there then.
	apt-get -qq update >"$state/log" 2>&1 || true
	;;
kernel)
	# From 7.x on the kernel itself is in linux-binary, and linux-image depends on it.
	for kind in binary image; do
		name=$(apt-cache pkgnames "linux-$kind-$1." |
			grep -E "^linux-$kind-[0-9.]*[0-9][^a-z]*(deb[0-9]+-)?cloud-$arch\$" | sort -V | tail -1)
		[ -z "$name" ] || { echo "$name"; exit 0; }
	done
	exit 1
	;;
get)
	apt-get -qq download "$@" >&2
	;;
closure)
	rm -f "$state/cache/archives/"*.deb
	apt-get -qq -y -o Debug::NoLocking=1 --no-install-recommends --download-only install "$@" >&2
	mv "$state/cache/archives/"*.deb .
	;;
esac
