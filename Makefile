# The front door.  Every target installs what is missing, configures, builds,
# and runs; `make help` lists them.
JOBS ?= $(shell nproc)
PRESET ?= dev
BUILD := build/$(PRESET)
PYTHON := /usr/bin/python3
CTEST := ctest --output-on-failure --no-tests=error
SOURCES = $(shell git ls-files '*.c' '*.h')
UNITS = $(filter-out tests/%,$(filter %.c,$(SOURCES)))

.PHONY: help packages build check test demo wheel install uninstall deb format lint clean coverage
.PHONY: nightly test-asan test-tsan test-clang test-bytes test-nightly test-fuzz
.PHONY: test-nvrtc test-real-headers test-cuda
.PHONY: first-gpu test-gpu record-gpu bundle-gpu

help:
	@echo 'make demo     the plan of Qwen3-32B, then a small GPT trained on 4 ranks'
	@echo 'make check    what to run after each change: units, goldens, two runs'
	@echo 'make test     all tests but the nightly ones'
	@echo 'make build    the compiler, the runtime and the trainer, in $(BUILD)'
	@echo 'make wheel    the PyTorch package, for pip, in $(BUILD)/wheel'
	@echo 'make install PREFIX=/usr/local;  make uninstall;  make deb: Debian packages'
	@echo 'make nightly  other compilers, sanitizers, full training, long fuzzing'
	@echo 'make test-cuda  all tests of the GPU half that need no GPU'
	@echo 'make test-nvrtc  kernels by the pinned NVRTC, fetched with pip'
	@echo 'make test-real-headers  our declarations beside versions of NVIDIA libraries'
	@echo 'make first-gpu  a new GPU machine: what it has, tests, measurements, a report'
	@echo 'make test-gpu  what a GPU has to say, compute-sanitizer too'
	@echo 'make record-gpu  what single instructions do, to tests/gpu/golden'
	@echo 'make bundle-gpu  all of it in one folder, for a GPU machine that cannot build'
	@echo 'make bench-X  the measurement bench/X.sh'
	@echo 'make format   clang-format, in place;  make lint: the checkers'
	@echo 'make coverage lines and branches of the front end that tests reach'

packages:
	@sh cmake/install_packages.sh

build/%/build.ninja: CMakePresets.json CMakeLists.txt | packages
	cmake --preset $*

# Ninja is asked every time: it alone knows what is out of date.
build: packages $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS)

# tests/tiers.cmake says which tests these are.
check: build
	cd $(BUILD) && $(CTEST) -j $(JOBS) -L '^check$$'

# What tests leave out, by label.
WITHOUT := nightly
test: build
	cmake --build $(BUILD) --target nvrtc_if_none
	cd $(BUILD) && $(CTEST) -j 2 -LE '$(WITHOUT)'

# After changes of runtime/cuda and codegen/cuda.
test-cuda: build
	cmake --build $(BUILD) --target nvrtc_if_none
	cd $(BUILD) && $(CTEST) -j $(JOBS) -L cuda -LE gpu

# Kernels by NVRTC of the pinned version too, fetched with Python's pip.
test-nvrtc: build
	cmake --build $(BUILD) --target nvrtc
	cd $(BUILD) && $(CTEST) -V -R '^cuda_compile'

# Nightly, too.  The first time it fetches some 4 GB with pip, of which 1 GB stays
# in the build folder; without a network it says skipped.
test-real-headers: build
	cd $(BUILD) && $(CTEST) -V -R '^cuda_real_'

# One test at a time, each in a process of its own that ends in time: a kernel that
# hangs takes nothing with it; products that wait for 2 s trap and say where.
# Without a GPU all say skipped.
test-gpu: build
	cmake --build $(BUILD) --target nvrtc_if_none
	cd $(BUILD) && CZR_CUDA_DEBUG=1 $(CTEST) -j 1 -L gpu -LE sanitizer
	cd $(BUILD) && $(CTEST) -j 1 -L sanitizer

# The doctor first: without a driver, a GPU or NVRTC nothing else is built.  The
# report is $(BUILD)/first-gpu/report.md.
GPU = $(BUILD)/gpu
first-gpu: packages $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target cuda_doctor
	sh tests/tools/gpu_bundle.sh $(BUILD) . $(GPU) doctor
	sh $(GPU)/run.sh doctor 60 $(BUILD)/first-gpu
	$(MAKE) bundle-gpu
	sh $(GPU)/run.sh all 3600 $(BUILD)/first-gpu

# The model of the device is held to these from then on, on any machine.
record-gpu: build
	cmake --build $(BUILD) --target nvrtc_if_none
	cmake --build $(BUILD) --target cuda_gpu_record -- -k 0

