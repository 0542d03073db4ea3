# SPDX-License-Identifier: BSD-2-Clause
#
# `make help` prints the targets: every line below that begins with "##".
#
## make                 build/proftrace
## make demo            record a real program; write a trace, print a table
## make test            run every test (`make check` does the same without looking for packages)
## make test-kernels    run tests in emulated machines with other kernels, which are downloaded. KERNELS=... selects some
## make test-languages  run the tests of Go, Node.js, Java, PyTorch, libraries with annotations and Slurm, which are installed
## make test-packages   build the packages twice, install them and the static file in roots of distributions, which are downloaded,
##                      and try the service in an emulated machine with systemd
## make test-loader     load traces in Perfetto's own trace processor, which is downloaded
## make unit            run the unit tests. tests/run.sh NAME runs one test of any kind
## make fuzz            fuzz every parser of untrusted bytes, FUZZ_TIME seconds each
## make bench           measure the costs: tables, build/bench/results.json, build/bench/chart.svg
## make samples         build the programs with markers in tools/samples
## make man             build the manual pages in build/man
## make lib             build/lib: libproftrace.so for other languages, libproftrace-annotations.so for NVTX and ITT
## make static          build/static/proftrace: one file that needs no library. make static-arm64 crosses to arm64
## make deb             build/deb: Debian packages. make rpm: build/rpm
## make sbom            build/proftrace.spdx.json: what the program is made of, as SPDX 2.3
## make python          build/python, the Python package. Or: pip install ./bindings/python
## make install         program, headers, library, manual pages, completions; DESTDIR, PREFIX, LIBDIR. make uninstall
## make format          clang-format everything. make check-format only checks
## make compile_commands.json   for clangd and other tools that read C
## make clean           remove build/
##
## V=1 shows the commands. `demo` and `test` install missing packages (tools/packages.sh).

VERSION := 0.1.0
Q := $(if $(V),,@)
COMMA := ,
B := build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CLANG ?= clang
HOSTCC ?= cc
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PROTOC_C ?= protoc-c
ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

WARN := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wpointer-arith \
	-Wwrite-strings -Wvla -Wformat=2 -Wno-format-nonliteral
CPPFLAGS := -D_GNU_SOURCE -DPROFTRACE_VERSION='"$(VERSION)"' -Iuser -Iinclude -iquote . -I$B/gen
CFLAGS ?= -O2 -g
CSTD := -std=gnu11
# Events and facts are structures of about 200 bytes. On x86, gcc clears and copies these with `rep
# stos` and `rep movs`, which start so slowly that it was a fifth of the recorder's time per event.
TUNE := $(foreach s,memset memcpy,-m$s-strategy=vector_loop:512:noalign$(COMMA)libcall:-1:noalign)
TUNE := $(shell $(CC) $(TUNE) -x c -c /dev/null -o /dev/null 2>/dev/null && echo "$(TUNE)")
LIBS := -lbpf -ldw -lelf -liberty -lz -ldeflate -llzma -lprotobuf-c -lyajl -lncursesw -lseccomp -lm -lpthread
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

