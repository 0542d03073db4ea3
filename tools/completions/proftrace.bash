# SPDX-License-Identifier: BSD-2-Clause
# bash completion for proftrace. The program knows the words: user/cmd/complete.c.

# bash puts a reply into the command line as it is, and any user of the machine may have chosen it: the name of a process.
_proftrace_reply() { # WORD WITHIN_QUOTES
	# What %q prints in this locale is ASCII, and means the same in all.
	local LC_ALL=C
	if [[ $1 != *[!a-zA-Z0-9_.,:/=@%+-]* ]]; then
		COMPREPLY+=("$1")
	elif [ -z "$2" ]; then
		printf -v "COMPREPLY[${#COMPREPLY[@]}]" %q "$1"
	fi
}

_proftrace() {
	local word=${COMP_WORDS[COMP_CWORD]} line reply words=() quoted= rest i
	for ((i = 1; i < COMP_CWORD; i++)); do
		# bash takes "--mode=exact" for three words.
		[ "${COMP_WORDS[i]}" = = ] || words+=("${COMP_WORDS[i]}")
	done
	[ "$word" != = ] || word=
	# Quotes are removed without evaluation, because what was completed before may be part of the word.
	if [[ ${word//\\?/} == *[\'\"]* ]]; then
		quoted=yes
		word=${word#[\'\"]}
	else
		rest=$word word=
		while [[ $rest == *\\* ]]; do
			word+=${rest%%\\*}
			rest=${rest#*\\}
			word+=${rest:0:1}
			rest=${rest:1}
		done
		word+=$rest
	fi
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		$'\t'files)
			compopt -o default
			;;
		$'\t'command*)
			for ((i = 1; i < COMP_CWORD; i++)); do
				[ "${COMP_WORDS[i]}" != -- ] || break
			done
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
				while IFS= read -r reply; do
					_proftrace_reply "$reply" "$quoted"
				done < <(compgen -c -- "$word")
			else
				compopt -o default
			fi
			;;
		*)
			_proftrace_reply "${line%%$'\t'*}" "$quoted"
			;;
		esac
	done < <(proftrace --complete "${words[@]}" "$word" 2>/dev/null)
}

complete -F _proftrace proftrace
