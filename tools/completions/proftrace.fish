# SPDX-License-Identifier: BSD-2-Clause
# fish completion for proftrace. The program knows the words: user/cmd/complete.c.

function __proftrace_complete
    set -l words (commandline -opc)[2..]
    for line in (proftrace --complete $words (commandline -ct) 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path (commandline -ct)
            case ':command *'
                set -l first (math 1 + (string replace ':command ' '' -- $line))
                complete -C (string join ' ' -- (string escape -- $words[$first..]) (commandline -ct))
            case '*'
                echo $line
        end
    end
end

complete -c proftrace -f -k -a '(__proftrace_complete)'