SOURCES := $(filter-out user/main.c,$(wildcard user/*.c user/*/*.c user/*/*/*.c))
PROTOS := $(patsubst proto/%.proto,%,$(wildcard proto/*.proto))
GENERATED := $B/gen/proftrace.skel.h $(PROTOS:%=$B/gen/%.pb-c.h) \
	$B/gen/built_with.h $B/gen/flame_script.h $B/gen/flame_style.h $B/gen/page_body.h $B/gen/page_script.h $B/gen/page_style.h
OBJECTS := $(SOURCES:%.c=$B/obj/%.o) $(PROTOS:%=$B/obj/gen/%.pb-c.o)
ASAN_OBJECTS := $(SOURCES:%.c=$B/asan/%.o) $(PROTOS:%=$B/asan/gen/%.pb-c.o)

.DEFAULT_GOAL := all
.PHONY: compile_commands.json all static static-arm64 deb rpm sbom test-packages lib python help demo test test-programs check check-beside test-kernels test-languages test-loader unit samples man install uninstall fuzz clean format check-format packages
.DELETE_ON_ERROR:
.SECONDARY:

all: $B/proftrace lib

help:
	@sed -n 's/^## \{0,1\}//p' Makefile

# One entry for each C file; without the generated headers clangd cannot resolve includes.
compile_commands.json: $(GENERATED)
	$(Q)flags=$$(for word in cc $(CPPFLAGS) $(CSTD) $(WARN) -c; do printf '%s\n' "$$word"; done | \
		sed 's/"/\\"/g; s/.*/"&",/' | tr -d '\n'); \
	printf '%s\n' $(SOURCES) user/main.c $(wildcard tests/*/*.c tests/*/programs/*.c tools/*/*.c) | \
		sed "s|.*|{\"directory\": \"$(CURDIR)\", \"file\": \"&\", \"arguments\": [$$(echo "$$flags" | sed 's/[\\&|]/\\&/g')\"&\"]},|" | \
		sed '1s/^/[/; $$s/,$$/]/' > $@

# --- generated files ---------------------------------------------------------------------------

# The kernel's types. BPF programs find what they need of them in any other kernel.
VMLINUX_BTF ?= /sys/kernel/btf/vmlinux
VMLINUX_RELEASE ?= $(shell uname -r)

$B/gen/vmlinux.h:
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	$(Q)$(BPFTOOL) btf dump file $(VMLINUX_BTF) format c > $@

# For `proftrace --version`.
$B/gen/built_with.h: $B/gen/vmlinux.h
	@echo "  GEN   $@"
	$(Q)printf '#define BUILT_%s "%s"\n' KERNEL '$(VMLINUX_RELEASE)' \
		CLANG "$$($(CLANG) -dumpversion)" >$@

# Runs while this is built, also for another architecture.
$B/gen/strip_bpf: tools/strip_bpf.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(HOSTCC) $(CSTD) -O2 $(WARN) $< -o $@

# Of what clang writes only the types of BTF stay, without the names of this machine's folders.
$B/gen/proftrace.bpf.o: bpf/proftrace.bpf.c $(wildcard bpf/*.[ch] bpf/*/*.[ch]) $B/gen/vmlinux.h $B/gen/strip_bpf
	@echo "  CLANG $@"
	$(Q)$(CLANG) -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror -mcpu=v3 '-ffile-prefix-map=$(CURDIR)/=' \
		-fdebug-compilation-dir=. -iquote . -I$B/gen -c $< -o $@.part
	$(Q)$B/gen/strip_bpf $@.part && $(BPFTOOL) gen object $@ $@.part && rm $@.part

$B/gen/proftrace.skel.h: $B/gen/proftrace.bpf.o
	@echo "  GEN   $@"
	$(Q)$(BPFTOOL) gen skeleton $< name proftrace_bpf > $@

# What the kernel calls all in them, for the tests that look whether something stays behind.
$B/gen/bpf_names: $B/gen/proftrace.skel.h
	@echo "  GEN   $@"
	$(Q)sed -nE 's/.*[>.]name = "((.{1,15}).*)";/\1\n\2/p' $^ | sort -u > $@

$B/gen/%.pb-c.c $B/gen/%.pb-c.h: proto/%.proto
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	$(Q)$(PROTOC_C) --proto_path=proto --c_out=$B/gen $<

# Text as a C string, all but its first line, which is the licence's.
define AS_STRING
	@mkdir -p $(@D)
	@echo "  GEN   $@"
	$(Q){ echo 'static const char $(basename $(notdir $@))[] ='; \
		sed -s '1d; s/[\\"]/\\&/g; s/.*/"&\\n"/' $^; echo ';'; } > $@
endef

# The hash of such a text as a content security policy has it.
define AS_HASH
	$(Q){ printf 'static const char $(basename $(notdir $@))_hash[] = "sha256-'; \
		env printf "$$(sed -s 1d $^ | sha256sum | cut -c1-64 | sed 's/../\\x&/g')" | base64 | \
		tr -d '\n'; echo '";'; } >> $@
endef

$B/gen/flame_script.h: user/reports/flame/flame.js user/reports/flame/flame_start.js
	$(AS_STRING)

$B/gen/flame_style.h: user/reports/flame/flame.css
	$(AS_STRING)

page := user/reports/page/web
$B/gen/page_body.h: $(page)/body.html
	$(AS_STRING)

$B/gen/page_style.h: user/reports/flame/flame.css $(page)/page.css
	$(AS_STRING)
	$(AS_HASH)

$B/gen/page_script.h: user/reports/flame/flame.js $(addprefix $(page)/,text.js table.js histogram.js data.js \
		draw.js timeline.js details.js compare.js page.js)
	$(AS_STRING)
	$(AS_HASH)

# --- the program -------------------------------------------------------------------------------

$B/obj/gen/%.o: $B/gen/%.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CSTD) $(CFLAGS) -c $< -o $@

$B/asan/gen/%.o: $B/gen/%.c
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CSTD) -O1 -g $(SANITIZE) -c $< -o $@

