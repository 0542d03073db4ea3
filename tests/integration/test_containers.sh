#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs in containers, recorded from outside: other namespaces, an empty root, overlay file systems, deleted
# files. Every mark is recorded once, with its names and PIDs.
. "$(dirname "$0")/lib.sh"
need_tracing
if ! unshare --pid --mount --fork true 2>/dev/null; then
	skip "containers" "unshare is not permitted here"
	finish
fi
marks=1000

# A root of its own: the program, and the libraries that it needs.
make_root() { # DIRECTORY PROGRAM
	mkdir -p "$1/proc" "$1/old" "$1/bin"
	cp "$2" "$1/bin/waits"
	for library in $(ldd "$2" 2>/dev/null | grep -o '/[^ ]*'); do
		mkdir -p "$1/$(dirname "$library")"
		cp "$library" "$1/$library"
	done
	chmod -R a+rX "$1"
}

start() { # COMMAND...
	rm -f "$tmp/in" "$tmp/out" "$tmp/err"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/said" &
	shell=$!
	exec 9>"$tmp/in"
	wait_for "$tmp/out" ready || cat "$tmp/said"
	target=$(innermost $shell)
}

# Records what was started, from before its first mark to after its last one.
contained() { # NAME PATH: the program's path in there
	what=$1 path=$2
	"$proftrace" -v -p "$target" -o "$tmp/t" --summary-json "$tmp/s" 9>&- 2>"$tmp/err" &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	echo >&9
	wait_for "$tmp/out" marked
	kill -INT $recorder
	wait $recorder
	equal "$what: exit status" $? 0
	check_account "$what" "$tmp/s"
	equal "$what: every mark, once" "$(field "$tmp/s" written)" "$(said "$tmp/out" marked)"
	equal "$what: every file was attached to" "$(field "$tmp/s" files_refused)" 0
	check "$what: the path" grep -q "attached to [0-9]* sites of '$path'" "$tmp/err"
	equal "$what: names, on the kernel's number" \
		"$(grep -c "\"ph\":\"B\",\"pid\":$target,.*\"name\":\"work\"\|\"name\":\"work\".*\"ph\":\"B\".*\"pid\":$target," "$tmp/t.json")" $marks
	check "$what: the process has a name" grep -q '"process_name".*"'"${path##*/}"'"' "$tmp/t.json"
	check_agree "$what" "$tmp/t"
	echo >&9
	exec 9>&-
	wait $shell
	equal "$what: its semaphore is off" "$(said "$tmp/out" semaphore)" 0
}

# Its root is another mount in a namespace of its own: nobody else sees it at any path.
cat >"$tmp/pivot" <<-END
	mount --bind \$1 \$1 && cd \$1 && pivot_root . old && exec /bin/waits $marks
END
make_root "$tmp/root" "$programs/waits"
start unshare --pid --mount --fork sh "$tmp/pivot" "$tmp/root"
contained "another root" /bin/waits
equal "another root: it is the first process there" "$(said "$tmp/out" ready)" 1

make_root "$tmp/static" "$programs/waits-static"
check "a static program: is one" test ! -e "$tmp/static/lib64"
start unshare --pid --mount --fork sh "$tmp/pivot" "$tmp/static"
contained "a static program" /bin/waits

if unshare --user --map-root-user true 2>/dev/null && [ "$(id -u)" -eq 0 ]; then
	start "$programs/rights" user 1000 "" unshare --user --map-root-user --pid --mount --net --ipc --uts \
		--fork chroot "$tmp/root" /bin/waits $marks
	contained "a user namespace" "$tmp/root/bin/waits"
else
	skip "a user namespace" "not permitted here"
fi

# Two containers of one image: what they execute is one file, under two paths that are the same.
mkdir -p "$tmp/layers/a" "$tmp/layers/b" "$tmp/layers/work-a" "$tmp/layers/work-b" "$tmp/layers/at"
mount -t tmpfs none "$tmp/layers" 2>/dev/null &&
	mkdir -p "$tmp/layers/a" "$tmp/layers/b" "$tmp/layers/c" "$tmp/layers/work-a" "$tmp/layers/work-b" \
		"$tmp/layers/work-c" "$tmp/layers/at"
cat >"$tmp/overlay" <<-END
	mount -t overlay none -o lowerdir=$tmp/root,upperdir=$tmp/layers/\$1,workdir=$tmp/layers/work-\$1 \\
		$tmp/layers/at && cd $tmp/layers/at && pivot_root . old && exec \${3:-/bin/waits} \$2
