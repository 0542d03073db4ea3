#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CMake and Meson find the header where it was installed, and refuse an installed version that is too old.
. "$(dirname "$0")/lib.sh"
need cmake meson ninja
check "install" make -s -C "$root" install DESTDIR= PREFIX="$tmp/prefix"
version=$("$proftrace" --version | sed -n '1s/proftrace //p')
cp "$root/tools/samples/hello.c" "$tmp"
cat >"$tmp/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.10)
project(hello C)
find_package(proftrace \${WANTED} REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello PRIVATE proftrace::proftrace)
END
cmake="cmake -S $tmp -B $tmp/cmake -DCMAKE_PREFIX_PATH=$tmp/prefix"
check "CMake: finds it" $cmake -DWANTED="$version"
check "CMake: builds" cmake --build "$tmp/cmake"
equal "CMake: the program has markers" "$("$proftrace" list "$tmp/cmake/hello" | grep -c tick)" 1
$cmake -DWANTED=99 >"$tmp/out" 2>&1
equal "CMake: not a newer one" "$?/$(grep -c "version: $version" "$tmp/out")" 1/1
cat >"$tmp/meson.build" <<END
project('hello', 'c')
executable('hello', 'hello.c', dependencies: dependency('proftrace', version: '>=$version'))
END
export PKG_CONFIG_PATH=$tmp/prefix/share/pkgconfig
check "Meson: finds it" meson setup "$tmp/meson" "$tmp"
check "Meson: builds" ninja -C "$tmp/meson"
equal "Meson: the program has markers" "$("$proftrace" list "$tmp/meson/hello" | grep -c tick)" 1
check "uninstall" make -s -C "$root" uninstall DESTDIR= PREFIX="$tmp/prefix"
finish
