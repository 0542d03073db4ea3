#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools/bench/uses.sh N: C source with N uses of markers, spread over functions of a hundred each.
# Nobody calls them; what they cost to attach to is the question.
awk -v n="$1" 'BEGIN {
	print "#include <proftrace.h>"
	for (i = 0; i < n; i++) {
		if (i % 100 == 0)
			printf "%svoid uses_%d(long x);\nvoid uses_%d(long x)\n{\n", i ? "}\n" : "", i / 100, i / 100
		kind = i % 5
		if (kind == 0)
			printf "\tPROF_BEGIN(\"use %d\");\n", i
		else if (kind == 1)
			printf "\tPROF_INSTANT(\"use %d\", \"x\", x);\n", i
		else if (kind == 2)
			printf "\tPROF_COUNTER(\"use %d\", x);\n", i
		else if (kind == 3)
			printf "\tPROF_FLOW_OUT(x);\n"
		else
			printf "\tPROF_END(\"x\", x, \"text\", \"a string\");\n"
	}
	print "}"
}'
