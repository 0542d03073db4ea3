#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unmodified servers and interpreters from Debian packages, recorded by their USDT probes (-u) and compared with
# their own statistics.
. "$(dirname "$0")/lib.sh"
need_tracing

# How many lines of the trace have all of these.
lines() { # NAME TEXT...
	cat "$tmp/$1.json" >"$tmp/lines"
	shift
	for text in "$@"; do
		grep -F -- "$text" "$tmp/lines" >"$tmp/lines.next"
		mv "$tmp/lines.next" "$tmp/lines"
	done
	wc -l <"$tmp/lines"
}

has_probe() { # FILE PROBE
	"$proftrace" list "$1" 2>/dev/null | grep -q "probe $2 "
}

# --- PostgreSQL 15 -------------------------------------------------------------------------------
pg=/usr/lib/postgresql/15/bin
as_postgres() { # COMMAND...: it does not run as root
	setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
}

# The time that critical paths spend in slices that match.
path_ns() { # PATTERN
	sed -n '/^  "path"/,/^  \]/p' "$tmp/pg.path" | grep -E "\"slice\": \"?$1" | sed -n 's/.*"total_ns": \([0-9]*\).*/\1/p' |
		awk '{ s += $1 } END { printf "%.0f", s }'
}

postgres() {
	mkdir -m 777 "$tmp/pg"
	cd "$tmp/pg" || return
	if ! as_postgres $pg/initdb -N -A trust -D "$tmp/pg/data" >"$tmp/pg.init" 2>&1; then
		skip "postgresql-15" "initdb fails: $(tail -1 "$tmp/pg.init")"
		return
	fi
	(exec setpriv --reuid=postgres --regid=postgres --clear-groups $pg/postgres -D "$tmp/pg/data" -k "$tmp/pg" \
		-c listen_addresses= -c fsync=off -c autovacuum=off >"$tmp/pg.log" 2>&1) &
	server=$!
	for _ in $(seq 200); do
		as_postgres $pg/pg_isready -q -h "$tmp/pg" && break
		sleep 0.05
	done
	as_postgres $pg/psql -qh "$tmp/pg" -c 'create database shop' postgres
	rm -f "$tmp/pg.err"
	"$proftrace" -e none --wait-reasons -p $server -o "$tmp/pg.trace" --summary-json "$tmp/pg.sum" \
		-u 'postgresql:query__start~postgresql:query__done/{arg0:s}' \
		-u 'postgresql:transaction__start~postgresql:transaction__commit|transaction__abort@arg0' \
		-u 'postgresql:sort__start~postgresql:sort__done' 2>"$tmp/pg.err" &
	recorder=$!
	wait_for "$tmp/pg.err" 'proftrace: recording'
	{
		echo "select 'backend ' || pg_backend_pid();"
		echo 'create table t (n int);'
		for i in $(seq 20); do echo "insert into t values ($i);"; done
		echo 'begin; insert into t values (100); rollback;'
		echo "select 'rows ' || count(*) from t;"
		echo 'select n from t order by n limit 3;'
	} >"$tmp/pg.sql"
	as_postgres $pg/psql -qAt -h "$tmp/pg" shop <"$tmp/pg.sql" >"$tmp/pg.out" 2>&1
	# What a session has done is told when it ends.
	for _ in $(seq 100); do
		as_postgres $pg/psql -qAth "$tmp/pg" -c "select 'transactions ' || xact_commit + xact_rollback
			from pg_stat_database where datname = 'shop'" postgres >"$tmp/pg.stat"
		[ "$(said "$tmp/pg.stat" transactions)" -ge 26 ] && break
		sleep 0.05
	done
	# Each of three clients' transactions has the row for 20 ms, and the others wait for it.
	as_postgres $pg/psql -qh "$tmp/pg" -c 'create table hot (n int); insert into hot values (0)' postgres
	printf 'begin;\nupdate hot set n = n + 1;\nselect pg_sleep(0.02);\ncommit;\n' >"$tmp/pg/hot.sql"
	as_postgres $pg/pgbench -n -h "$tmp/pg" -c 3 -j 3 -t 6 -f "$tmp/pg/hot.sql" postgres >"$tmp/pg.bench" 2>&1
	kill -INT $recorder
	wait $recorder
	kill -QUIT $server
	wait $server
	mv "$tmp/pg.trace.json" "$tmp/pg.json"
	mv "$tmp/pg.trace.pftrace" "$tmp/pg.pftrace"
	check_agree "postgres" "$tmp/pg"
	check_account "postgres" "$tmp/pg.sum"
	backend=$(said "$tmp/pg.out" backend)
	equal "transactions as pg_stat_database counts them" \
		"$(lines pg "\"pid\":$backend," '"name":"postgresql:transaction"' '"ph":"b"')" \
		"$(said "$tmp/pg.stat" transactions)"
	equal "each of them ends" "$(lines pg "\"pid\":$backend," '"name":"postgresql:transaction"' '"ph":"e"')" \
		"$(said "$tmp/pg.stat" transactions)"
	for name in postgresql:transaction 'update hot*'; do
		"$proftrace" report --critical "$name" --format json "$tmp/pg.pftrace" >"$tmp/pg.path"
		equal "critical paths of $name add up, to the nanosecond" "$(path_ns .)" \
			"$(sed -n 's/^  "all": {.*"total_ns": \([0-9]*\).*/\1/p' "$tmp/pg.path")"
	done
	equal "pgbench: all its updates" "$(sed -n 's/^  "all": {"count": \([0-9]*\),.*/\1/p' "$tmp/pg.path")" 18
	check "pgbench: an update waits for the transaction that has its row, which sleeps" awk -v in_sleep="$(path_ns 'select pg_sleep')" \
		-v all="$(path_ns .)" 'BEGIN { print in_sleep, all; exit !(in_sleep > all / 2) }'
	equal "queries, by their text" "$(lines pg "\"pid\":$backend," '"name":"insert into t values (' '"ph":"B"')" 21
	equal "sorts, inside of them" "$(lines pg "\"pid\":$backend," '"name":"postgresql:sort"' '"ph":"B"')" 1
}

