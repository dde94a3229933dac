#!/usr/bin/env bash
# Builds the container image of deploy/kubernetes from a wheel, and trains a model in a container of it. The base is an empty
# Debian 12 of mmdebstrap, so that no registry of images is needed. As root, with the packages mmdebstrap, podman and runc.
#   tools/packaging/check_image.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e dist/determined_cpp-*.whl ] || { echo "dist has no wheel; run tools/release wheel first" >&2; exit 1; }
place="$(mktemp -d)"
# Without systemd, without overlays and with no more than this machine's limits, which may themselves be a container's; runc
# takes what control groups there are, of both versions.
options=(--root "$place/storage" --runroot "$place/run" --storage-driver vfs --cgroup-manager cgroupfs --runtime runc)
limits=(--ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=4096:4096)
container=
end() {
  if [ -n "$container" ]; then podman "${options[@]}" rm --force --time 0 "$container" >/dev/null || true; fi
  podman "${options[@]}" rmi --all --force >/dev/null 2>&1 || true
  rm -rf "$place"
}
trap end EXIT
# The certificates and the settings of pip of this machine: it may reach its package registries only through them.
settings=()
for file in /etc/ssl/certs /etc/pip.conf; do
  if [ -e "$file" ]; then settings+=(--volume "$file:$file:ro"); fi
done
mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$place/base.tar"
podman "${options[@]}" import --quiet "$place/base.tar" base >/dev/null
podman "${options[@]}" build --quiet --isolation=chroot --network=host "${settings[@]}" --build-arg BASE=localhost/base \
  -f deploy/kubernetes/Containerfile -t det dist
container="$(podman "${options[@]}" run --detach "${limits[@]}" --network=host --entrypoint sleep localhost/det infinity)"
podman "${options[@]}" exec "$container" bash -euc '
  mkdir /tmp/work && cd /tmp/work
  det up --port 18188 >/tmp/up.log 2>&1 &
  export DET_MASTER=http://127.0.0.1:18188
  for _ in $(seq 300); do det slot list >/dev/null 2>&1 && break; sleep 0.1; done
  det init spirals
  det experiment create spirals/const.yaml spirals --follow
'
echo "built an image and trained a model in a container of it"
