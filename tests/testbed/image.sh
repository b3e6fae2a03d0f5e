# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The recipe of the test-host image, sourced by `testbed`. The image's tag is a digest of this file and of what it copies:
# a change there builds a new image. The image is lean on purpose (no python3-apt, no ca-certificates,
# no pip, no venv, no apt lists), so that a role that forgets a package fails here, not at a customer.

readonly IMAGE_NAME=kvcache-testbed
readonly IMAGE_SUITE=bookworm
readonly IMAGE_PACKAGES=systemd,systemd-sysv,dbus,python3,openssh-server,sudo,iproute2
# Units that make no sense in a container, and timers that would hold apt's lock while a role needs it.
readonly IMAGE_MASKED_UNITS=(
  console-getty.service container-getty@.service getty@.service getty-static.service serial-getty@.service
  dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount sys-kernel-config.mount
  sys-kernel-debug.mount sys-kernel-tracing.mount systemd-binfmt.service systemd-modules-load.service
  systemd-remount-fs.service systemd-sysctl.service systemd-udevd.service
  apt-daily.timer apt-daily-upgrade.timer
)

image_ref() {
  local digest
  digest=$(cat "$TESTBED_DIR/image.sh" "$TESTBED_DIR/keep_bytecode.py" | sha256sum)
  printf '%s:%s\n' "$IMAGE_NAME" "${digest:0:12}"
}

image_present() { docker image inspect "$(image_ref)" >/dev/null 2>&1; }

# Writes standard input to FILE of the new root file system, with MODE.
image_file() { # ROOT FILE MODE
  mkdir -p "$(dirname "$1$2")"
  cat >"$1$2"
  chmod "$3" "$1$2"
}

image_init() { # ROOT
  image_file "$1" /usr/local/sbin/testbed-init 0755 <<'INIT'
#!/bin/sh
# The engine mounts the container's own cgroups read-only, systemd must write to them.
# "bind" changes this mount alone; the hierarchy behind it is shared with the machine.
while read -r _ target type _; do
  case $type in cgroup | cgroup2) mount -o remount,bind,rw "$target" ;; esac
done </proc/self/mounts
exec /lib/systemd/systemd "$@"
INIT
}

image_systemd() { # ROOT
  local unit
  for unit in "${IMAGE_MASKED_UNITS[@]}"; do
    ln -sf /dev/null "$1/etc/systemd/system/$unit"
  done
  image_file "$1" /etc/systemd/journald.conf.d/testbed.conf 0644 <<'JOURNALD'
[Journal]
Storage=volatile
JOURNALD
  : >"$1/etc/machine-id" # each host makes its own
}

image_ssh() { # ROOT
  rm -f "$1"/etc/ssh/ssh_host_*
  image_file "$1" /etc/ssh/sshd_config.d/testbed.conf 0644 <<'SSHD'
PermitRootLogin no
PasswordAuthentication yes
SSHD
  image_file "$1" /etc/systemd/system/ssh.service.d/host-keys.conf 0644 <<'UNIT'
[Service]
# Each host makes its own host key, before the stock check of the configuration. One key is enough.
ExecStartPre=
ExecStartPre=/bin/sh -c 'f=/etc/ssh/ssh_host_ed25519_key; test -s $f || ssh-keygen -q -t ed25519 -N "" -f $f'
ExecStartPre=/usr/sbin/sshd -t
UNIT
}

# ops: what the inventory logs in as, without a password. fresh: a login as a provider hands it out.
image_users() { # ROOT
  chroot "$1" useradd --create-home --shell /bin/bash --password '*' ops
  chroot "$1" useradd --create-home --shell /bin/bash --groups sudo fresh
  chroot "$1" chpasswd <<<'fresh:fresh-password'
  image_file "$1" /etc/sudoers.d/ops 0440 <<<'ops ALL=(ALL:ALL) NOPASSWD: ALL'
}

# As in Debian's own container images: a host that lives for minutes needs no package safe on its disk.
image_packages() { # ROOT
  image_file "$1" /etc/dpkg/dpkg.cfg.d/testbed 0644 <<<'force-unsafe-io'
  image_file "$1" /etc/apt/apt.conf.d/testbed 0644 <<<'Acquire::Languages "none";'
}

# A task takes a quarter less time; what the host's Python does is the same (keep_bytecode.py).
image_python() { # ROOT
  local packages=/usr/lib/python3/dist-packages
  image_file "$1" "$packages/keep_bytecode.py" 0644 <"$TESTBED_DIR/keep_bytecode.py"
  image_file "$1" "$packages/keep_bytecode.pth" 0644 <<<'import keep_bytecode'
  chroot "$1" python3 -m compileall -q "$packages/keep_bytecode.py"
  image_file "$1" /etc/tmpfiles.d/testbed-python.conf 0644 <<<'d /run/testbed-python 1777'
}

image_trim() { # ROOT
  rm -rf "$1"/var/cache/apt/*.bin "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
  mkdir -p "$1/var/lib/apt/lists/partial"
}

image_debootstrap() { # ROOT
  local log=$STATE_DIR/logs/debootstrap.log
  mkdir -p "$STATE_DIR/debs"
  progress "building the image: debootstrap, about 2 minutes (log: $log)"
  # A mount namespace of its own: an interrupted run leaves no mount behind.
  LC_ALL=C.UTF-8 unshare --mount debootstrap --variant=minbase --include="$IMAGE_PACKAGES" \
    --cache-dir="$STATE_DIR/debs" "$IMAGE_SUITE" "$1" ${KVCACHE_TESTBED_MIRROR:+"$KVCACHE_TESTBED_MIRROR"} \
    >"$log" 2>&1 || {
    show_tail "$log"
    die "debootstrap failed ($log): check that apt's mirror answers, or name one in KVCACHE_TESTBED_MIRROR"
  }
}

image_import() { # ROOT
  progress "building the image: import as $(image_ref)"
  tar -C "$1" --numeric-owner -c . | docker import \
    --change 'ENV container=docker' --change 'CMD ["/usr/local/sbin/testbed-init"]' \
    - "$(image_ref)" >/dev/null || die "docker import failed (line above): is there room in docker's data directory?"
}

# Everything happens in a directory that goes away on every exit; the image appears at the very end.
image_build() {
  local root
  BUILD_DIR=$(mktemp -d "$STATE_DIR/build.XXXXXX")
  trap image_discard EXIT
  root=$BUILD_DIR/root
  image_debootstrap "$root"
  image_init "$root"
  image_systemd "$root"
  image_ssh "$root"
  image_users "$root"
  image_packages "$root"
  image_python "$root"
  image_trim "$root"
  image_import "$root"
  image_discard
  trap - EXIT
}

image_discard() { rm -rf --one-file-system "$BUILD_DIR"; }