if ! has_probe $pg/postgres postgresql:query__start; then
	skip "postgresql-15" "it is not installed"
elif [ "$(id -u)" -ne 0 ] || ! id postgres >/dev/null 2>&1; then
	skip "postgresql-15" "its server runs as the user postgres, whom only root can become"
else
	(postgres && echo "$test_number" >"$tmp/number")
	[ -s "$tmp/number" ] && test_number=$(cat "$tmp/number")
fi

# --- OpenJDK 17 ----------------------------------------------------------------------------------
java=$(ls /usr/lib/jvm/java-17-openjdk-*/bin/java 2>/dev/null | head -1)
if [ -z "$java" ] || ! has_probe "$(dirname "$java")/../lib/server/libjvm.so" hotspot:gc__begin; then
	skip "openjdk-17" "it is not installed"
else
	# A program that comes with it, in so little memory that it has to collect.
	timeout 100 "$proftrace" -e none -o "$tmp/java" --summary-json "$tmp/java.sum" \
		-u 'hotspot:gc__begin~hotspot:gc__end@tid' -u 'hotspot:vmops__begin~hotspot:vmops__end/{arg0:s}' \
		-u 'hotspot:thread__start(name=arg0:s)' -- "$java" -Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmn1m \
		"-Xlog:gc:file=$tmp/gc.log" sun.security.tools.keytool.Main -list -cacerts -storepass changeit \
		>"$tmp/java.out" 2>"$tmp/java.err"
	check_agree java "$tmp/java"
	check_account java "$tmp/java.sum"
	check "java collects" test "$(grep -c Pause "$tmp/gc.log")" -gt 0
	equal "collections as the JVM logs them" "$(lines java '"name":"hotspot:gc"' '"ph":"b"')" "$(grep -c Pause "$tmp/gc.log")"
	equal "each inside of an operation of the VM" "$(lines java '"name":"GenCollect' '"ph":"B"')" "$(grep -c Pause "$tmp/gc.log")"
fi

# --- Ruby 3.1 ------------------------------------------------------------------------------------
ruby=/usr/bin/ruby3.1
if ! [ -x $ruby ] || ! has_probe "$(ldd $ruby | awk '/libruby/ { print $3 }')" ruby:gc__mark__begin; then
	skip "ruby3.1" "it is not installed"
else
	cat >"$tmp/program.rb" <<-'END'
		5.times { GC.start }
		17.times { |i| [3, 1, 2].rotate(i) }
		require 'set'
		puts "all #{GC.count}"
	END
	timeout 60 "$proftrace" -e none -o "$tmp/ruby" --summary-json "$tmp/ruby.sum" \
		-u 'ruby:gc__mark__begin~ruby:gc__mark__end' -u 'ruby:require__entry~ruby:require__return/require {arg0:s}' \
		-u 'ruby:cmethod__entry(file=arg2:s,line=arg3)~ruby:cmethod__return/{arg0:s}#{arg1:s}' \
		-- $ruby --disable-gems "$tmp/program.rb" >"$tmp/ruby.out" 2>"$tmp/ruby.err"
	check_agree ruby "$tmp/ruby"
	equal "ruby: the account adds up" "$(field "$tmp/ruby.sum" adds_up)" true
	equal "methods in C, by class and name" "$(lines ruby '"name":"Array#rotate"' '"ph":"B"')" 17
	equal "with file and line" "$(lines ruby '"name":"Array#rotate"' "\"file\":\"$tmp/program.rb\",\"line\":2")" 17
	equal "collections as GC counts them" "$(lines ruby '"name":"ruby:gc__mark"' '"ph":"B"')" "$(said "$tmp/ruby.out" all)"
	equal "required files" "$(lines ruby '"name":"require set"' '"ph":"B"')" 1
fi
finish
