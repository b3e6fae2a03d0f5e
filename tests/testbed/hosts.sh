# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Test hosts as containers, sourced by `testbed`. A host's whole description is digested into a label;
# `up` keeps a running host whose digest is the same and replaces any other.

# testbed sets the variables that are read here.
# shellcheck disable=SC2153
readonly NETWORK=kvcache-testbed
readonly LABEL=kvcache.testbed
readonly BOOT_WAIT_SECONDS=90

# What systemd needs in an unprivileged container (`--privileged` itself fails on some machines),
# and NET_ADMIN for tests that filter ports. /dev/shm is as on a server: the default of 64 MiB is too small for torch.
readonly RUN_FLAGS=(
  --detach --tty --cgroupns=private --cap-add SYS_ADMIN --cap-add NET_ADMIN --cap-add SYS_PTRACE
  --security-opt seccomp=unconfined --security-opt apparmor=unconfined
  --tmpfs /run:exec --tmpfs /run/lock --shm-size 4g --stop-signal SIGRTMIN+3
)

STARTED=() # names of the hosts that this run started

container_of() { echo "kvcache-$1"; } # NAME

label_of() { # CONTAINER KEY; empty when there is no such container
  docker container inspect --format "{{index .Config.Labels \"$LABEL.$2\"}}" "$1" 2>/dev/null || true
}

container_exists() { docker container inspect "$1" >/dev/null 2>&1; }

container_runs() { [[ $(docker container inspect --format '{{.State.Running}}' "$1" 2>/dev/null) == true ]]; }

# --- network ---------------------------------------------------------------------------------------

network_subnet() { docker network inspect --format '{{(index .IPAM.Config 0).Subnet}}' "$NETWORK" 2>/dev/null; }

network_members() { docker network inspect --format '{{range .Containers}}{{.Name}} {{end}}' "$NETWORK" 2>/dev/null; }

# A route of this machine that the subnet would shadow: inside it, or a connected network around it.
route_clash() {
  command -v ip >/dev/null || return 0
  {
    ip -4 route show root "$SUBNET"
    ip -4 route show match "$SUBNET" | grep -v ' via ' || true
  } | awk '!seen++ { print $1, $2, $3 }'
}

network_create() {
  local clash reason
  clash=$(route_clash)
  [[ -z $clash ]] || die "subnet $SUBNET clashes with this machine's route '$clash': set KVCACHE_TESTBED_PREFIX, e.g. 10.213.7"
  reason=$(docker network create --driver bridge --subnet "$SUBNET" "$NETWORK" 2>&1) ||
    die "subnet $SUBNET can't be used (${reason//$'\n'/ }): set KVCACHE_TESTBED_PREFIX, e.g. 10.213.7"
}

network_ensure() {
  local subnet members
  subnet=$(network_subnet) || { network_create && return; }
  [[ $subnet != "$SUBNET" ]] || return 0
  members=$(network_members)
  [[ -z $members ]] || die "network $NETWORK has subnet $subnet, not $SUBNET, and hosts (${members% }): set KVCACHE_TESTBED_PREFIX=${subnet%.*}, or remove them with 'docker rm -f ${members% }'"
  docker network rm "$NETWORK" >/dev/null
  network_create
}

network_remove() {
  network_subnet >/dev/null || return 0
  docker network rm "$NETWORK" >/dev/null 2>&1 || progress "network $NETWORK is kept: in use by $(network_members)"
}

# --- one host --------------------------------------------------------------------------------------

# Prints the arguments of `docker run` that come from the command line, one a line.
host_args() { # NAME ADDRESS
  local mount
  printf '%s\n' --name "$(container_of "$1")" --hostname "$1" --network "$NETWORK" --ip "$2"
  if [[ -n $OPT_MEMORY ]]; then printf '%s\n' --memory "$OPT_MEMORY"; fi
  for mount in "${OPT_TMPFS[@]}"; do
    printf '%s\n' --tmpfs "${mount%%:*}:exec,mode=0755,size=${mount#*:}"
  done
  for mount in "${OPT_MOUNT[@]}"; do
    printf '%s\n' --volume "$mount:ro"
  done
  printf '%s\n' --label "$LABEL.name=$1" --label "$LABEL.address=$2" --label "$LABEL.group=$OPT_GROUP" \
    --label "$LABEL.state=$STATE_DIR"
}

host_digest() { # ARGUMENT…
  { image_ref; printf '%s\n' "${RUN_FLAGS[@]}" "$@"; if $OPT_KEY; then cat "$KEY.pub"; fi; } | sha256sum | cut -c1-16
}

host_forget() { # NAME ADDRESS: drops the lines of either from known_hosts
  awk -v name="$1" -v address="$2" '{ split($1, n, ","); if (n[1] != name && n[2] != address) print }' \
    "$KNOWN_HOSTS" >"$KNOWN_HOSTS.new"
  mv "$KNOWN_HOSTS.new" "$KNOWN_HOSTS"
}

host_remove() { # NAME
  local container address
  container=$(container_of "$1")
  container_exists "$container" || return 0
  address=$(label_of "$container" address)
  docker rm --force --volumes "$container" >/dev/null || die "container $container could not be removed: see the line above"
  host_forget "$1" "$address"
  progress "$1: removed"
}

