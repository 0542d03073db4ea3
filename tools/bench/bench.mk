# SPDX-License-Identifier: BSD-2-Clause
#
# `make bench`: what proftrace costs (tools/bench/bench.c says how it is measured). Included by the
# Makefile.
#
#	BENCH_QUICK=1		two minutes instead of ten
#	BENCH_ONLY=peers	only one part: program, annotations, python, rust, growth, or one of those in bench.c
#	BENCH_PEERS=install	installs the tools that it is compared to where Debian has them

BENCH := $B/bench
BENCH_USES := 10 1000 10000
BENCH_DRIVER := $(patsubst tools/%.c,$B/obj/tools/%.o,$(addprefix tools/bench/,\
	bench.c results.c print.c chart.c subject.c empty.c recorder.c conditions.c events.c counters.c attach.c rate.c cost.c peers.c compare.c foreign.c samples.c spent.c))
BENCH_TARGET := $(addprefix $(BENCH)/obj/,target.o loops.o loops_compiled_out.o loops_foreign.o loops_made.o loops_stack.o marks.o marks_physical.o)
BENCH_PROGRAMS := $(BENCH)/bench $(BENCH)/marks $(BENCH)/functions $(BENCH)/timed $(BENCH_USES:%=$(BENCH)/uses-%) \
	$(if $(wildcard /usr/include/lttng/tracepoint.h /usr/include/*/lttng/tracepoint.h),$(BENCH)/lttng)
BENCH_CC = $(CC) -D_GNU_SOURCE $(CSTD) -O2 -g -Wall -Wextra -Werror -Iinclude -Itools/bench

.PHONY: bench bench-programs

bench: packages
	@$(if $(filter install,$(BENCH_PEERS)),tools/bench/peers.sh --install)
	+$(MAKE) --no-print-directory all bench-programs
	@BENCH_QUICK=$(BENCH_QUICK) BENCH_ONLY="$(BENCH_ONLY)" tools/bench/bench.sh

bench-programs: $(BENCH_PROGRAMS)

# `make test` builds the bench, because changes in other folders can break its build; it does not run it.
check: $(BENCH)/bench

$(BENCH)/bench: $(BENCH_DRIVER) $B/libproftrace.a
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LIBS)

$(BENCH)/obj/%.o: tools/bench/%.c tools/bench/target.h include/proftrace.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(BENCH_CC) -c $< -o $@

$(BENCH)/obj/loops_compiled_out.o: tools/bench/loops.c tools/bench/target.h include/proftrace.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(BENCH_CC) -DPROFTRACE_DISABLE -c $< -o $@

$(BENCH)/obj/loops_stack.o: tools/bench/loops_stack.c tools/bench/target.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(BENCH_CC) -fno-omit-frame-pointer -fno-optimize-sibling-calls -c $< -o $@

$(BENCH)/obj/loops_functions.o: tools/bench/loops_functions.c tools/bench/target.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(BENCH_CC) -pg -c $< -o $@

$(BENCH)/obj/uses-%.c: tools/bench/uses.sh
	@mkdir -p $(@D)
	$(Q)$< $* > $@

$(BENCH)/obj/uses-%.o: $(BENCH)/obj/uses-%.c include/proftrace.h
	@echo "  CC    $@"
	$(Q)$(BENCH_CC) -O1 -g0 -c $< -o $@

$(BENCH)/marks: $(BENCH_TARGET)
	@echo "  CC    $@"
	$(Q)$(CC) $^ -o $@ -lpthread

$(BENCH)/uses-%: $(BENCH_TARGET) $(BENCH)/obj/uses-%.o
	@echo "  CC    $@"
	$(Q)$(CC) $^ -o $@ -lpthread

$(BENCH)/functions: $(addprefix $(BENCH)/obj/,target.o loops_functions.o)
	@echo "  CC    $@"
	$(Q)$(CC) $^ -o $@ -lpthread

$(BENCH)/lttng: $(addprefix $(BENCH)/obj/,target.o loops_lttng.o)
	@echo "  CC    $@"
	$(Q)$(CC) $^ -o $@ -llttng-ust -ldl -lpthread

$(BENCH)/timed: tools/bench/timed.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(BENCH_CC) $< -o $@

-include $(BENCH_DRIVER:.o=.d)
