#!/usr/bin/env bash
# Do the simulators bite? Each patch under src/sim/mutants and src/volume_sim/mutants plants one bug into a scratch copy;
# the campaign of its module must find it within 60 s of simulation, and nothing without a patch.
#   tools/mutants.sh [PATCH...]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/runnel-mutants.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
patches=("$@")
[ ${#patches[@]} -gt 0 ] || patches=("$root"/src/sim/mutants/*.patch "$root"/src/volume_sim/mutants/*.patch)
for part in CMakeLists.txt CMakePresets.json VERSION cmake src test; do cp -r "$root/$part" "$scratch/"; done
cd "$scratch"

module_of() { basename "$(dirname "$(dirname "$1")")"; }

modules=$(for patch in "${patches[@]}"; do module_of "$(realpath -s "$patch")"; done | sort -u)
binary_of() { find build -name "${1/%sim/sim_campaign}" -type f -perm -u+x | head -n 1; }

build() {
  cmake --build build --target "${2/%sim/sim_campaign}" >build.log 2>&1 ||
    { tail -20 build.log; echo "$1: does not build"; exit 1; }
}

# As the release preset compiles, so that the compiler's cache has most of it.
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++-19 \
  -DRUNNEL_MODULES="$(echo "$modules" | paste -sd ';')" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  >configure.log 2>&1 || { cat configure.log; exit 1; }
for module in $modules; do
  build "the sources as they are" "$module"
  "$(binary_of "$module")" --schedules 500 >run.log 2>&1 || { tail -5 run.log; echo "a violation without any patch"; exit 1; }
done

missed=0
for patch in "${patches[@]}"; do
  patch=$(realpath -s "$patch")
  name=$(basename "$patch" .patch)
  module=$(module_of "$patch")
  patch -p1 -s <"$patch"
  build "$name" "$module"
  begin=$(date +%s.%N)
  "$(binary_of "$module")" --schedules 1000000 --seconds 60 >run.log 2>&1 || true
  took=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
  # A promise that is seen broken, or a CHECK of the code under test.
  if found=$(grep -m 1 -oE 'VIOLATION .*|internal error: .*' run.log); then
    echo "$name: found in $took s: $found"
  else
    echo "$name: MISSED in $took s: $(tail -n 1 run.log)"
    missed=1
  fi
  patch -p1 -s -R <"$patch"
done
exit $missed
