#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make install` installs complete and usable files, and the documentation agrees with the code.
. "$(dirname "$0")/lib.sh"
dest=$tmp/dest

check "install" make -s -C "$root" install DESTDIR="$dest" PREFIX=/usr
for file in bin/proftrace include/proftrace.h include/proftrace/handler.h include/proftrace/mutex.h \
	include/proftrace/runtime.h lib/libproftrace.so lib/pkgconfig/libproftrace.pc share/pkgconfig/proftrace.pc \
	share/bash-completion/completions/proftrace share/zsh/site-functions/_proftrace \
	share/fish/vendor_completions.d/proftrace.fish share/cmake/proftrace/proftraceConfig.cmake \
	share/cmake/proftrace/proftraceConfigVersion.cmake share/man/man1/proftrace.1 share/man/man3/proftrace.3 share/man/man3/proftrace-mutex.3 \
	share/man/man3/libproftrace.3 share/doc/proftrace/bench-workflow.yml share/man/man7/proftrace-annotations.7 \
	lib/libproftrace-annotations.so lib/systemd/system/proftrace.service share/doc/proftrace/serve.conf; do
	check "installed: $file" test -s "$dest/usr/$file"
done
version=$("$dest/usr/bin/proftrace" --version | head -1)
export PKG_CONFIG_PATH=$dest/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
equal "pkg-config: the version" "proftrace $(pkg-config --modversion proftrace)" "$version"
check "pkg-config: a program compiles with what it says" \
	cc $(pkg-config --cflags proftrace) "$root/tools/samples/hello.c" -o "$tmp/hello"
check "the program that was compiled with it has markers" "$dest/usr/bin/proftrace" list "$tmp/hello"

# The library has what its header declares, and nothing else.
export PKG_CONFIG_PATH=$dest/usr/lib/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
check "pkg-config: a program links with the library" \
	cc "$root/tests/integration/programs/linked.c" $(pkg-config --cflags --libs libproftrace) -o "$tmp/linked" -lpthread
equal "and runs with it" "$(LD_LIBRARY_PATH=$dest/usr/lib "$tmp/linked" 1 1 | tail -1)" "done"
grep -o 'proftrace_[a-z_]*(' "$root/include/proftrace/runtime.h" | tr -d '(' | sort -u >"$tmp/declared"
nm -D --defined-only "$dest/usr/lib/libproftrace.so" | sed -n 's/.* T \(.*\)@@PROFTRACE_[0-9]*$/\1/p' | sort >"$tmp/exported"
check "the library: its functions are those of the header" diff "$tmp/declared" "$tmp/exported"
equal "the library: needs libc alone" "$(readelf -d "$dest/usr/lib/libproftrace.so" | grep -c 'NEEDED.*libc\.so')/$(readelf -d "$dest/usr/lib/libproftrace.so" | grep -c NEEDED)" 1/1
export PKG_CONFIG_PATH=$dest/usr/share/pkgconfig
annotations=$dest/usr/lib/libproftrace-annotations.so
equal "annotations: needs libc alone" "$(readelf -d "$annotations" | grep NEEDED | grep -vc 'libc\.so\|ld-linux')" 0
equal "annotations: has the functions that NVTX and ITT look for" "$(nm -D --defined-only "$annotations" | sed 's/.* //' | sort | xargs)" \
	"InitializeInjectionNvtx2 InitializeInjectionNvtxExtension __itt_api_fini __itt_api_init proftrace_annotations"