$B/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CSTD) $(TUNE) $(CFLAGS) $(WARN) -MMD -MP -c $< -o $@

$B/asan/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CSTD) -O1 -g $(WARN) $(SANITIZE) -MMD -MP -c $< -o $@

$B/libproftrace.a: $(OBJECTS)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcs $@ $^

$B/asan/libproftrace.a: $(ASAN_OBJECTS)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcs $@ $^

# Libraries that many runs do not use are loaded by those that do (user/base/library), where there are stubs for them.
LOADED := -ldw -ldeflate -llzma -lyajl -lncursesw -lbpf -lelf -lz -lprotobuf-c -lseccomp -lm
STUBS := $(if $(filter x86 arm64,$(ARCH)),$B/obj/tools/stubs.o)

# Link-time optimisation does not see the functions that assembly defines. CFLAGS may be an argument of make, as in a package for rpm.
$B/obj/tools/stubs.o: override CFLAGS += -fno-lto

$B/proftrace: $B/obj/user/main.o $(STUBS) $B/libproftrace.a
	@echo "  CC    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(if $(STUBS),-Wl$(COMMA)--export-dynamic-symbol=protobuf_c_empty_string) $^ -o $@ \
		$(filter-out $(if $(STUBS),$(LOADED)),$(LIBS))

# One file that runs anywhere: no library of the machine is used.
STATIC_LIBS := $(LIBS:-lyajl=-lyajl_s) -lpfm -lbz2 -ltinfo
STATIC_WRAPS := $(foreach f,dlopen dlsym dlerror setlocale getpwuid getpwnam initgroups,-Wl,--wrap=$f)

static: $B/static/proftrace

$B/static/proftrace: $B/obj/user/main.o $B/obj/tools/static.o $B/libproftrace.a
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -s -static-pie $(STATIC_WRAPS) $^ -o $@ \
		-Wl,--start-group $(STATIC_LIBS) -Wl,--end-group

static-arm64:
	tests/kernels/arm64.sh --static

# --- the library for other languages -------------------------------------------------------------

# The first number changes when the interface does, which it does not: lib/libproftrace.map.
SONAME := libproftrace.so.1
# The other one is loaded by its path, so that it needs no version.
ANNOTATIONS := libproftrace-annotations.so

lib: $B/lib/libproftrace.so $B/lib/$(ANNOTATIONS)

$B/lib/$(SONAME): lib/runtime.c lib/libproftrace.map include/proftrace.h include/proftrace/runtime.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) -std=gnu11 $(WARN) -Iinclude $(CFLAGS) $(LDFLAGS) -fPIC -shared -Wl,-soname,$(SONAME) \
		-Wl,--version-script=lib/libproftrace.map -Wl,-z,defs $< -o $@

