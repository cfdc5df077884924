#!/usr/bin/env bash
# The demo: a hello, a diamond of steps, a whole project on Fashion-MNIST (search, a gang of two PyTorch
# processes, batch inference), and a job whose daemon and runner are killed again and again. Everything in a home of its own; one table at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
PATH="$here/../.venv/bin:$PATH"
RUNNEL_HOME=$(mktemp -d "${TMPDIR:-/tmp}/runnel-demo.XXXXXX")
export PATH RUNNEL_HOME
DATA=/usr/share/datasets/fashion-mnist
rows=()
failed=0

finish() {
  local daemon runner
  daemon=$(pid_of daemon_pid) || true
  runner=$(pid_of runner_pid) || true
  for pid in $daemon $runner; do kill "$pid" 2>/dev/null || true; done
  # A daemon that ends still writes its last words into the home.
  for pid in $daemon $runner; do for _ in {1..200}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done; done
  # A mount outlives its last use by half a minute, and who serves it by two seconds more.
  for tree in "$RUNNEL_HOME"/mounts/*/tree; do
    [ -d "$tree" ] && runnel volume umount --lazy "$tree" 2>/dev/null || true
  done
  for _ in {1..200}; do pgrep -f -- "--home $RUNNEL_HOME volume" >/dev/null || break; sleep 0.05; done
  rm -rf "$RUNNEL_HOME"
}
pid_of() { runnel home -o json 2>/dev/null | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p"; }
trap finish EXIT

row() { # NAME WHAT START CODE RESULT
  local took
  took=$(awk -v a="$3" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f s", b - a }')
  rows+=("$(printf '%-10s %-44s %8s  %-4s %s' "$1" "$2" "$took" "$([ "$4" = 0 ] && echo ok || echo FAIL)" "$5")")
  [ "$4" = 0 ] || failed=1
}

run() { # NAME WHAT FILE FLAGS
  local start code=0 out
  start=$(date +%s.%N)
  echo "--- runnel run ${*:4} $3"
  out=$(runnel run "${@:4}" "$here/$3" | tee -a /dev/stderr) || code=$?
  row "$1" "$2" "$start" "$code" "$(tail -n 1 <<<"$out")"
}

put() { # The data set of the quickstart becomes a volume.
  local start code=0 out
  start=$(date +%s.%N)
  echo "--- runnel volume put $DATA fashion"
  out=$(runnel volume create fashion && runnel volume put "$DATA" fashion -m "as Debian has it") || code=$?
  row volume "Fashion-MNIST as a volume's version" "$start" "$code" "$(tail -n 1 <<<"$out")"
}

killed() { # A job that goes on whatever is killed under it.
  local start job kills=0 status code=0 done
  start=$(date +%s.%N)
  echo "--- runnel up -f survivor.yaml, with daemon and runner killed at random"
  job=$(runnel up -f "$here/survivor.yaml" -o name)
  while status=$(runnel show "$job" -o json | sed -n 's/^  "status": "\(.*\)".*/\1/p'); [ "$status" = QUEUED ] || [ "$status" = RUNNING ]; do
    kill -9 "$(pid_of "$([ $((RANDOM % 2)) = 0 ] && echo daemon_pid || echo runner_pid)")" 2>/dev/null && kills=$((kills + 1))
    sleep "0.$((RANDOM % 6 + 3))"
  done
  runnel wait "$job" || code=$?
  runnel show "$job"
  done=$(runnel show "$job" -o json | sed -n '/^  "counts"/,/}/s/.*"SUCCEEDED": *\([0-9]*\).*/\1/p')
  [ "${done:-0}" = 120 ] || code=1
  row killer "120 tasks in 3 steps, kill -9 at random" "$start" "$code" "$kills kills, ${done:-0} of 120 tasks done"
}

run hello "one command" hello.yaml
run diamond "four steps, two of them at once" diamond.yaml
put
run quickstart "prepare, search, train as a gang, infer, report" quickstart.yaml --chaos
killed
echo
printf '%-10s %-44s %8s  %-4s %s\n' DEMO WHAT TIME "" RESULT
printf '%s\n' "${rows[@]}"
exit $failed
