#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Marks from Java (bindings/java): on threads and in tasks that move between them.
. "$(dirname "$0")/lib.sh"
if ! command -v javac >/dev/null; then
	skip "Java" "there is no compiler (openjdk-17-jdk-headless)"
	finish
fi
need_tracing
install_library
package=$installed/java
copy_binding java "$package"
build "make" make -C "$package"
build "javac" javac -encoding UTF-8 -Xlint:all,-try -Werror -d "$package/tests" -cp "$package/proftrace.jar" \
	"$root/tests/languages/java/Marks.java" "$root/bindings/java/sample/Server.java"
[ $failures -eq 0 ] || finish

java="java -Dstdout.encoding=UTF-8 -Dfile.encoding=UTF-8 -Djava.library.path=$package -cp $package/proftrace.jar:$package/tests"
check_marks $java Marks
check_sample "ASYNC_BEGIN request 100
BEGIN sieve 100" $java Server
LD_LIBRARY_PATH='' $java Marks 1 10 10 1 >"$tmp/out" 2>&1
equal "without the library: nothing happens" "$? $(cut -d: -f1 "$tmp/out")" '0 expected {"marks"'
finish
