#!/usr/bin/env bash
# The Debian package of a server: the program, the Python package, and units for systemd, from what tools/build.sh built.
#   tools/packaging/deb.sh OUTPUT_DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/../.."
output="$(realpath "$1")"
version="$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/determined/_version.py)"
root="$(mktemp -d)"
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT
files=tools/packaging/debian

install -D -s -m 755 build/release/bin/det "$root/usr/bin/det"
packages="$root/usr/lib/python3/dist-packages"
mkdir -p "$packages"
cp -r python/determined python/determined_common "$packages/"
find "$packages" \( -name __pycache__ -o -name '.*_cache' -o -name ruff.toml \) -prune -exec rm -rf {} +
strip --strip-unneeded "$packages"/determined/_native.abi3.so
install -D -m 644 $files/determined-master.service "$root/usr/lib/systemd/system/determined-master.service"
install -D -m 644 $files/determined-agent.service "$root/usr/lib/systemd/system/determined-agent.service"
install -D -m 644 $files/master.yaml "$root/etc/determined/master.yaml"
install -D -m 644 $files/agent.env "$root/etc/determined/agent.env"
install -D -m 644 $files/copyright "$root/usr/share/doc/determined-cpp/copyright"
python3 tools/packaging/notices.py directory "$root/usr/share/doc/determined-cpp"
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/determined-cpp/changelog.gz"

# The libraries that the two files are linked with, as the packages of this Debian that hold them.
mkdir -p "$root/debian"
printf 'Source: determined-cpp\n\nPackage: determined-cpp\nArchitecture: any\n' >"$root/debian/control"
depends="$(cd "$root" && dpkg-shlibdeps -O --ignore-missing-info usr/bin/det usr/lib/python3/dist-packages/determined/_native.abi3.so 2>/dev/null | sed 's/^shlibs:Depends=//')"
rm -r "$root/debian"

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: determined-cpp
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The Determined C++ team <nobody@example.invalid>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends, python3 (>= 3.9), adduser
Recommends: openssh-server
Suggests: postgresql
Section: science
Priority: optional
Description: train, search and track deep-learning models
 One program that is master, agent and command line of a training platform:
 experiments on one slot or many, hyperparameter search, checkpoints, metrics
 and logs on the command line and in the browser.
 .
 The units determined-master and determined-agent are not started before an
 administrator enables them.
END
printf '/etc/determined/master.yaml\n/etc/determined/agent.env\n' >"$root/DEBIAN/conffiles"
install -m 755 $files/postinst $files/prerm $files/postrm "$root/DEBIAN/"
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$output" >/dev/null
