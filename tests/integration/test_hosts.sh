#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts, which are network namespaces with clocks that are days apart and programs that send messages to each other.
# What merge says of the error between their clocks is true: they are one kernel's, so the right shift is 0.
. "$(dirname "$0")/lib.sh"
need_tracing
if ! unshare --fork --net --uts --mount --time --monotonic 86400 ip link set lo up 2>/dev/null; then
	skip "two hosts" "there are no such namespaces here"
	finish
fi
cd "$tmp" || exit 1
messages=200

# A host has a name, a network, a boot and clocks of its own. Its recorder does not know that there is another one.
host() { # NAME SHIFT COMMAND...
	name=$1 shift=$2
	shift 2
	echo "$name-0000-4000-8000-000000000000" >boot-$name
	exec unshare --fork --net --uts --mount --time --monotonic "$shift" --boottime "$shift" sh -c '
		hostname "$0" && mount --bind "boot-$0" /proc/sys/kernel/random/boot_id && ip link set lo up &&
			echo "namespace $$" >"$0.at" && until [ -e connected ]; do sleep 0.02; done && exec "$@"' "$name" "$@"
}
host one 864000 "$proftrace" -q -e none --strict -o one -- "$programs/pings" 7777 >one.out 2>one.err &
one=$!
host two 5000 sh -c 'until grep -q ready one.out; do sleep 0.02; done && exec "$@"' - \
	"$proftrace" -q -e none --strict -o two -- "$programs/pings" 7777 10.77.0.1 $messages >two.out 2>two.err &
two=$!
wait_for one.at namespace
wait_for two.at namespace
inside_one=$(said one.at namespace) inside_two=$(said two.at namespace)
ip link add pt-one-$$ type veth peer name pt-two-$$ && ip link set pt-one-$$ netns "$inside_one" &&
	ip link set pt-two-$$ netns "$inside_two" &&
	nsenter -t "$inside_one" --net sh -c "ip addr add 10.77.0.1/24 dev pt-one-$$ && ip link set pt-one-$$ up" &&
	nsenter -t "$inside_two" --net sh -c "ip addr add 10.77.0.2/24 dev pt-two-$$ && ip link set pt-two-$$ up"
connected=$?
if [ $connected -ne 0 ]; then
	skip "two hosts" "they cannot be connected here"
	kill "$inside_one" "$inside_two"
	wait
	finish
fi
touch connected
wait $one
status=$?
wait $two
equal "both are recorded" "$status $?" "0 0"
equal "each message has arrived" "$(said two.out asked) $(said one.out answered)" "$messages $messages"

# What merge has shifted the second trace by, and at most how wrong it says that is, in ns.
merged() { # OPTION... TRACE TRACE
	"$proftrace" merge -o merged "$@" 2>merge.err
	line=$(grep '^two' merge.err)
	shifted=$(echo "$line" | sed -n 's/^[^:]*: \([-+][0-9.]*\) s,.*/\1/p' | awk '{ printf "%.0f", $1 * 1e9 }')
	error=$(echo "$line" | sed -n 's/.*error at most \([0-9.]* [a-z]*\).*/\1/p' |
		awk '{ unit["ns"] = 1; unit["us"] = 1e3; unit["ms"] = 1e6; unit["s"] = 1e9; printf "%.0f", $1 * unit[$2] * 1.001 + 1 }')
}
is_true() { # NAME HOW
	check "$1: $2" grep -q "^two.*$2" merge.err
	never_else "$1: the shift of ${shifted#-} ns is right within the $error ns that it says" \
		"$([ "${shifted#[-+]}" -le "$error" ] && echo yes || echo "$line")" yes
}

# No message is received before it was sent: how many messages there are, and how many are.
out_of_order() {
	"$canon" merged.json | awk '
		$3 == "FLOW_OUT" { sent[$5] = $4 }
		$3 == "FLOW_IN" { received[$5] = $4 }
		END { for (id in sent) { n++; wrong += !(received[id] >= sent[id]) } print n + 0, wrong + 0 }'
}

merged one.pftrace two.pftrace
if grep -q '^two.*error at most' merge.err; then
	is_true "clocks as they are" "by the realtime clocks, error at most"
else
	check "clocks as they are: that nothing is known is said" grep -q '^two.*error unknown: not both' merge.err
fi
never_else "clocks as they are: one kernel's are at most a millisecond apart" "$([ "${shifted#[-+]}" -lt 1000000 ] && echo yes || echo "$line")" yes

# The second host's clock is 3 ms ahead, and both know how wrong they may be.
ahead() { # NS BOUND_OF_ONE BOUND_OF_TWO
	sed "1,3s/\"clock_error_ns\":\"[0-9]*\"/\"x\":\"\"/; 1,3s/\"boot_id\":/\"clock_error_ns\":\"$2\",&/" one.json >one-wrong.json
	realtime=$(sed -n '1,3s/.*"realtime":"\([0-9]*\)".*/\1/p' two.json | head -1)
	sed "1,3s/\"clock_error_ns\":\"[0-9]*\"/\"x\":\"\"/; 1,3s/\"boot_id\":/\"clock_error_ns\":\"$3\",&/
		s/\"realtime\":\"$realtime\"/\"realtime\":\"$((realtime + $1))\"/" two.json >two-wrong.json
}
ahead 3000000 2000000 1500000
merged one-wrong.json two-wrong.json
is_true "3 ms ahead, 2 and 1.5 ms known" "by the realtime clocks, error at most 3.500 ms"
never_else "3 ms ahead: it is shifted by so much" "$([ "$shifted" -gt 2000000 ] && echo yes || echo "$line")" yes

# The messages say more.
merged --join-flows one-wrong.json two-wrong.json
is_true "by messages" "by $messages messages to it and $messages from it, error at most"
never_else "by messages: none is received before it was sent" "$(out_of_order)" "$((2 * messages)) 0"
merged --join-flows one.pftrace two.pftrace
is_true "by messages, Perfetto" "by $messages messages to it and $messages from it, error at most"
# A clock that is known better than a message takes, and is right.
ahead 0 100 100
merged --join-flows one-wrong.json two-wrong.json
check "clocks that are known better" grep -q '^two.*by the realtime clocks, error at most 200 ns$' merge.err
finish
