#!/bin/sh
# make.sh RUNNEL FILE: makes a whole home with that build, kills it in the middle of a job, and packs it.
# The home of each format that was ever shipped is kept here; test/e2e/test_golden_home.py opens them all.
set -eu
runnel=$1
file=$(realpath "$2")
folder=$(mktemp -d)
export RUNNEL_HOME="$folder/home"
cd "$folder"

"$runnel" run --name first -- sh -c 'echo from the first job; echo 42 > "$RUNNEL_JOB_DIR/answer"' >/dev/null 2>&1
cat >filler.yaml <<'END'
name: filler
command: ["true"]
END
# The state keeps 1,000 ended jobs; the first ones go to the archive.
for _ in $(seq 10); do
  for _ in $(seq 100); do "$runnel" up -f filler.yaml >/dev/null 2>&1; done
done
cat >search.yaml <<'END'
name: search
params: {x: {uniform: [0, 1]}}
search: {metric: loss, mode: min, max_trials: 3}
run: |
  echo "{\"loss\": {{x}}}" >> "$RUNNEL_METRICS_FILE"
END
"$runnel" run search.yaml >/dev/null 2>&1 || echo "the search failed" >&2
"$runnel" run --name loud -- sh -c 'echo to stdout; echo to stderr >&2' >/dev/null 2>&1
# A daemon with nothing to do ends in order: all of this is in the database, without a write-ahead log.
while [ -e home/log-wal ]; do sleep 0.2; done
# Unfinished, with a secret, its journal and a write-ahead log.
cat >last.yaml <<'END'
name: last
workdir: /
secrets: {TOKEN: env:GOLDEN_TOKEN}
run: |
  test "$TOKEN" = not-a-secret && echo knows its secret
  [ -e "$RUNNEL_JOB_DIR/again" ] || { echo $$ > "$RUNNEL_JOB_DIR/again"; sleep 1000; }
END
GOLDEN_TOKEN=not-a-secret "$runnel" up -f last.yaml >/dev/null 2>&1
until cat home/jobs/*/shared/again 2>/dev/null | grep -q .; do sleep 0.1; done
kill -KILL $("$runnel" home -o json | sed -n 's/.*"\(daemon\|runner\)_pid": *\([0-9]*\).*/\2/p') \
  -"$(cat home/jobs/*/shared/again)"
sleep 1
rm -rf home/daemon.sock home/runner/sock home/log-shm
# The fillers' folders would be all of the file.
for job in home/jobs/*; do
  find "$job" -name answer -o -name again -o -name 0.json | grep -q . || grep -qs "to stdout" "$job"/logs/*.out || rm -r "$job"
done
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner -cf - home | xz -9e >"$file"
rm -rf "$folder"