END
# One of several containers: prints its process, as the kernel numbers it, when it is ready.
begin_twin() { # CONTAINER
	unshare --pid --mount --fork sh "$tmp/overlay" "$1" $marks "/bin/$twin" \
		<"$tmp/twin-$1.in" >"$tmp/twin-$1.out" 5>&- 6>&- 7>&- &
	wait_for "$tmp/twin-$1.out" ready
	innermost $! >"$tmp/twin-$1.pid"
}
mark_twin() { # CONTAINER DESCRIPTOR
	echo >&"$2"
	wait_for "$tmp/twin-$1.out" marked
}
# One file has an inode in each overlay, and one below: to that one the kernel attaches. The first container has ended when
# the third one begins.
twins() { # MODE
	what="three of an image, $1" twin=twin$$
	cp "$programs/waits" "$tmp/root/bin/$twin"
	for one in a b c; do
		rm -f "$tmp/twin-$one.in" "$tmp/twin-$one.out"
		mkfifo "$tmp/twin-$one.in"
	done
	exec 5<>"$tmp/twin-a.in" 6<>"$tmp/twin-b.in" 7<>"$tmp/twin-c.in"
	begin_twin a
	first=$!
	begin_twin b
	"$proftrace" -v -n "$twin" --wait --mode "$1" -o "$tmp/t" --summary-json "$tmp/s" 2>"$tmp/err" \
		5>&- 6>&- 7>&- &
	recorder=$!
	wait_for "$tmp/err" "proftrace: recording"
	mark_twin a 5
	echo >&5
	wait $first
	mark_twin b 6
	begin_twin c
	mark_twin c 7
	kill -INT $recorder
	wait $recorder
	equal "$what: exit status" $? 0
	check_account "$what" "$tmp/s"
	equal "$what: every mark, once" "$(field "$tmp/s" written)" $((3 * 2 * marks))
	for one in a b c; do
		pid=$(cat "$tmp/twin-$one.pid")
		equal "$what: the slices of $one" \
			"$(grep -c "\"ph\":\"B\",\"pid\":$pid,.*\"name\":\"work\"\|\"name\":\"work\".*\"ph\":\"B\".*\"pid\":$pid," "$tmp/t.json")" $marks
	done
	check_agree "$what" "$tmp/t"
	echo >&6
	echo >&7
	wait
	exec 5>&- 6>&- 7>&-
	for one in a b c; do
		equal "$what: the semaphore of $one" "$(said "$tmp/twin-$one.out" semaphore)" \
			$([ $one = a ] && echo 1 || echo 0)
	done
}
if unshare --mount sh -c "mount -t overlay none -o lowerdir=$tmp/root,upperdir=$tmp/layers/a,workdir=$tmp/layers/work-a \
	$tmp/layers/at" 2>/dev/null; then
	start unshare --pid --mount --fork sh "$tmp/overlay" a $marks
	contained "an overlay" /bin/waits
	# The other one is not asked for, and marks all the while.
	mkfifo "$tmp/other.in"
	rm -f "$tmp/other.out"
	unshare --pid --mount --fork sh "$tmp/overlay" b 5000 <"$tmp/other.in" >"$tmp/other.out" &
	other=$!
	exec 8>"$tmp/other.in"
	wait_for "$tmp/other.out" ready
	start unshare --pid --mount --fork sh "$tmp/overlay" a $marks
	echo >&8
	contained "one of two of an image" /bin/waits
	echo >&8
	exec 8>&-
	wait $other
	equal "one of two of an image: the other's semaphore is off" "$(said "$tmp/other.out" semaphore)" 0
	twins exact
	twins auto
else
	skip "an overlay" "not permitted here"
fi
umount "$tmp/layers" 2>/dev/null

# Files that have no name any more, or whose name is another file's.
cp "$programs/waits" "$tmp/gone"
start "$tmp/gone" $marks
rm "$tmp/gone"
contained "a deleted program" "$tmp/gone"
cp "$programs/waits" "$tmp/gone"
start unshare --pid --mount --fork chroot "$tmp/root" /bin/waits $marks
cp "$programs/storm" "$tmp/root/bin/new" && mv "$tmp/root/bin/new" "$tmp/root/bin/waits"
contained "a replaced program, in there" "$tmp/root/bin/waits"
check_nothing_left "containers"
finish