# Says why a present container is replaced; another clone's host is named as such.
host_replace() { # NAME
  local state
  state=$(label_of "$(container_of "$1")" state)
  if [[ $state != "$STATE_DIR" ]]; then
    progress "$1: replacing the host of another test bed (${state:-no label})"
  fi
  host_remove "$1"
}

host_run() { # NAME ADDRESS DIGEST ARGUMENT…
  local name=$1 address=$2 digest=$3 reason
  shift 3
  reason=$(docker run "${RUN_FLAGS[@]}" "$@" --label "$LABEL.spec=$digest" "$(image_ref)" 2>&1 >/dev/null) && return
  docker rm --force "$(container_of "$name")" >/dev/null 2>&1 || true
  if [[ $reason == *"ddress already in use"* ]]; then
    die "$name: address $address is taken (on this network: $(network_members)): choose another octet or remove that host"
  fi
  die "$name: docker run failed: ${reason//$'\n'/ }"
}

# Starts the host unless it runs as described. Does not wait: several hosts boot at the same time.
host_start() { # NAME OCTET
  local name=$1 address=$PREFIX.$2 container digest args
  container=$(container_of "$name")
  mapfile -t args < <(host_args "$name" "$address")
  digest=$(host_digest "${args[@]}")
  if container_runs "$container" && [[ $(label_of "$container" spec) == "$digest" ]]; then
    return 0
  fi
  if container_exists "$container"; then host_replace "$name"; fi
  progress "$name: starting at $address"
  host_run "$name" "$address" "$digest" "${args[@]}"
  STARTED+=("$name")
}

# --- waiting ---------------------------------------------------------------------------------------

host_booted() { # CONTAINER: true once systemd has settled, or the container has died
  container_runs "$1" || return 0
  case $(docker exec "$1" systemctl is-system-running 2>/dev/null) in
    running | degraded) return 0 ;;
    *) return 1 ;;
  esac
}

sshd_answers() { # ADDRESS
  local banner
  # shellcheck disable=SC2016  # expanded by the inner shell
  banner=$(timeout 3 bash -c 'exec 3<>"/dev/tcp/$0/22" && IFS= read -r line <&3 && echo "$line"' "$1" 2>/dev/null)
  [[ $banner == SSH-* ]]
}

host_give_up() { # NAME CONTAINER WHAT
  local log
  log=$(docker logs --tail 15 "$2" 2>&1 | sed 's/\x1b\[[0-9;]*[A-Za-z]//g')
  # Each systemd takes some of what the kernel gives to all containers together.
  if [[ $log == *"inotify object: Too many open files"* ]]; then
    die "$1: this machine has no inotify instances left for another systemd: stop hosts that you don't need ('testbed down'), or raise the limit with 'sysctl -w fs.inotify.max_user_instances=1024'"
  fi
  progress "last lines of $2's log:"
  echo "$log" >&2
  die "$1: $3: look around with 'docker exec -it $2 bash', then 'testbed down $1' and 'testbed up' again"
}

host_check_units() { # NAME CONTAINER
  local failed
  container_runs "$2" || host_give_up "$1" "$2" "systemd stopped while it booted"
  failed=$(docker exec "$2" systemctl list-units --failed --plain --no-legend | cut -d' ' -f1 | tr '\n' ' ')
  [[ -n $failed ]] || return 0
  # A host that was kept may hold a service that a test broke: that is for its owner to repair.
  [[ " ${STARTED[*]} " == *" $1 "* ]] || { progress "$1: failed units: $failed(host kept as it is)" && return 0; }
  host_give_up "$1" "$2" "failed units: $failed"
}

host_authorize() { # CONTAINER
  docker exec -i "$1" sh -ec '
    umask 077
    file=~ops/.ssh/authorized_keys
    key=$(cat)
    grep -qsxF "$key" $file && exit
    mkdir -p ~ops/.ssh
    echo "$key" >>$file
    chown -R ops: ~ops/.ssh' <"$KEY.pub"
}

# The host's key is read through the engine, so that the first connection is already checked.
host_remember() { # NAME ADDRESS CONTAINER
  local key
  key=$(docker exec "$3" cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub)
  host_forget "$1" "$2"
  printf '%s,%s %s\n' "$1" "$2" "$key" >>"$KNOWN_HOSTS"
}

host_await() { # NAME OCTET
  local name=$1 address=$PREFIX.$2 container
  container=$(container_of "$name")
  await "$BOOT_WAIT_SECONDS" host_booted "$container" ||
    host_give_up "$name" "$container" "systemd did not settle within $BOOT_WAIT_SECONDS s"
  host_check_units "$name" "$container"
  await "$BOOT_WAIT_SECONDS" sshd_answers "$address" ||
    host_give_up "$name" "$container" "no ssh banner from $address:22 within $BOOT_WAIT_SECONDS s"
  if $OPT_KEY; then host_authorize "$container"; fi
  host_remember "$name" "$address" "$container"
  progress "$name: ready at $address"
}

# --- many hosts ------------------------------------------------------------------------------------

own_hosts() { # [GROUP]
  docker ps --all --filter "label=$LABEL.state=$STATE_DIR" ${1:+--filter "label=$LABEL.group=$1"} \
    --format "{{.Label \"$LABEL.name\"}}"
}
