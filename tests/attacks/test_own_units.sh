#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A user's own service manager, a service with Delegate= and a container may have units with any names, also that of a unit of the
# system: whoever records that unit does not record theirs, whether they ran before or are started later, and their metrics can be
# told apart.
. "$(dirname "$0")/lib.sh"
need_tracing
cgroups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
name=victim-$$
system=proftrace-test-$$.slice
users=$system/user-1.slice/user@$$.service
if [ -z "$cgroups" ] || ! mkdir "$cgroups/$system" 2>/dev/null; then
	skip "own units" "no cgroup can be made"
	finish
fi
begin_recording
remove_cgroups() {
	find "$cgroups/$system" -depth -type d -exec rmdir {} + 2>/dev/null
}
trap 'remove_cgroups; rm -rf "$tmp"' EXIT
app=$system/app.service
container=$system/lxc.payload.a
mkdir -p "$cgroups/$system/$name.service" "$cgroups/$users/app.slice/$name.service" "$cgroups/$app/$name.service" \
	"$cgroups/$container/system.slice/$name.service"
mkfifo "$tmp/in"
started=
start() { # PROCESS CGROUP: in the background
	rm -f "$tmp/$1"
	sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 1 1 wait' sh "$cgroups/$2" "$programs/every_kind" <"$tmp/in" >"$tmp/$1" 9>&- &
	started="$started $!"
}
end() {
	exec 9>&-
	# shellcheck disable=SC2086
	wait $started
	started=
	kill -TERM $recorder 2>/dev/null
	ends $recorder
}
rounds() { "$proftrace" report --format csv "$tmp/t.pftrace" | sed -n 's/^slice,default,round,ns,\([0-9]*\),.*/\1/p'; }

start system "$system/$name.service"
others() { # PREFIX
	start "$1users" "$users/app.slice/$name.service"
	start "$1app" "$app/$name.service"
	start "$1container" "$container/system.slice/$name.service"
}
wait_for_all() { # PREFIX
	for process in system users app container; do wait_for "$tmp/$1$process" ready; done
}
others ""
exec 9>"$tmp/in"
wait_for_all ""
start_recorder --unit "$name" --wait
start later-system "$system/$name.service"
others later-
wait_for_all later-
end
never_else "--unit: two processes of the system's unit are recorded, and none of others'" "$(rounds)" 2

start users "$users/app.slice/$name.service"
exec 9>"$tmp/in"
wait_for "$tmp/users" ready
start_recorder --unit "user@$$"
end
never_else "--unit user@UID: the user's is recorded" "$(rounds)" 1

start system "$system/$name.service"
others ""
exec 9>"$tmp/in"
wait_for_all ""
for listed in system users app container; do
	"$proftrace" list -p "$(said "$tmp/$listed" ready)" 9>&- >"$tmp/listed.$listed" 2>&1
done
exec 9>&-
# shellcheck disable=SC2086
wait $started
equal "list: the system's unit" "$(grep -c "unit $name.service" "$tmp/listed.system")" 1
equal "list: the user's unit" "$(grep -c "unit user@$$.service/$name.service" "$tmp/listed.users")" 1
equal "list: that of a service" "$(grep -c "unit app.service/$name.service" "$tmp/listed.app")" 1
equal "list: that of a container" "$(grep -c "unit lxc.payload.a/$name.service" "$tmp/listed.container")" 1
check_nothing_left "own units"
finish
