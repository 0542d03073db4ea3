# SPDX-License-Identifier: BSD-2-Clause
#
#	make            build/proftrace
#	make demo       record a real program, end with a trace and a table
#	make test       every test
#	make install    DESTDIR and PREFIX as usual
#	make bench      what proftrace costs
#	make fuzz       fuzz every parser of foreign bytes, for as long as FUZZ_TIME says
#
# `demo` and `test` install the packages they need where these are missing (tools/packages.sh).

VERSION := 0.1.0
B := build
PREFIX ?= /usr/local
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PROTOC_C ?= protoc-c
ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

WARN := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wpointer-arith \
	-Wwrite-strings -Wvla -Wformat=2 -Wno-format-nonliteral
CPPFLAGS := -D_GNU_SOURCE -DPROFTRACE_VERSION='"$(VERSION)"' -Iuser -Iinclude -Ibpf -I$B/gen
CFLAGS ?= -O2 -g
CSTD := -std=gnu11
LIBS := -lbpf -lelf -lz -lprotobuf-c -lyajl -lpthread
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

SOURCES := $(filter-out user/main.c,$(wildcard user/*.c user/*/*.c))
GENERATED := $B/gen/proftrace.skel.h $B/gen/perfetto_trace.pb-c.h
OBJECTS := $(SOURCES:%.c=$B/obj/%.o) $B/obj/gen/perfetto_trace.pb-c.o
ASAN_OBJECTS := $(SOURCES:%.c=$B/asan/%.o) $B/asan/gen/perfetto_trace.pb-c.o

.DEFAULT_GOAL := all
.PHONY: all demo test install uninstall bench fuzz clean format check-format packages
.DELETE_ON_ERROR:
.SECONDARY:

all: $B/proftrace

# --- generated files ---------------------------------------------------------------------------

$B/gen/vmlinux.h:
	@mkdir -p $(@D)
	$(BPFTOOL) btf dump file /sys/kernel/btf/vmlinux format c > $@

$B/gen/proftrace.bpf.o: bpf/proftrace.bpf.c $(wildcard bpf/*.h bpf/*.c) $B/gen/vmlinux.h
	$(CLANG) -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror -mcpu=v3 -Ibpf -I$B/gen -c $< -o $@

$B/gen/proftrace.skel.h: $B/gen/proftrace.bpf.o
	$(BPFTOOL) gen skeleton $< name proftrace_bpf > $@

$B/gen/%.pb-c.c $B/gen/%.pb-c.h: proto/%.proto
	@mkdir -p $(@D)
	$(PROTOC_C) --proto_path=proto --c_out=$B/gen $<

# --- the program -------------------------------------------------------------------------------

$B/obj/gen/%.o: $B/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CSTD) $(CFLAGS) -c $< -o $@

$B/asan/gen/%.o: $B/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CSTD) -O1 -g $(SANITIZE) -c $< -o $@

$B/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CSTD) $(CFLAGS) $(WARN) -MMD -MP -c $< -o $@

$B/asan/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CSTD) -O1 -g $(WARN) $(SANITIZE) -MMD -MP -c $< -o $@

$B/libproftrace.a: $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$B/asan/libproftrace.a: $(ASAN_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$B/proftrace: $B/obj/user/main.o $B/libproftrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LIBS)

# --- tests -------------------------------------------------------------------------------------

UNIT := $(patsubst tests/unit/%.c,$B/tests/unit/%,$(wildcard tests/unit/test_*.c))

$B/tests/unit/%: $B/asan/tests/unit/%.o $B/asan/libproftrace.a
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) $^ -o $@ -lcmocka $(LIBS)

unit: $(UNIT)
	@for t in $(UNIT); do echo "== $$t"; $$t || exit 1; done

clean:
	rm -rf $B

FORMATTED = $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp')

format:
	clang-format -i $(FORMATTED)

check-format:
	clang-format --dry-run --Werror $(FORMATTED)

-include $(OBJECTS:.o=.d) $(ASAN_OBJECTS:.o=.d)
