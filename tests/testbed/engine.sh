# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The container engine, sourced by `testbed`: use the one that answers, else install and start one.

readonly ENGINE_WAIT_SECONDS=60

engine_answers() { command -v docker >/dev/null && docker info >/dev/null 2>&1; }

systemd_runs() { [[ -d /run/systemd/system ]]; }

# Debian 13 ships the client in a package of its own.
engine_packages() {
  command -v dockerd >/dev/null || printf '%s\n' docker.io iptables
  if ! command -v docker >/dev/null && apt-cache show docker-cli >/dev/null 2>&1; then
    echo docker-cli
  fi
}

packages_needed() {
  engine_answers || engine_packages
  command -v ssh-keygen >/dev/null || echo openssh-client
  if ! engine_answers || ! image_present; then
    command -v debootstrap >/dev/null || echo debootstrap
    [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || echo debian-archive-keyring
  fi
}

need_root() { # PURPOSE
  ((EUID == 0)) || die "$1 needs root: run this command with sudo"
}

install_packages() { # PACKAGE…
  local log=$STATE_DIR/logs/apt.log
  need_root "installing $*"
  progress "installing: $* (log: $log)"
  {
    apt-get update || true # a broken third-party source must not stop us; a missing package will
    DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l apt-get install -y --no-install-recommends "$@"
  } >"$log" 2>&1 || {
    show_tail "$log"
    die "apt-get could not install $* ($log): repair apt, then run 'testbed prepare' again"
  }
}

# Without systemd the daemon runs detached: it outlives this shell and holds none of its descriptors.
engine_launch() { # LOG
  if systemd_runs; then
    systemctl start docker >"$1" 2>&1 || true # the wait below reports it, with the daemon's own lines
  elif ! pgrep -x dockerd >/dev/null 2>&1; then
    setsid dockerd </dev/null >"$1" 2>&1 9>&- &
  fi
}

engine_log_tail() { # LOG
  show_tail "$1"
  if systemd_runs; then journalctl -u docker -n 15 --no-pager >&2 || true; fi
}

engine_start() {
  local log=$STATE_DIR/logs/dockerd.log
  need_root "starting the container engine"
  progress "starting the container engine (log: $log)"
  engine_launch "$log"
  await "$ENGINE_WAIT_SECONDS" engine_answers || {
    engine_log_tail "$log"
    die "docker did not answer within $ENGINE_WAIT_SECONDS s ($log): see the lines above, then 'testbed prepare' again"
  }
}
