#!/bin/sh
# Simulated schedules, spread over the cores. usage: tools/sim.sh COUNT [options of sim_campaign]
set -eu
cd "$(dirname "$0")/.."
count=$1
shift
exec build/release/bin/sim_campaign --schedules "$count" --jobs "$(nproc)" "$@"
