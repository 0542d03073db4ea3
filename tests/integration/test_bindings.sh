#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libproftrace.so: what a program does by its functions is in both traces, and what another language does with them.
. "$(dirname "$0")/lib.sh"
need_tracing

events() { # FILE, as in test_objects.sh
	"$canon" "$1" | awk '
		$3 == "BEGIN" || $3 == "INSTANT" || $3 == "ASYNC_BEGIN" || $3 ~ /_AT$/ {
			n[$3 " " $5 " " $6 " " ($1 == 0 ? "global" : $2 == 0 ? "process" : "thread")]++
		}
		END { for (i in n) print i, n[i] }'
	"$canon" --count "$1" | grep '^COUNTER '
}
modes=exact
if has_batches; then
	modes="exact batch-now"
fi
for mode in $modes; do
	"$proftrace" record -q -e none --mode "$mode" -o "$tmp/t" --summary-json "$tmp/s" -- "$programs/linked" 4 25 >"$tmp/out"
	equal "$mode: exit status" $? 0
	check_account "$mode" "$tmp/s"
	equal "$mode: marks" "$(field "$tmp/s" marked)" "$(said "$tmp/out" marks)"
	check_agree "$mode" "$tmp/t"
	sed -n 's/^saw //p' "$tmp/out" | sort >"$tmp/wanted"
	for kind in json pftrace; do
		events "$tmp/t.$kind" | sort >"$tmp/got"
		check "$mode, $kind: what happened" diff "$tmp/wanted" "$tmp/got"
		equal "$mode, $kind: arguments of a slice" "$("$canon" "$tmp/t.$kind" |
			grep -c ' BEGIN [0-9]* slice net int=n:-1 double=d:0.5 text=s:"text" more=n:4 more=n:5 more=n:6 more=n:7$')" 100
	done
done

if ! command -v python3 >/dev/null; then
	skip "by ctypes" "no python3"
	finish
fi
cat >"$tmp/binding.py" <<'END'
import ctypes, sys, threading

lib = ctypes.CDLL(sys.argv[1])
for f in "domain_get", "task_get":
    getattr(lib, "proftrace_" + f).restype = ctypes.c_void_p
lib.proftrace_domain_semaphore.restype = ctypes.POINTER(ctypes.c_uint32)

class Arg(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("type", ctypes.c_uint64), ("bits", ctypes.c_uint64)]

domain = ctypes.c_void_p(lib.proftrace_domain_get(b"python"))
on = lib.proftrace_domain_semaphore(domain)
if not on[0]:
    sys.exit("nobody records")

def work(number):
    for i in range(50):
        task = ctypes.c_void_p(lib.proftrace_task_get(domain, b"task %d" % (i % 5)))
        args = (Arg * 10)(*(Arg(b"key%d" % k, 1, i + k) for k in range(10)))
        lib.proftrace_task_start(task)
        lib.proftrace_begin(domain, b"slice", args, ctypes.c_size_t(10))
        lib.proftrace_end(domain, None, ctypes.c_size_t(0))
        lib.proftrace_task_stop(task)

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
END
"$proftrace" record -q -e none -o "$tmp/t" --summary-json "$tmp/s" -- python3 "$tmp/binding.py" "$root/build/lib/libproftrace.so.1" 2>"$tmp/err"
equal "by ctypes: exit status" $? 0
check_account "by ctypes" "$tmp/s"
for kind in json pftrace; do
	"$canon" --count "$tmp/t.$kind" | grep -E '^BEGIN (task|slice)' | sort >"$tmp/got"
	{ echo "BEGIN slice 200"; for i in 0 1 2 3 4; do echo "BEGIN task $i 40"; done; } | sort >"$tmp/wanted"
	check "by ctypes, $kind: slices" diff "$tmp/wanted" "$tmp/got"
	equal "by ctypes, $kind: ten arguments each" "$("$canon" "$tmp/t.$kind" |
		grep -c ' slice python key0=n:[0-9]* key1=n:[0-9]* .* key9=n:[0-9]*$')" 200
done
finish
