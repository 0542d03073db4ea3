# SPDX-License-Identifier: BSD-2-Clause
# fish completion for proftrace. The program knows the words: user/cmd/complete.c.

function __proftrace_complete
    set -l words (commandline -opc)[2..]
    set -l typed (commandline -ct)
    # What was completed before is quoted.
    set -l word (string unescape -- $typed); or set word $typed
    for line in (proftrace --complete $words "$word" 2>/dev/null)
        switch $line
            case \tfiles
                __fish_complete_path "$typed"
            case \t'command *'
                set -l first (math 1 + (string replace \t'command ' '' -- $line))
                complete -C (string join ' ' -- (string escape -- $words[$first..]) "$typed")
            case '*'
                # fish quotes the word for the command line.
                printf '%s\n' $line
        end
    end
end

complete -c proftrace -f -k -a '(__proftrace_complete)'
