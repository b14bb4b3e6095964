# `make survey` and `make test` are the two ways in; see README.md.
PREFIX ?= /usr/local
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 10
COHO = target/release/coho
# Test data that is not part of the project; tests that need it say so where it is absent.
export COHO_REFERENCE ?= $(wildcard $(abspath ../shared/reference))

STAGE = scripts/stage

.PHONY: survey test bench build install lab fuzz aarch64 clean

survey: build
	@mkdir -p target/survey
	$(COHO) survey -o target/survey/profile.json --report target/survey/report.html

build:
	@scripts/needs build
	cargo build --release --locked -p coho

test:
	@scripts/needs test
	@$(STAGE) formatting cargo fmt --all --check
	@$(STAGE) scripts shellcheck scripts/* .ci/run lab/run
	@$(STAGE) clippy cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
	@$(STAGE) tests cargo test --workspace --all-features --locked --all-targets
	@$(STAGE) "documentation tests" cargo test --workspace --all-features --locked --doc
	@$(STAGE) documentation env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked
	@$(STAGE) aarch64 $(MAKE) --no-print-directory aarch64
	@$(STAGE) fuzz $(MAKE) --no-print-directory fuzz
	@$(STAGE) lab $(MAKE) --no-print-directory lab
	@echo "all stages passed"

# Guests of other shapes under QEMU.
lab:
	@scripts/needs lab
	@lab/run

# Every parser, on input that grows by what it reaches.
fuzz:
	@scripts/needs fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

# The libraries' tests as 64-bit ARM programs under QEMU.
aarch64:
	@scripts/needs aarch64
	@scripts/aarch64

bench:
	@scripts/needs bench
	cargo bench --locked -p coho --bench peers

install: build
	install -D -m 755 $(COHO) $(DESTDIR)$(PREFIX)/bin/coho
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(COHO) man >$(DESTDIR)$(PREFIX)/share/man/man1/coho.1
	$(COHO) completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/coho
	$(COHO) completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_coho
	$(COHO) completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/coho.fish

clean:
	cargo clean
