#!/bin/sh
# The long runs: 2,000,000 simulated schedules, 100,000 with a poison task, 200,000 of a volume, the planted bugs, 100,000 plans beside
# their definition, a hundred kills and five long freezes, 2,000 damages to homes, an upgrade from the build of an
# earlier commit, then each fuzzer for FUZZ_SECONDS (600).
set -eu
cd "$(dirname "$0")/.."
earlier=b50bea9
cmake --preset release >/dev/null
cmake --build --preset release -j "$(nproc)"
tools/sim.sh 2000000
tools/mutants.sh
RUNNEL_MODEL=1 build/release/bin/volume_test --gtest_filter='GcModel.*'
build/release/bin/volume_sim_campaign --schedules 200000 --jobs "$(nproc)"
RUNNEL_PLANS=100000 build/release/bin/sched_test --gtest_filter='Plan.EqualsItsDefinition*'
RUNNEL_CRASHES=100 RUNNEL_FREEZES=5 RUNNEL_FREEZE_S=30 .venv/bin/python -m pytest test/e2e/test_crash.py
RUNNEL_VOLUME_KILLS=500 .venv/bin/python -m pytest test/e2e/test_volume_kills.py
RUNNEL_MOUNT_KILLS=1000 .venv/bin/python -m pytest test/e2e/test_mount_kills.py
RUNNEL_DAMAGES=2000 .venv/bin/python -m pytest -n "$(nproc)" test/e2e/test_fuzz_home.py
RUNNEL_POISON=20 .venv/bin/python -m pytest test/e2e/test_poison.py
build/release/bin/sim_campaign --poison 1 --schedules 400000 --jobs "$(nproc)"
[ -d build/earlier ] || git worktree add --detach build/earlier "$earlier"
(cd build/earlier && cmake --preset release >/dev/null && cmake --build --preset release -j "$(nproc)" --target runnel)
RUNNEL_EARLIER=build/earlier/build/release/bin/runnel .venv/bin/python -m pytest test/e2e/test_upgrade.py

cmake --preset asan >/dev/null
cmake --build --preset asan -j "$(nproc)"
status=0
for fuzzer in build/asan/fuzz/*_fuzz; do
  [ -x "$fuzzer" ] || continue
  name=$(basename "$fuzzer")
  corpus=build/asan/corpus/$name
  mkdir -p "$corpus"
  seeds=fuzz/corpus/$name
  [ -d "$seeds" ] || seeds=
  echo "soak: $name for ${FUZZ_SECONDS:-600} s"
  # shellcheck disable=SC2086  # no seeds, no argument
  "$fuzzer" -max_total_time="${FUZZ_SECONDS:-600}" -timeout=10 -rss_limit_mb=4096 -verbosity=0 \
    -artifact_prefix=build/asan/corpus/ "$corpus" $seeds || { echo "soak: $name has a finding"; status=1; }
done
exit $status