# Each long option of a verb's --help is in its manual page and in the completion, and no others are.
in_help() {
	"$proftrace" "$1" --help | grep -oE '^ {2,6}(-., )?--[a-z-]+' | grep -oE -e '--[a-z-]+' |
		grep -vxE -e '--(help|usage|version)' | sort -u
}
in_page() {
	grep -oE '^(\*-.\*, )?\*--[a-z-]+' "$root/tools/man/proftrace-$1.1.scd" | grep -oE -e '--[a-z-]+' |
		grep -vxE -e '--(help|usage)' | sort -u
}
# What each shell shows for "proftrace VERB --".
in_completion() { # SHELL VERB
	case $1 in
	bash)
		bash -c '. "$1"; COMP_WORDS=(proftrace "$2" --) COMP_CWORD=2; _proftrace; printf "%s\n" "${COMPREPLY[@]}"' - \
			"$root/tools/completions/proftrace.bash" "$2"
		;;
	zsh)
		zsh -f -c '_describe() { print -l -- "${found[@]%%:*}"; }; words=(proftrace "$2" --) CURRENT=3 PREFIX=--; . "$1"' - \
			"$root/tools/completions/_proftrace" "$2"
		;;
	fish)
		fish --no-config -c 'source $argv[1]; complete -C "proftrace $argv[2] --" | string replace -r "\t.*" ""' \
			"$root/tools/completions/proftrace.fish" "$2"
		;;
	esac 2>&1 | grep -vx -e --help | sort -u
}
verbs=$("$proftrace" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
check "--help names verbs" test "$(echo "$verbs" | wc -l)" -ge 4
for verb in $verbs; do
	equal "$verb: its options are in the manual page" "$(in_page $verb)" "$(in_help $verb)"
done
PATH=$dest/usr/bin:$PATH
for shell in bash zsh fish; do
	command -v $shell >/dev/null || { skip "$shell completes the options of each verb" "there is no $shell"; continue; }
	equal "$shell completes the options of each verb" \
		"$(for verb in $verbs; do in_completion $shell $verb; done | grep .)" "$(for verb in $verbs; do in_help $verb; done)"
done
complete() { # WORD...: what the program says about the last one
	proftrace --complete "$@" | sed 's/^\t/:/' | cut -f1 | xargs
}
equal "completion: verbs" "$(complete "")" "$(echo $verbs)"
equal "completion: the value of an option" "$(complete report --sort p)" "p50 p95 p99"
equal "completion: in one word" "$(complete --mode=e)" "--mode=exact"
equal "completion: the last item of a list" "$(complete -e cycles,in)" "cycles,instructions"
equal "completion: what differs between verbs" "$(complete diff --format m) $(complete report --format c)" "markdown csv"
equal "completion: processes" "$(complete -p 1,$$)" "1,$$"
equal "completion: files" "$(complete report x)" :files
equal "completion: the words of a command are its own" "$(complete -o x -- ls --sort p)" ":command 3"
# Everybody chooses names of processes. What a shell offers is the name, and no name is a line that is for the script.
mkfifo "$tmp/hold" && exec 8<>"$tmp/hold"
named() { # NAME: a process that has it; its PID is added to $processes
	cp "$programs/waits" "$tmp/$1"
	"$tmp/$1" 1 <"$tmp/hold" >"$tmp/out" 2>&1 8>&- &
	processes="$processes $!"
	for _ in $(seq 200); do
		[ "$(cat "/proc/$!/comm")" = "$1" ] && return
		sleep 0.05
	done
}
offered() { # SHELL TYPED: in the directory in which a script named x would leave its trace
	case $1 in
	bash)
		bash --norc -c 'compopt() { echo "directive"; }; . "$1"; COMP_WORDS=(proftrace record -n "$2") COMP_CWORD=3; _proftrace
			for word in "${COMPREPLY[@]}"; do eval "printf \"%s\n\" $word"; done' - "$root/tools/completions/proftrace.bash" "$2"
		;;
	zsh)
		zsh -f -c '_files() { echo directive; }; _normal() { echo directive; }; words=(proftrace record -n "$2") CURRENT=4 PREFIX=$2
			_describe() { print -rl -- "${(@)${(@)found//\\:/:}//\\\\/\\}"; }; . "$1"' - "$root/tools/completions/_proftrace" "$2"
		;;
	fish)
		fish --no-config -c 'source $argv[1]; complete -C "proftrace record -n "(string escape -- $argv[2]) | string replace -r "\t.*" ""' \
			"$root/tools/completions/proftrace.fish" "$2"
		;;
	esac 2>&1
}
cd "$tmp" || exit 1
echo 'touch "'"$tmp"'/ran"' >x
processes=
for name in 'zq$(sh x)' 'zq`sh x`' 'zq;sh x' 'zq"$(sh x)' "zq'\$(sh x)" 'zq\:' ':files' ':command 1'; do
	named "$name"
done
for shell in bash zsh fish; do
	command -v $shell >/dev/null || { skip "$shell quotes names of processes" "there is no $shell"; continue; }
	equal "$shell quotes names of processes" "$(offered $shell zq | sort | tr '\n' ' ')" \
		"$(printf '%s\n' 'zq$(sh x)' 'zq`sh x`' 'zq;sh x' 'zq"$(sh x)' "zq'\$(sh x)" 'zq\:' | sort | tr '\n' ' ')"
	equal "$shell: a name is not a line for the script" "$(offered $shell : | grep -x -e ':files' -e ':command 1' -e directive | sort | tr '\n' ' ')" ":command 1 :files "
done
if command -v bash >/dev/null; then
	equal "bash: in a word that begins with a quote" "$(offered bash '"zq')" ""
else
	skip "bash: in a word that begins with a quote" "there is no bash"
fi
check "completion runs nothing" test ! -e ran
# shellcheck disable=SC2086
kill $processes
# shellcheck disable=SC2086
wait $processes 2>"$tmp/out"
# Parsing ends at --help, without an error only if the value was accepted.
refused=$(for verb in $verbs; do
	for option in $(in_help $verb | grep -vx -e --pid); do
		for word in $(complete $verb $option ""); do
			# "slice:" is the beginning of a value.
			case $word in *:* | */*) continue ;; esac
			proftrace $verb $option "$word" --help >"$tmp/out" 2>&1 || echo "$verb $option $word"
		done
	done
done)
equal "completion: each word is a value that the option has" "$refused" ""
check "--version names libraries" grep -q '^libraries (shared): libbpf [0-9]' <<-END
	$(proftrace --version)
END

# Every reason for a loss that a summary can name is explained.
reasons=$(sed -n 's/^\t\[LOST_[A-Z_]*\] = { "\([a-z_]*\)".*/\1/p' "$root/user/timeline/account.c")
unexplained=$(for reason in $reasons; do
	grep -q "\*$reason\*" "$root/tools/man/proftrace-record.1.scd" || echo "$reason"
done)
equal "losses: there are reasons" "$([ "$(echo "$reasons" | wc -l)" -ge 9 ] && echo yes)" yes
equal "losses: each is in the manual page" "$unexplained" ""

check "uninstall" make -s -C "$root" uninstall DESTDIR="$dest" PREFIX=/usr
equal "uninstall leaves nothing" "$(find "$dest" -type f -o -type l)" ""
finish
