#!/usr/bin/env bash
# Does the simulator bite? Each patch under src/sim/mutants plants one bug into a scratch copy; the
# campaign must find it within 60 s of simulation.
#   tools/mutants.sh [PATCH...]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/runnel-mutants.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
patches=("$@")
[ ${#patches[@]} -gt 0 ] || patches=("$root"/src/sim/mutants/*.patch)
for part in CMakeLists.txt CMakePresets.json VERSION cmake src; do cp -r "$root/$part" "$scratch/"; done
cd "$scratch"
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++-19 -DRUNNEL_PURE_ONLY=ON >configure.log 2>&1 || { cat configure.log; exit 1; }
missed=0
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  patch -p1 -s <"$patch"
  cmake --build build --target sim_campaign >build.log 2>&1 || { tail -20 build.log; echo "$name: does not build"; exit 1; }
  binary=$(find build -name sim_campaign -type f -perm -u+x | head -n 1)
  begin=$(date +%s.%N)
  if "$binary" --schedules 1000000 --seconds 60 >run.log 2>&1; then
    echo "$name: MISSED"
    missed=1
  else
    took=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    echo "$name: found in $took s: $(grep -m 1 -oE 'VIOLATION .*' run.log || tail -n 1 run.log)"
  fi
  patch -p1 -s -R <"$patch"
done
exit $missed