$B/lib/libproftrace.so: $B/lib/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

# --- the tool of NVTX and ITT ----------------------------------------------------------------------

ANNOTATIONS_SOURCES := $(wildcard lib/annotations/*.c)

$B/annotations/%.o: lib/annotations/%.c $(wildcard lib/annotations/*.h) include/proftrace.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) -D_GNU_SOURCE $(CSTD) $(CFLAGS) $(WARN) -fPIC -fvisibility=hidden -Iinclude -c $< -o $@

$B/lib/$(ANNOTATIONS): $(ANNOTATIONS_SOURCES:lib/annotations/%.c=$B/annotations/%.o) lib/annotations/libproftrace-annotations.map
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(ANNOTATIONS) -Wl,-z,defs \
		-Wl,--version-script=$(filter %.map,$^) $(filter %.o,$^) -o $@ -ldl

# --- the Python package ----------------------------------------------------------------------------

# One module for CPython 3.9 and later (the limited API). Found by PYTHONPATH=build/python.
PYTHON ?= /usr/bin/python3
PYTHON_INCLUDE := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null)
PYTHON_SOURCES := $(wildcard bindings/python/src/*.c)
PYTHON_FILES := $(patsubst bindings/python/%,$B/python/%,$(wildcard bindings/python/proftrace/*.py* bindings/python/proftrace/py.typed))
PYTHON_PACKAGE := $B/python/proftrace/_native.abi3.so $B/python/proftrace/_handler.abi3.so $(PYTHON_FILES)

python: $(PYTHON_PACKAGE)

$B/python/obj/%.o: bindings/python/src/%.c $(wildcard bindings/python/src/*.h) include/proftrace.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CSTD) $(CFLAGS) $(filter-out -Wwrite-strings,$(WARN)) -fPIC -fvisibility=hidden -Iinclude \
		-I$(PYTHON_INCLUDE) -c $< -o $@

$B/python/proftrace/_native.abi3.so: $(patsubst bindings/python/src/%.c,$B/python/obj/%.o,$(PYTHON_SOURCES))
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared $^ -o $@ -lpthread

$B/python/proftrace/_handler.abi3.so: bindings/python/handler/handler.c include/proftrace/handler.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) -D_GNU_SOURCE $(CSTD) $(CFLAGS) $(WARN) -fPIC -fvisibility=hidden -Iinclude $(LDFLAGS) -shared $< -o $@ -ldl

$B/python/proftrace/%: bindings/python/proftrace/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

# --- what people meet first ----------------------------------------------------------------------

SAMPLES := $B/samples/compress $B/samples/hello $B/samples/hello-cpp $B/samples/train $B/samples/service-cpp $B/samples/slow_slices.so
MAN := $(patsubst tools/man/%.scd,$B/man/%,$(wildcard tools/man/*.scd))

samples: $(SAMPLES)

$B/samples/%.so: tools/samples/%.c include/proftrace/handler.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(MARKED) $(CFLAGS) -shared -fPIC $< -o $@

$B/samples/%: tools/samples/%.c include/proftrace.h $(wildcard tools/samples/*.h)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(MARKED) $(CFLAGS) $< -o $@ -lz -lm -lpthread

$B/samples/%-cpp: tools/samples/%.cpp include/proftrace.h
	@mkdir -p $(@D)
	$(CXX) -std=c++11 -Wall -Wextra -Werror -pedantic -Iinclude $(CFLAGS) $< -o $@ -lpthread

demo: packages
	+$(MAKE) --no-print-directory all samples
	tools/demo.sh

man: $(MAN)

$B/man/%: tools/man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@

COMPLETIONS := share/bash-completion/completions
CMAKE := share/cmake/proftrace
INSTALLED := bin/proftrace include/proftrace.h include/proftrace/handler.h include/proftrace/mutex.h \
	include/proftrace/runtime.h share/pkgconfig/proftrace.pc $(COMPLETIONS)/proftrace \
	share/zsh/site-functions/_proftrace share/fish/vendor_completions.d/proftrace.fish \
	$(CMAKE)/proftraceConfig.cmake $(CMAKE)/proftraceConfigVersion.cmake \
	share/doc/proftrace/bench-workflow.yml share/doc/proftrace/serve.conf lib/systemd/system/proftrace.service \
	$(foreach m,$(notdir $(MAN)),share/man/man$(patsubst .%,%,$(suffix $m))/$m)

install: all man
	install -D -m 755 $B/proftrace $(DESTDIR)$(PREFIX)/bin/proftrace
	install -D -m 644 include/proftrace.h $(DESTDIR)$(PREFIX)/include/proftrace.h
	for header in handler mutex runtime; do \
		install -D -m 644 include/proftrace/$$header.h $(DESTDIR)$(PREFIX)/include/proftrace/$$header.h || exit; \
	done
	install -D -m 755 $B/lib/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libproftrace.so
	install -D -m 755 $B/lib/$(ANNOTATIONS) $(DESTDIR)$(LIBDIR)/$(ANNOTATIONS)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' tools/libproftrace.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/libproftrace.pc
	install -D -m 644 tools/completions/proftrace.bash $(DESTDIR)$(PREFIX)/$(COMPLETIONS)/proftrace
	install -D -m 644 tools/completions/_proftrace $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_proftrace
	install -D -m 644 tools/completions/proftrace.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/proftrace.fish
	install -D -m 644 tools/bench-workflow.yml $(DESTDIR)$(PREFIX)/share/doc/proftrace/bench-workflow.yml
	install -D -m 644 tools/systemd/serve.conf $(DESTDIR)$(PREFIX)/share/doc/proftrace/serve.conf
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' tools/systemd/proftrace.service.in \
		> $(DESTDIR)$(PREFIX)/lib/systemd/system/proftrace.service
	install -d $(DESTDIR)$(PREFIX)/share/pkgconfig $(DESTDIR)$(PREFIX)/$(CMAKE)
	for file in pkgconfig/proftrace.pc cmake/proftrace/proftraceConfig.cmake cmake/proftrace/proftraceConfigVersion.cmake; do \
		sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' tools/$${file##*/}.in \
			> $(DESTDIR)$(PREFIX)/share/$$file || exit; \
	done
	for page in $(notdir $(MAN)); do \
		install -D -m 644 $B/man/$$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$page || exit; \
	done

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,$(INSTALLED)) \
		$(addprefix $(DESTDIR)$(LIBDIR)/,$(SONAME) libproftrace.so $(ANNOTATIONS) pkgconfig/libproftrace.pc)

