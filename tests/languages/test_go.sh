#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Marks from Go (bindings/go): on threads and in goroutines that move between them.
. "$(dirname "$0")/lib.sh"
if ! command -v go >/dev/null; then
	skip "Go" "it is not installed (golang-go)"
	finish
fi
need_tracing
install_library
export GOFLAGS=-mod=mod GOPROXY=off GOCACHE="$installed/go-cache"
built=$installed/go
mkdir -p "$built"
for where in bindings/go tests/languages/go; do
	cd "$root/$where" || exit 1
	equal "$where: gofmt" "$(gofmt -l .)" ""
	build "$where: go vet" go vet ./...
done
cd "$root/bindings/go" && build "the sample: go build" go build -o "$built/sample" ./sample
cd "$root/tests/languages/go" && build "go build" go build -o "$built/marks" .
cd "$root" || exit 1
[ $failures -eq 0 ] || finish

check_marks "$built/marks"
check_sample "ASYNC_BEGIN request 100
BEGIN sieve 100" "$built/sample"
finish
