# SPDX-License-Identifier: BSD-2-Clause
# bash completion for proftrace. The program knows the words: user/cmd/complete.c.

_proftrace() {
	local word=${COMP_WORDS[COMP_CWORD]} line words=() i
	for ((i = 1; i < COMP_CWORD; i++)); do
		# bash takes "--mode=exact" for three words.
		[ "${COMP_WORDS[i]}" = = ] || words+=("${COMP_WORDS[i]}")
	done
	[ "$word" != = ] || word=
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o default
			;;
		:command*)
			for ((i = 1; i < COMP_CWORD; i++)); do
				[ "${COMP_WORDS[i]}" != -- ] || break
			done
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
				COMPREPLY=($(compgen -c -- "$word"))
			else
				compopt -o default
			fi
			;;
		*)
			COMPREPLY+=("${line%%$'\t'*}")
			;;
		esac
	done < <(proftrace --complete "${words[@]}" "$word" 2>/dev/null)
}

complete -F _proftrace proftrace
