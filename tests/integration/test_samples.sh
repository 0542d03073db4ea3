#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The programs that people copy from: what they say they marked is what a recording of them holds.
. "$(dirname "$0")/lib.sh"
need_tracing
samples=$root/build/samples

mkdir "$tmp/tree" && cp -r "$root/user" "$root/include" "$tmp/tree"
cd "$tmp" || exit 1
"$proftrace" -q -o all --summary-json all.account -- "$samples/compress" -n 3 -j 4 -o archive.gz tree >said
equal "compress: exit status" $? 0
check_account "compress" all.account
equal "compress: every mark it passed" "$(field all.account marked)" "$(said said marks)"
equal "compress: its files" "$(said said files)" $((3 * $(find tree -type f | wc -l)))
find tree -type f -exec cat {} + | wc -c >wanted
equal "compress: nothing of them is missing" "$(gzip -dc archive.gz | wc -c)" "$(cat wanted)"
check_agree "compress" all
equal "compress: nothing is open at the end" "$(field all.account open_at_end)" 0

"$proftrace" -q -D '!queue' -D '!memory' -o some --summary-json some.account -- \
	"$samples/compress" -o archive.gz tree >said
# A file passes 8 marks of queues and 4 of memory; a thread's last look into its queue is 2 more.
equal "compress: without two of its domains" "$(field some.account marked)" \
	$(($(said said marks) - 12 * $(said said files) - 2 * 3))

for hello in hello hello-cpp; do
	"$proftrace" -q -o $hello --summary-json $hello.account -- "$samples/$hello"
	equal "$hello: exit status" $? 0
	equal "$hello: every mark it passed" "$(field $hello.account marked)" 200
	check "$hello: its name" sh -c "'$proftrace' report $hello.pftrace | grep -qE 'tick +100'"
done
finish
