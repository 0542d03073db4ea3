# SPDX-License-Identifier: BSD-2-Clause
#
# What the tests of packages share: roots of distributions, made by debootstrap and kept in build/packages/roots. Other
# folders that somebody puts there, of distributions that debootstrap does not know, are tried as well.
. "$(dirname "$0")/../integration/lib.sh"
kept=$root/build/packages
mkdir -p "$kept/roots" "$kept/archives/partial"

need() { # COMMAND...: skips the whole test where one is missing
	for command; do
		command -v "$command" >/dev/null && continue
		skip "$(basename "$0" .sh)" "there is no $command; see: tools/packages.sh --distribution"
		finish
	done
}

# Sets why where it cannot be had.
make_root() { # SUITE
	[ ! -d "$kept/roots/$1" ] || return 0
	command -v debootstrap >/dev/null || { why="there is no debootstrap"; return 1; }
	rm -rf "$kept/roots/$1.part"
	# The last Debian whose /lib may be another folder than /usr/lib.
	layout=--merged-usr
	[ "$1" != bullseye ] || layout=--no-merged-usr
	if ! debootstrap --variant=minbase $layout "$1" "$kept/roots/$1.part" >"$tmp/debootstrap" 2>&1; then
		why="debootstrap cannot get $1: $(tail -1 "$tmp/debootstrap")"
		return 1
	fi
	# How to fetch packages is the machine's.
	apt-config dump | grep '^Acquire::http' >"$kept/roots/$1.part/etc/apt/apt.conf.d/99machine"
	mv "$kept/roots/$1.part" "$kept/roots/$1"
}

cat >"$tmp/enter" <<'END'
at=$1 archives=$2
mount -t overlay overlay -o "lowerdir=$3,upperdir=$4,workdir=$5" "$at" || exit 99
for folder in proc sys dev; do mkdir -p "$at/$folder" && mount --rbind "/$folder" "$at/$folder" || exit 99; done
if [ -d "$at/var/cache/apt/archives" ]; then mount --bind "$archives" "$at/var/cache/apt/archives" || exit 99; fi
shift 5
exec chroot "$at" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
END

# Runs a command in a root. What it changes stays until the end of the test; the root itself does not change. One
# command at a time, since the kernel does not say what two mounts of the same layers have in them.
enter() { # ROOT COMMAND...
	layers=$tmp/layers/$1
	mkdir -p "$layers/at" "$layers/upper" "$layers/work"
	entered=$1
	shift
	unshare --mount --propagation private sh "$tmp/enter" "$layers/at" "$kept/archives" "$kept/roots/$entered" \
		"$layers/upper" "$layers/work" "$@"
}

apt_in() { # ROOT ARG...
	suite=$1
	shift
	enter "$suite" apt-get -qq -y --no-install-recommends -o APT::Sandbox::User=root "$@" >"$tmp/apt" 2>&1
}

# Puts files into such a copy.
give() { # ROOT FILE...
	mkdir -p "$tmp/layers/$1/upper/given"
	chmod 777 "$tmp/layers/$1/upper/given"
	given=$tmp/layers/$1/upper/given
	shift
	cp "$@" "$given"
}

count_slices() { # TRACE NAME
	"$proftrace" report --format csv "$1" | awk -F, -v name="$2" '$1 == "slice" && $3 == name { n += $5 } END { print n + 0 }'
}

# The words for a shell that runs a command beside a service, which ends by itself.
beside='/given/demoserver 600 10 >/dev/null &
	until grep -qx demoserver /proc/$!/comm; do :; done
	"$@"
	status=$?
	wait
	exit $status'
