#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs in the machine of test_systemd.sh, as a service of systemd's: what an administrator does with the service.
. /given/lib.sh
proftrace=proftrace
conf=/etc/proftrace/serve.conf
mkdir -p /etc/proftrace

configure() { # LINE...
	printf '%s\n' "unit = demo.service" "trigger = slice:slow>1ms" "max-overhead = 100%" "$@" >$conf.new
	mv $conf.new $conf
}
show() { # PROPERTY
	systemctl show -P "$1" proftrace
}
wait_until() { # PROPERTY VALUE
	for _ in $(seq 1 400); do
		[ "$(show "$1")" != "$2" ] || return 0
		sleep 0.05
	done
	echo "# $1 did not become $2"
	return 1
}
# How many messages of this priority begin so.
messages() { # PRIORITY WORDS
	journalctl --sync
	journalctl -q -u proftrace -p "$1..$1" -o cat | grep -c "^$2"
}
metrics() {
	bash -c 'exec 3<>/dev/tcp/127.0.0.1/9464; printf "GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:9464\r\n\r\n" >&3; cat <&3'
}
value() { # METRIC NAME
	metrics | sed -n "s/^$1{.*name=\"$2\",.*unit=\"demo.service\"[^ ]*} //p"
}
mark() { # COMMAND: of scripted
	next=$(($(grep -c '^done' /run/said) + 1))
	echo "$1" >&8
	wait_for /run/said "done $next"
}

equal "the machine has started; failed units: $(systemctl --failed --plain --no-legend | cut -d' ' -f1 | xargs)" \
	"$(systemctl is-system-running --wait)" running
equal "systemd-analyze verify" "$(systemd-analyze verify --man=no proftrace.service 2>&1 | grep proftrace)" ""
check "systemd-analyze security: at most 4.5" systemd-analyze security --no-pager --threshold=45 proftrace.service
echo "# $(systemd-analyze security --no-pager proftrace.service | tail -1)"

systemctl start proftrace
equal "without a configuration it does not start, which is no failure" "$?/$(show ActiveState)/$(show ConditionResult)" 0/inactive/no
configure "colour = red"
systemctl start proftrace 2>/dev/null
equal "with a wrong one it fails, and is not started again" "$?/$(show Result)/$(show ExecMainStatus)/$(show NRestarts)" 1/exit-code/2/0
equal "the journal has the line as an error" "$(messages err "proftrace: cannot use '$conf:4': 'colour' is not a long option")" 1

mkfifo /run/in
exec 8<>/run/in
systemd-run -q --unit=demo sh -c 'exec /given/scripted </run/in >/run/said'
wait_for /run/said ready
configure
check "starts" systemctl start proftrace
equal "is ready when it has been started" "$(show ActiveState)/$(show StatusText)" active/Recording.
equal "the journal has that as a notice" "$(messages notice "proftrace: recording, as '$conf' says")" 1
pid=$(show MainPID)
mark "slices 1000"
equal "the marks of a unit" "$(value proftrace_slice_duration_seconds_count work)" 1000
mark "slow 5"
for _ in $(seq 1 400); do
	[ "$(messages notice "proftrace: slice:slow>1ms: the last .* are in")" -eq 0 ] || break
	sleep 0.05
done
equal "a slow one is kept, for root alone" "$(stat -c '%U %a' /var/lib/proftrace /var/lib/proftrace/trace-*.pftrace | xargs)" "root 700 root 600"
equal "all of it" "$(proftrace report --format csv /var/lib/proftrace/trace-*.pftrace | awk -F, '$1 == "slice" && $3 == "work" { print $5 }')" 1000

configure "colour = red"
systemctl reload proftrace 2>/dev/null
equal "reload with a wrong one fails, and the old one stays" "$?/$(show ActiveState)/$(show MainPID)" "1/active/$pid"
equal "its line is an error" "$(messages err "proftrace: cannot use '$conf:4': 'colour' is not a long option")" 2
systemctl kill --kill-who=main -s HUP proftrace
wait_until StatusText "Recording; the new configuration was refused."
equal "SIGHUP with a wrong one: the old one stays" "$(show ActiveState)/$(messages notice "proftrace: the configuration stays as it was")" active/1
mark "slices 10"
equal "and counts" "$(value proftrace_slice_duration_seconds_count work)" 1010
configure "unit = later.service" "flight-recorder = 60s"
check "reload with a right one" systemctl reload proftrace
wait_until StatusText "Recording."
mark "slices 7"
equal "which is used" "$(value proftrace_slice_duration_seconds_count work)/$(show MainPID)" "7/$pid"
# Its programs may exit before their labels can be read: they are counted all the same.
systemd-run -q --unit=later sh -c 'for i in $(seq 100); do /given/scripted "slices 3"; done >/run/later; echo end >>/run/later'
wait_for /run/later end
equal "a unit that starts later: every mark of its programs" \
	"$(metrics | awk '/^proftrace_slice_duration_seconds_count{.*name="work"/ { n += $NF } END { print n }')" 307

check "stops" systemctl stop proftrace
equal "without a failure, and nothing of it runs" "$(show Result)/$(pgrep -c proftrace)" success/0
mount -t tmpfs -o size=256k none /var/lib/proftrace
systemctl start proftrace
for _ in 1 2 3 4; do
	mark "slices 3000"
	proftrace ctl dump -p "$(show MainPID)" >/dev/null 2>&1
done
check "a full disk: an error" [ "$(messages err "proftrace: cannot write '/var/lib/proftrace/.*No space left")" -ge 1 ]
mark "slices 10"
equal "a full disk: the service goes on" "$(show ActiveState)/$(show NRestarts)/$(value proftrace_slice_duration_seconds_count work)" active/0/12010

# It has to start on the full disk.
kill -KILL "$(show MainPID)"
wait_until NRestarts 1
wait_until StatusText "Recording."
mark "slices 3"
equal "a killed one is started again" "$(show ActiveState)/$(value proftrace_slice_duration_seconds_count work)" active/3
umount /var/lib/proftrace
check "dpkg --purge" dpkg --purge proftrace
equal "stops it, and leaves nothing" "$(systemctl is-active proftrace)/$(find / -xdev -path '*proftrace*' ! -path '/proc/*' ! -path '/var/log/*' ! -path '/var/lib/dpkg/*' ! -path '/given*' ! -path '/tmp/*')" "inactive/$(printf '%s\n' /etc/proftrace $conf)"
finish
