# `make survey` and `make test` are the two ways in; see README.md.
PREFIX ?= /usr/local
# Where C libraries go, relative to PREFIX: Debian has lib/x86_64-linux-gnu.
LIBDIR ?= lib
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 10
SOAK_MINUTES ?= 90
BUILT = target/release
COHO = $(BUILT)/coho
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
.PHONY: survey test accessible bench coverage fleet-data openmp-suites mpi build install install-built wheel dist deb reproducible packages lab fuzz aarch64 soak clean

survey: build
	@mkdir -p target/survey
	$(COHO) survey -o target/survey/profile.json --report target/survey/report.html

build:
	@scripts/needs build
# The libraries to preload are files beside the command, so they are not packed into it.
	@scripts/build --release --locked --no-default-features -p coho -p coho-pin -p coho-mpi-preload -p coho-openmp -p coho-delegate-preload \
		-p coho-share-exact -p coho-share-preload

test:
	@scripts/needs test
	@scripts/test

# Guests of other shapes under QEMU. CASES: some of lab/cases; left out: all, of which `make test` boots only some.
lab:
	@scripts/needs lab
	@lab/run $(CASES)

# Every parser, on input that grows by what it reaches.
fuzz:
	@scripts/needs fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

# The libraries' tests as 64-bit ARM programs under QEMU.
aarch64:
	@scripts/needs aarch64
	@scripts/aarch64 $(ONLY)

# What axe-core, fetched from npm, finds in the report; not part of `make test`.
accessible:
	@scripts/needs accessible
	@scripts/accessible

# What only many tries find, for SOAK_MINUTES; not part of `make test`, which makes a few of each.
soak:
	@scripts/needs fuzz
	@scripts/soak $(SOAK_MINUTES)

# SECTION: some of detection, pairs, counters, calls, barriers, waiting, openmp, delegation, workloads, memory, share; left
# out: all these. Only if named: grid-cpus, grid-twice, grid-neighbour, grid-quota and grid-processes, OpenMP's runtimes
# tuned in six ways each, 2.5 minutes a condition.
bench:
	@scripts/needs bench
	cargo bench --locked -p coho --bench peers -- $(SECTION)

# How often intervals of 95 % contain what the next run finds, and the next twenty. SECTION: some of coherence, calls,
# memory, sync, contention; left out: all. Takes a quiet machine, and COVERAGE_SECONDS for each, or two minutes.
coverage:
	@scripts/needs bench
	cargo bench --locked -p coho --bench coverage -- $(SECTION)

# Profiles of machines that do not exist, some with planted faults, to try `coho fleet` on. MACHINES: how many small ones;
# LARGE: how many of 192 CPUs; SEED; FLEET: the folder.
MACHINES ?= 500
LARGE ?= 0
SEED ?= 1
FLEET ?= target/fleet
fleet-data:
	cargo run -q --release --locked -p coho-profile --example fleet -- $(FLEET) $(MACHINES) $(LARGE) $(SEED)

# LLVM's and gcc's tests of their OpenMP runtimes on coho's teams, a line each. TESTS: parts of their names; left out: all.
openmp-suites: build
	@scripts/needs openmp-suites
	@scripts/openmp-suites $(BUILT)/libcoho_openmp.so $(TESTS)

# target/release/coho-mpi, for each MPI whose compiler is installed; its ranks are started by that MPI's mpiexec.
mpi:
	@scripts/needs mpi
	@COHO_MPICC="$$(for name in mpicc mpicc.mpich mpicc.openmpi; do command -v $$name; done)" \
		scripts/build --release --locked -p coho-mpi

# The libraries for C; that of the topology is a crate of its own.
LIBRARIES = counters sync delegate topology
crate = $(if $(filter topology,$(1)),topology$(2)c,$(1))

# NAME: a library for C, with header and pkg-config file.
define install_library
	install -D -m 644 crates/$(call crate,$(1),-)/include/coho_$(1).h $(DESTDIR)$(PREFIX)/include/coho_$(1).h
	install -D -m 755 $(BUILT)/libcoho_$(call crate,$(1),_).so $(DESTDIR)$(PREFIX)/$(LIBDIR)/libcoho_$(1).so.0
	scripts/static-library $(BUILT)/libcoho_$(call crate,$(1),_).a crates/$(call crate,$(1),-)/include/coho_$(1).symbols \
		$(DESTDIR)$(PREFIX)/$(LIBDIR)/libcoho_$(1).a
	ln -sf libcoho_$(1).so.0 $(DESTDIR)$(PREFIX)/$(LIBDIR)/libcoho_$(1).so
	install -d $(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' crates/$(call crate,$(1),-)/coho-$(1).pc.in \
		>$(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig/coho-$(1).pc

endef

install: build
	cargo build --release --locked -p coho-counters -p coho-sync -p coho-delegate -p coho-topology-c
	$(MAKE) --no-print-directory install-built
	scripts/openmp-folder $(DESTDIR)$(PREFIX)/lib/coho/openmp

# Puts what was built in BUILT where it belongs. FILES= leaves out libraries that the command has packed into it.
FILES ?= libcoho_pin.so libcoho_mpi_preload.so libcoho_openmp.so libcoho_delegate_preload.so libcoho_share.so libcoho_tsan.so
install-built:
	install -D -m 755 $(COHO) $(DESTDIR)$(PREFIX)/bin/coho
	$(foreach file,$(FILES),install -D -m 755 $(BUILT)/$(file) $(DESTDIR)$(PREFIX)/lib/coho/$(file) &&) true
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(COHO) man --all $(DESTDIR)$(PREFIX)/share/man/man1
	$(COHO) completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/coho
	$(COHO) completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_coho
	$(COHO) completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/coho.fish
	$(foreach library,$(LIBRARIES),$(call install_library,$(library)))

# ARCH: x86_64 or aarch64; this machine's if left out.
wheel:
	@scripts/needs build
	@scripts/wheel $(ARCH)

# A tarball of the command and the C libraries in target/dist, for glibc 2.17 and newer. LIBC=musl: of the command alone,
# linked statically.
dist:
	@scripts/needs build
	@scripts/dist $(LIBC)

# A package for Debian in target/deb, of the same files.
deb:
	@scripts/needs deb
	@scripts/dist deb

# Builds them twice, here and in another folder, and compares the bytes.
reproducible:
	@scripts/needs deb
	@scripts/reproducible

# Tries them in clean roots without a compiler, as root and with a network; SUITES says which of Debian's.
packages: wheel dist deb
	@scripts/needs packages
	@scripts/packages $(SUITES)

clean:
	cargo clean
