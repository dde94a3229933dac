#!/usr/bin/env bash
# Installs the Debian package in an empty Debian 12, checks its units, starts the master as its unit would, and removes it
# again. As root, with the package mmdebstrap.
#   tools/packaging/check_deb.sh [dist/determined-cpp_VERSION_amd64.deb]
set -euo pipefail
cd "$(dirname "$0")/../.."
package="$(realpath "${1:-$(echo dist/determined-cpp_*.deb)}")"
root="$(mktemp -d)"
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=minbase --include="ca-certificates,systemd" --customize-hook="copy-in $package /tmp" \
  --customize-hook="chroot \"\$1\" apt-get install --yes --quiet --no-install-recommends /tmp/$(basename "$package") >/dev/null" \
  bookworm "$root"
mount -t proc proc "$root/proc"
units="$root/usr/lib/systemd/system"
if command -v systemd-analyze >/dev/null; then
  # What a unit may reach, from 0 (nothing) to 100; the agent starts tasks of other users and has to be root.
  systemd-analyze verify --man=no --root="$root" determined-master.service determined-agent.service
  systemd-analyze security --offline=true --threshold=40 --no-pager "$units/determined-master.service" | tail -1
  systemd-analyze security --offline=true --threshold=90 --no-pager "$units/determined-agent.service" | tail -1
fi
chroot "$root" bash -euc '
  det version 2>/dev/null | head -1 || true
  python3 -c "import determined, determined._runtime; print(\"determined\", determined.__version__)"
  [ "$(stat -c %U:%a /var/lib/determined)" = determined:750 ]
  runuser -u determined -- det master --config-file /etc/determined/master.yaml --dir /var/lib/determined/master --port 18089 >/tmp/master.log 2>&1 &
  for _ in $(seq 100); do grep -q "is ready" /tmp/master.log && break; sleep 0.1; done
  det -m http://127.0.0.1:18089 master info | grep -i version
  kill %1; wait %1 || true
  apt-get purge --yes --quiet determined-cpp >/dev/null
  [ ! -e /usr/bin/det ] && [ ! -e /var/lib/determined ] && [ ! -e /etc/determined ]
'
echo "installed, started and removed in an empty Debian 12"