# --- packages --------------------------------------------------------------------------------------

deb:
	tools/deb.sh $B/deb $(VERSION)

rpm:
	tools/rpm.sh $B/rpm $(VERSION)

sbom: $B/proftrace.spdx.json

# What is linked into a program, as SPDX 2.3 has it. That of the static file is $B/static/proftrace.spdx.json.
$B/%.spdx.json: $B/% tools/sbom.sh
	$(Q)tools/sbom.sh $< $(VERSION) > $@

# --- tests -------------------------------------------------------------------------------------

UNIT := $(patsubst tests/unit/%.c,$B/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$B/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
INTEGRATION := $(wildcard tests/integration/test_*.sh)
ATTACKS := $(wildcard tests/attacks/test_*.sh)
ATTACK_PROGRAMS := $(patsubst tests/attacks/programs/%.c,$B/tests/attacks/%,$(wildcard tests/attacks/programs/*.c))

# Programs with markers that the integration tests record.
TEST_PROGRAMS := $(patsubst tests/integration/programs/%.c,$B/tests/programs/%,\
	$(filter-out %/plugin.c %/leaf.c %/handler.c %/backwards.c %/opened.c %/part.c %/library.c %/collector.c %/later_libbpf.c %/unwound.c,$(wildcard tests/integration/programs/*.c))) \
	$(patsubst tests/integration/programs/%.cpp,$B/tests/programs/%,$(wildcard tests/integration/programs/*.cpp)) \
	$B/tests/programs/plugin.so $B/tests/programs/handler.so $B/tests/programs/backwards.so $B/tests/programs/opened.so $B/tests/programs/part.so $B/tests/programs/library.so $B/tests/programs/collector.so $B/tests/programs/later_libbpf.so $B/tests/programs/executes-static $B/tests/programs/waits-static $B/tests/programs/steps-static $B/tests/programs/forks-static \
	$B/tests/programs/sampled-static $B/tests/programs/flames-static $B/tests/tools/stacks $B/tests/tools/filters $B/tests/tools/foreign $B/tests/tools/let_go $B/tests/tools/limited $B/tests/tools/every_byte $B/tests/tools/flood_broker $B/tests/tools/hijacked $B/tests/tools/overreach $B/tests/tools/slow_walk $B/tests/tools/other_counts $B/tests/tools/confined $B/tests/tools/protected $B/gen/bpf_names \
	$(foreach c,gcc clang,$(foreach o,O2 O3,$B/tests/programs/leaf-$c-$o)) \
	$(foreach c,gcc clang,$(foreach o,O0 O2 O3,$B/tests/programs/unwound-$c-$o $B/tests/programs/unwound-$c-$o-fp)\
		$B/tests/programs/unwound-$c-lto)
MARKED := -std=gnu11 -Wall -Wextra -Werror -pedantic -Iinclude -g

$B/tests/programs/%: tests/integration/programs/%.c $(wildcard include/*.h include/*/*.h tests/integration/programs/*.h)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(MARKED) -O2 $< -o $@ -lpthread -ldl -lm

$B/tests/programs/%: tests/integration/programs/%.cpp $(wildcard include/*.h include/*/*.h tests/integration/programs/*.h)
	@mkdir -p $(@D)
	@echo "  CXX   $@"
	$(Q)$(CXX) $(or $(CXXSTD),-std=c++11) $(filter-out -std=%,$(MARKED)) -O2 $< -o $@ -lpthread

# std::string_view is younger.
$B/tests/programs/texts: CXXSTD := -std=c++17

$B/tests/programs/%-static: tests/integration/programs/%.c include/proftrace.h
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(MARKED) -O2 -static $< -o $@

# It knows nothing of the header that the others include.
$B/tests/programs/linked: tests/integration/programs/linked.c include/proftrace/runtime.h $B/lib/libproftrace.so
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(MARKED) -O2 $< -o $@ -L$B/lib -Wl,-rpath,'$$ORIGIN/../../lib' -lproftrace -lpthread

# Libraries that it opens call into it.
$B/tests/programs/libraries $B/tests/programs/rewrites: MARKED += -rdynamic

$B/tests/programs/%.so: tests/integration/programs/%.c $(wildcard include/*.h include/*/*.h)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(MARKED) -O2 -fPIC -shared $< -o $@

# Each call is a frame.
$B/tests/programs/flames $B/tests/programs/flames-static: MARKED += -fno-optimize-sibling-calls

define LEAF
$B/tests/programs/leaf-$(1)-$(2): tests/integration/programs/leaf.c include/proftrace.h
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	$$(Q)$(1) $$(MARKED) -$(2) $$< -o $$@ -lpthread
endef
$(foreach c,gcc clang,$(foreach o,O2 O3,$(eval $(call LEAF,$c,$o))))

# Known call chains, with frame pointers and without.
define UNWOUND
$B/tests/programs/unwound-$(1)-$(or $(5),$(2)$(3)): tests/integration/programs/unwound.c include/proftrace.h
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	$$(Q)$(1) $$(MARKED) -$(2) $(4) $$< -o $$@ -lpthread
endef
$(foreach c,gcc clang,$(foreach o,O0 O2 O3,$(eval $(call UNWOUND,$c,$o,,-fomit-frame-pointer))\
	$(eval $(call UNWOUND,$c,$o,-fp,-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer)))\
	$(eval $(call UNWOUND,$c,O2,,-flto,lto)))

# What attacks, in tests/attacks. One has a directory of libraries that its test overwrites with another, one has two thousand.
$B/tests/attacks/names_files: ATTACK_LIBS := -Wl,-rpath,/placeholder/$(subst 0,xxxxxxxxxx,0000000000)
$B/tests/attacks/linked_far: ATTACK_LIBS := -Wl,-rpath,0$(subst 3,:0:0:0:0:0:0:0:0:0:0,$(subst 2,3333333333,$(subst 1,2222222222,11)))
# It has no file mapped that others have, whose uprobes would wait for it.
$B/tests/attacks/locks_memory: ATTACK_LIBS := -fPIE -static-pie
$B/tests/attacks/%: tests/attacks/programs/%.c include/proftrace.h $(wildcard tests/attacks/programs/*.h)
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -Wall -Wextra -Werror -Iinclude -O2 -g $< -o $@ $(ATTACK_LIBS) -lpthread -lz

$B/tests/tools/%: tests/tools/%.c $B/libproftrace.a
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CSTD) $(CFLAGS) $(WARN) $(LDFLAGS) $< $B/libproftrace.a -o $@ $(TOOL_LIBS) $(LIBS)

$B/tests/tools/hijacked: $(wildcard tests/tools/hijacked/*.[ch])
$B/tests/tools/overreach: $(wildcard tests/tools/overreach/*.[ch])
# Its data are at a known place.
$B/tests/tools/overreach: TOOL_LIBS := -no-pie
$B/tests/tools/hijacked $B/tests/tools/overreach: include/proftrace.h $B/libproftrace.a
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CSTD) $(CFLAGS) $(WARN) $(LDFLAGS) $(filter %.c,$^) $B/libproftrace.a -o $@ $(TOOL_LIBS) $(LIBS)

# Calls fail while the broker starts.
$B/tests/tools/limited: TOOL_LIBS := -Wl,--wrap=dup2,--wrap=dup3,--wrap=pipe2,--wrap=socketpair,--wrap=open,--wrap=fork,--wrap=pthread_create

# Something else happens in the middle of what the broker does.
$B/tests/tools/let_go: TOOL_LIBS := -Wl,--wrap=process_directory,--wrap=process_untraceable,--wrap=process_open,--wrap=sites_attach,--wrap=bpf_map_update_elem

$B/tests/unit/%: $B/asan/tests/unit/%.o $B/asan/libproftrace.a
	@mkdir -p $(@D)
	@echo "  CC    $@"
	$(Q)$(CC) $(SANITIZE) $^ -o $@ -lcmocka $(LIBS)

unit: $(UNIT)
	tests/run.sh $(UNIT)

# The fuzzers are clang's: what they fuzz is built by it as well, with edges counted.
FUZZ_FLAGS := -O2 -g -DSMALL_WINDOWS -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_OBJECTS := $(SOURCES:%.c=$B/fuzz/%.o) $(PROTOS:%=$B/fuzz/gen/%.pb-c.o)

$B/fuzz/gen/%.o: $B/gen/%.c
	@mkdir -p $(@D)
	@echo "  CLANG $@"
	$(Q)$(CLANG) $(CPPFLAGS) $(CSTD) $(FUZZ_FLAGS) -c $< -o $@

$B/fuzz/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	@echo "  CLANG $@"
	$(Q)$(CLANG) $(CPPFLAGS) $(CSTD) $(FUZZ_FLAGS) $(WARN) -MMD -MP -c $< -o $@

$B/fuzz/libproftrace.a: $(FUZZ_OBJECTS)
	@rm -f $@
	@echo "  AR    $@"
	$(Q)$(AR) rcs $@ $^

$B/tests/fuzz/%: $B/fuzz/tests/fuzz/%.o $B/fuzz/libproftrace.a
	@mkdir -p $(@D)
	@echo "  CLANG $@"
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined $^ -o $@ $(FUZZ_LIBS) $(LIBS)

$B/tests/fuzz/fuzz_annotations: $(ANNOTATIONS_SOURCES:%.c=$B/fuzz/%.o)
$B/tests/fuzz/fuzz_options: FUZZ_LIBS := -Wl,--wrap=libpfm_each
$B/tests/fuzz/fuzz_command_line: FUZZ_LIBS := -Wl,--wrap=exit,--wrap=argp_state_help,--wrap=getpwnam

# FUZZ_TIME: seconds for each fuzzer.
fuzz: FUZZ_TIME ?= 600
fuzz: $(FUZZ)
	FUZZ_TIME=$(FUZZ_TIME) tests/run.sh tests/fuzz/run.sh

# As many jobs as there are processors, unless somebody said how many.
JOBS = $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(shell nproc))

# What the integration tests record and use.
test-programs: samples $(if $(wildcard $(PYTHON_INCLUDE)/Python.h),python) $(TEST_PROGRAMS) $(ATTACK_PROGRAMS) $(foreach t,canon many_events json_paths clock_error hostile_trace noisy_service,$B/tests/tools/$t)

test: packages
	+$(MAKE) --no-print-directory $(JOBS) check

check-beside: $(UNIT) $(FUZZ)

# tests/run.sh makes check-beside while the first tests run.
check: all man test-programs
	MAKEFLAGS= TEST_TIMEOUT=900 tests/run.sh tests/style.sh tests/rooms.sh tests/header/matrix.sh $(UNIT) tests/fuzz/run.sh -- $(INTEGRATION) $(ATTACKS) $(foreach t,header sbom,tests/packages/test_$t.sh)

# KERNELS: which of the guests in tests/kernels/run.sh; all without. KERNEL_IMAGE: what the one guest boots instead.
test-kernels:
	tools/packages.sh --kernels
	+$(MAKE) --no-print-directory $(JOBS) all static $(TEST_PROGRAMS) $B/tests/attacks/relative $B/tests/tools/canon
	tests/kernels/run.sh $(KERNELS)

# What other languages need is large, so it is not among the packages of `make test`.
test-languages:
	tools/packages.sh --languages
	+$(MAKE) --no-print-directory $(JOBS) all man $(if $(wildcard $(PYTHON_INCLUDE)/Python.h),python) $B/tests/tools/canon $B/tests/programs/collector.so $B/gen/bpf_names
	MAKEFLAGS= tests/run.sh $(wildcard tests/languages/test_*.sh)

# Roots of distributions and all packages, built twice.
test-packages:
	tools/packages.sh --distribution
	+$(MAKE) --no-print-directory $(JOBS) all man static $B/gen/bpf_names $B/tests/tools/canon $B/tests/programs/spans $B/tests/programs/steps $B/tests/programs/scripted $B/tests/programs/steps-static $B/tests/programs/forks-static
	MAKEFLAGS= TEST_TIMEOUT=$${TEST_TIMEOUT:-3000} tests/run.sh $(wildcard tests/packages/test_*.sh)

# Perfetto's own loader, from PATH or by npm: tests/loader/run.sh.
test-loader:
	+$(MAKE) --no-print-directory $(JOBS) all $(TEST_PROGRAMS) $B/tests/tools/canon
	tests/loader/run.sh

packages:
	tools/packages.sh

# --- what it costs -----------------------------------------------------------------------------

include tools/bench/bench.mk

clean:
	rm -rf $B compile_commands.json

FORMATTED = $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp')

format:
	clang-format -i $(FORMATTED)

check-format:
	clang-format --dry-run --Werror $(FORMATTED)

-include $(OBJECTS:.o=.d) $(ASAN_OBJECTS:.o=.d) $(FUZZ_OBJECTS:.o=.d) $(wildcard $B/*/tests/*/*.d)