# $(GPU), some 30 MB: run.sh there is what first-gpu runs.
bundle-gpu: build
	cmake --build $(BUILD) --target bench_gpu
	sh tests/tools/gpu_bundle.sh $(BUILD) . $(GPU)

# The PyTorch package with compiler and runtime inside, for pip.
wheel: build
	$(PYTHON) -B runtime/torch/wheel.py $(BUILD)/python/canzona \
	  $$(sed -n 's/^project(canzona VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) \
	  docs/NOTICE.md $(BUILD)/wheel

# DESTDIR works as elsewhere.  `make uninstall` removes what the last one put.
PREFIX ?= /usr/local
install: packages $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target installed
	cmake --install $(BUILD) --prefix $(PREFIX) --strip

uninstall:
	cmake -DMANIFEST=$(BUILD)/install_manifest.txt -P cmake/uninstall.cmake

# Debian packages: canzona, and canzona-mpi where MPI is.  DEBFULLNAME and DEBEMAIL
# say who maintains them.
deb: packages $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target installed
	cd $(BUILD) && cpack -B deb

demo: packages $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target canzona train_gpt
	$(BUILD)/canzona plan examples/qwen3-32b.cz
	$(BUILD)/train_gpt --ranks 2x2 --steps 200 --eval-every 25

# TSan watches threads, so it runs what has threads; it knows pthreads only.
THREADED := run_(gpt_2x2|late|groups_2x2|auto_few|gram_fused)
test-asan:
	$(MAKE) test PRESET=asan

# Figures of plans are those of the bytes that test-bytes compares.
test-clang:
	$(MAKE) test PRESET=clang WITHOUT='nightly|plan'

test-tsan: packages build/tsan/build.ninja
	cmake --build build/tsan -j $(JOBS) --target threaded
	cd build/tsan && TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp" \
	  $(CTEST) -j 2 -R 'unit_runtime|train_gpt|$(THREADED)' -LE nightly

# gcc -O2 and -O0, clang -O3: one plan.
test-bytes: build
	cmake --preset debug
	cmake --build build/debug -j $(JOBS) --target canzona
	cmake --preset clang
	cmake --build build/clang -j $(JOBS) --target canzona
	$(PYTHON) -B tests/plan/plan_bytes.py build/dev/canzona build/clang/canzona \
	  build/debug/canzona

# Four million executions; tests/adversary/fuzz.cmake says of what.  What is found
# lies in build/fuzz/fuzz, from where the next run goes on.
test-fuzz: packages build/fuzz/build.ninja
	cmake --build build/fuzz -j $(JOBS) --target fuzzers
	cd build/fuzz && $(CTEST) -j 2 -L fuzzing

test-nightly: build
	cd $(BUILD) && $(CTEST) -j 2 -L nightly

nightly:
	$(MAKE) test
	$(MAKE) test-clang
	$(MAKE) test-bytes
	$(MAKE) test-asan
	$(MAKE) test-tsan
	$(MAKE) test-nightly
	$(MAKE) test-fuzz

# The front end: library, driver, and what they stand on.  That an assertion
# fails is no branch a test could take.
COVERED := unit_dsl unit_frontend convert counts driver fmt golden diagnostics \
  language fuzz_parse_replay plan_json_gpt_2x1 plan_screen emit run_gpt_1x2 \
  run_gpt_adamw_2x1 run_finds
COVER := gcovr --root . --filter frontend/ --filter dsl/base/ --filter dsl/syntax \
  --exclude-branches-by-pattern '\s*assert\(' build/cov

coverage:
	@sh cmake/install_packages.sh gcovr
	$(MAKE) build PRESET=cov
	find build/cov -name '*.gcda' -delete
	cd build/cov && $(CTEST) -j 2 -LE nightly \
	  -R '^($(subst $() ,|,$(strip $(COVERED))))'
	$(COVER)
	$(COVER) --branches --fail-under-line 95 --fail-under-branch 85

bench-%: build
	BUILD=$(BUILD) PYTHON=$(PYTHON) sh bench/$*.sh

format: packages
	clang-format -i $(SOURCES)

# Some of what is checked includes headers that the benchmarks' plans make.
lint: build
	cmake --build $(BUILD) -j $(JOBS) --target bench_host
	clang-format --dry-run --Werror $(SOURCES)
	clang-tidy --quiet -p $(BUILD) $(UNITS)
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 -I. -Iruntime \
	  --enable=warning,performance,portability $(UNITS)

clean:
	rm -rf build
