#!/bin/sh
# Makes a bare Debian 12 machine ready: packages from tools/apt-packages.txt, then .venv from
# python/requirements.lock. Idempotent: what is there already is left alone, and it says what it does.
#
#   tools/setup.sh            everything that building and the demo need
#   tools/setup.sh --tests    also the S3 server that end-to-end tests store volumes in
#   tools/setup.sh --bench    also the peers of all benches: Optuna, Ray and others
set -eu
cd "$(dirname "$0")/.."

lists=tools/apt-packages.txt
bench= tests=

say() { printf 'setup: %s\n' "$*"; }

case "${1:-}" in
  '') ;;
  --tests) tests=yes ;;
  --bench) lists="$lists tools/apt-packages-bench.txt" bench=yes ;;
  *) say "unknown argument '$1': give none, --tests or --bench" >&2; exit 2 ;;
esac

wanted() { cat $lists | sed 's/#.*//' | tr -s ' \n' '\n' | sed '/^$/d'; }

# Names of the wanted packages that are not installed.
missing_packages() {
  wanted | sort -u >"$work/wanted"
  dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' 2>/dev/null |
    awk '$1 == "ii" {print $2}' | sort -u >"$work/installed"
  comm -23 "$work/wanted" "$work/installed" | tr '\n' ' '
}

install_packages() {
  missing=$(missing_packages)
  if [ -z "$missing" ]; then
    say "packages: all $(wc -l <"$work/wanted") are installed"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    say "packages are missing and you are not root. Run this one line as root, then \`make setup\` again:" >&2
    printf '  apt-get update && apt-get install -y --no-install-recommends %s\n' "$missing" >&2
    exit 2
  fi
  say "packages: installing $missing"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q -o DPkg::Lock::Timeout=600 update
  # shellcheck disable=SC2086  # a list of words
  apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends $missing
}

# Whether the venv holds exactly what the lock file says: fast, reads only the metadata.
venv_is_complete() { # VENV LOCK
  [ -x "$1/bin/python" ] && [ -f "$1/.runnel-setup" ] &&
    [ "$(cat "$1/.runnel-setup")" = "$(sha256sum <"$2")" ] && "$1/bin/python" tools/check_lock.py "$2"
}

install_venv() { # VENV LOCK
  venv=$1 lock=$2 stamp=$1/.runnel-setup
  if venv_is_complete "$venv" "$lock"; then
    say "python: $venv matches $lock"
    return
  fi
  if [ ! -x $venv/bin/python ]; then
    say "python: creating $venv with $(/usr/bin/python3 --version)"
    /usr/bin/python3 -m venv $venv
  fi
  say "python: installing $lock into $venv"
  $venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --quiet \
    --require-hashes -r $lock
  $venv/bin/python tools/check_lock.py $lock
  sha256sum <$lock >$stamp
}

# `import runnel` finds the sources, and others find what it offers them: no build step.
link_package() {
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  line="$(pwd)/python"
  if [ "$(cat "$site/runnel.pth" 2>/dev/null)" != "$line" ]; then
    say "python: $site/runnel.pth -> $line"
    printf '%s\n' "$line" >"$site/runnel.pth"
  fi
  .venv/bin/python tools/dist_info.py "$site"
}

# versitygw, built from its released source by a Go from PyPI, so that it does not matter which Go a machine has.
# Go checks the source by its public checksums; its 2 GB of sources and objects go when it is built.
install_object_server() {
  version=v1.8.0 place=.venv/versitygw
  if [ -x $place/versitygw-$version ]; then
    say "S3 server: $place/versitygw-$version is there"
    return
  fi
  say "S3 server: building versitygw $version"
  .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --quiet \
    --require-hashes --target "$work/go" -r python/requirements-go.lock
  mkdir -p $place
  GOPATH=$work/gopath GOCACHE=$work/gocache GOBIN=$work/bin GOFLAGS=-modcacherw GOTOOLCHAIN=local \
    "$work/go/go/bin/go" install -ldflags '-s -w' github.com/versity/versitygw/cmd/versitygw@$version >"$work/go.log" 2>&1 || {
    cat "$work/go.log" >&2
    exit 1
  }
  mv "$work/bin/versitygw" $place/versitygw-$version
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
install_packages
install_venv .venv python/requirements.lock # Torch with its CUDA libraries is several GB.
link_package
[ -z "$tests" ] || install_object_server
[ -z "$bench" ] || install_venv build/bench-venv python/requirements-bench.lock
say "done"
