#!/usr/bin/env bash
# Installs the wheel in an empty Debian 12 that has Python and nothing else: no compiler, no git, no PyTorch. What is missing
# has to be named; with the PyTorch of .venv in reach, a model is trained. As root, with the package mmdebstrap.
#   tools/packaging/check_wheel.sh [dist/determined_cpp-VERSION-….whl]
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel="$(realpath "${1:-$(echo dist/determined_cpp-*.whl)}")"
root="$(mktemp -d)"
trap 'rm -rf --one-file-system "$root"' EXIT
mmdebstrap --quiet --variant=minbase --include=python3-venv bookworm "$root"
cp "$wheel" "$root/tmp/"
mkdir -p "$root/dev/shm" "$root/pytorch"
pytorch="$(.venv/bin/python -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])')"
# Mounts and processes are in namespaces of their own, which end with them: what is removed above is never PyTorch.
unshare --mount --pid --fork --kill-child bash -euc '
  mount -t proc proc "$1/proc"
  mount -t tmpfs tmpfs "$1/dev/shm"
  mount --bind -o ro "$2" "$1/pytorch"
  exec chroot "$1" env -i HOME=/root PATH=/environment/bin:/usr/bin:/bin DET_MASTER=http://127.0.0.1:18088 bash -euc "$3"
' - "$root" "$pytorch" '
  says() { grep -qF "$1" /tmp/said || { cat /tmp/said; echo "check_wheel.sh: nothing above says: $1"; exit 1; }; }
  cd /root
  python3 -m venv /environment
  pip install --quiet --no-index --disable-pip-version-check /tmp/*.whl
  det doctor --port 18088 >/tmp/said && exit 1
  says "/environment/bin/python3 -m pip install '"'determined-cpp[torch]'"'"
  says "apt-get install g++"
  says "apt-get install git"
  det up --port 18088 >/tmp/det.log 2>&1 &
  until grep -q "is ready" /tmp/det.log; do sleep 0.1; kill -0 $!; done
  det init first
  det init cxx --template cxx >/dev/null
  det experiment create -f --config max_restarts=0 first/const.yaml first >/tmp/said 2>&1 || true
  says "install it there: /environment/bin/python3 -m pip install"
  det experiment create --git first/const.yaml first >/tmp/said 2>&1 || true
  says "git"
  echo /pytorch >"$(echo /environment/lib/python3*/site-packages)/pytorch.pth"
  det experiment create --local --test cxx/const.yaml cxx >/tmp/said 2>&1 || true
  says "apt-get install clang lld"
  det experiment create -f first/const.yaml first
  det experiment list --csv | tee /tmp/said
  says COMPLETED
'
echo "installed and trained in an empty Debian 12"
