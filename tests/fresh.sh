#!/usr/bin/env bash
# bash tests/fresh.sh [bookworm|trixie] [--user] [--first COMMAND] [--type COMMAND]...: proves
# README.md's two commands on a bare machine.
#
# Makes a minimal Debian root with debootstrap, clones HEAD into it, and types the two commands
# there: as root, or with --user as an ordinary user who may use sudo. Prints what each command took
# and installed. The last line is the suite's; the exit code is that of the first command that
# fails. For other environments (tests/matrix.sh) root types --first in the clone before, and the
# commands of --type replace README.md's.
#
#   TESSERA_MIRROR        the archive debootstrap takes packages from (unset: the one apt uses here)
#   TESSERA_FRESH_CACHE   where the bare root is kept as a tar file (unset: ~/.cache/tessera)
#   TESSERA_FRESH_ROOTS   where a root of 8 GB is made, without nodev and nosuid (unset: /var/tmp)
#   TESSERA_FRESH_PACKAGES  a folder of tests/packages.sh, in the place of a network
#   TESSERA_FRESH_CCACHE  a folder of compiled objects: ccache, which is installed in the root,
#                         takes them from there and adds to it (unset: everything is compiled)
#
# The mounts belong to this run's own mount namespace: they end with its last process, however it
# ends.
set -euo pipefail

fail() {
  printf 'tests/fresh.sh: error: %s\n' "$*" >&2
  exit 1
}
say() { printf '== %s\n' "$*"; }

release=bookworm user=root
inside='' first='' typed=() compiler_cache=() arguments=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    bookworm | trixie) release=$1 ;;
    --user) user=tessera ;;
    --first) first=$2 && shift ;;
    --type) typed+=("$2") && shift ;;
    --inside) inside=$2 && shift ;;
    *) fail "what is $1? usage: bash tests/fresh.sh [bookworm|trixie] [--user]" \
      "[--first COMMAND] [--type COMMAND]..." ;;
  esac
  shift
done
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
home=/home/tessera
[ "$user" != root ] || home=/root

# Runs a command in the clone, with the environment of a fresh login of the user.
run_as() { # user command
  chroot "$inside" /usr/sbin/runuser -u "$1" -- env -i HOME="$home" USER="$1" \
    LOGNAME="$1" SHELL=/bin/bash "${compiler_cache[@]}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd ~/tessera && $2"
}

packages() { chroot "$inside" dpkg-query -W -f '${Package} ${Installed-Size}\n' | sort; }

mount_inside() {
  mount -t proc proc "$inside/proc"
  mount --rbind /sys "$inside/sys"
  mount --rbind /dev "$inside/dev"
  mount -t tmpfs -o mode=1777 shm "$inside/dev/shm"
  if [ -n "${TESSERA_FRESH_PACKAGES:-}" ]; then
    mkdir -p "$inside/var/cache/tessera"
    mount --bind "$TESSERA_FRESH_PACKAGES" "$inside/var/cache/tessera"
    if [ -e "$TESSERA_FRESH_PACKAGES/$release/Packages" ]; then
      echo "deb [trusted=yes] file:/var/cache/tessera/$release ./" >"$inside/etc/apt/sources.list"
    fi
  fi
  if [ -n "${TESSERA_FRESH_CCACHE:-}" ]; then
    mkdir -p "$TESSERA_FRESH_CCACHE" "$inside/var/cache/ccache"
    mount --bind "$TESSERA_FRESH_CCACHE" "$inside/var/cache/ccache"
    chmod -R a+rwX "$inside/var/cache/ccache"
    run_as root "apt-get update && apt-get install -y --no-install-recommends ccache" >/dev/null ||
      fail "apt failed to install ccache"
    compiler_cache=(CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
      CCACHE_DIR=/var/cache/ccache CCACHE_UMASK=000 CCACHE_NOHASHDIR=1 CCACHE_BASEDIR="$home"
      CCACHE_MAXSIZE=20G)
  fi
}

# Types the commands, in the namespaces that unshare made.
type_commands() {
  local commands=("${typed[@]}") command code started log before=$inside/var/tmp/packages.before
  local installed
  if [ ${#commands[@]} = 0 ]; then
    mapfile -t commands < <(sed -n 's/^\(bash jobs\/[a-z]*\.sh\) .*/\1/p' "$tree/README.md")
    [ "${commands[*]}" = "bash jobs/run.sh bash jobs/test.sh" ] ||
      fail "README.md no longer begins with the two commands: ${commands[*]}"
  fi
  if [ -n "$first" ]; then run_as root "$first" || fail "root's command failed: $first"; fi
  for command in "${commands[@]}"; do
    say "\$ $command        ($release, $user)"
    packages >"$before"
    started=$SECONDS code=0
    log=$inside/var/tmp/typed.log
    run_as "$user" "$command" 2>&1 | tee "$log" || code=$?
    installed=$(packages | comm -13 "$before" - |
      awk '{ n++; kb += $2 } END { printf "%d packages, %d MB", n, kb / 1024 }')
    printf '== %s: exit code %d after %d:%02d min; it installed %s\n' "$command" "$code" \
      $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) "$installed"
    [ "$code" = 0 ] || break
  done
  tail -n 1 "$log"
  return "$code"
}

if [ -n "$inside" ]; then
  mount_inside
  type_commands
  exit
fi

# Prints the archive that apt uses here, or nothing (debootstrap then takes its own).
mirror() {
  if [ -n "${TESSERA_MIRROR:-}" ]; then
    echo "$TESSERA_MIRROR"
  elif command -v apt-get >/dev/null; then
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' \
      'Label: Debian' 'Component: main' | sort -u | head -n 1
  fi
}

# Makes the bare root as a tar file, unless there is one of the last 30 days.
make_base() { # tar
  if [ -n "${TESSERA_FRESH_PACKAGES:-}" ] && [ -e "$1" ]; then return 0; fi
  [ -z "$(find "$1" -mtime -30 2>/dev/null)" ] || return 0
  say "a bare $release by debootstrap, kept in $1"
  local new=$root.base site with=sudo
  site=$(mirror)
  case $site in https:*) with=sudo,ca-certificates ;; esac
  debootstrap --variant=minbase --include="$with" "$release" "$new" ${site:+"$site"} \
    >"$root.log" 2>&1 || fail "debootstrap failed: $(tail -n 3 "$root.log" | tr '\n' ' ')"
  # How packages are reached from here: a proxy, for example. Nothing else of this machine.
  if command -v apt-config >/dev/null; then
    apt-config dump | grep -iE '^Acquire::(https?::Proxy|Check-)' \
      >"$new/etc/apt/apt.conf.d/90surroundings" || true
  fi
  mkdir -p "$(dirname "$1")"
  tar -C "$new" --numeric-owner -cf "$1.$$" . && mv "$1.$$" "$1"
  rm -rf "$new"
}

[ "$(id -u)" = 0 ] || fail "it needs root, for debootstrap, chroot and mount"
[ -n "${TESSERA_FRESH_PACKAGES:-}" ] || command -v debootstrap >/dev/null ||
  fail "it needs debootstrap (apt-get install debootstrap)"
unshare --mount --pid --fork true 2>/dev/null ||
  fail "it needs a mount and a process namespace, which are not allowed here"

root=$(mktemp -d "${TESSERA_FRESH_ROOTS:-/var/tmp}/tessera-$release-XXXXXX")
chmod 755 "$root"
commands=
clean_up() {
  if [ -n "$commands" ]; then
    kill "$commands" 2>/dev/null && wait "$commands" || true # and with it, all that it started
  fi
  rm -rf --one-file-system "$root" "$root.base" "$root.log"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

base=${TESSERA_FRESH_PACKAGES:-${TESSERA_FRESH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tessera}}
base=$base/$release-$(uname -m).tar
make_base "$base"
tar -C "$root" --numeric-owner -xpf "$base"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
echo "127.0.0.1 localhost $(uname -n)" >"$root/etc/hosts"
if [ -n "${PIP_CERT:-}" ]; then # how pip reaches its packages from here
  cp -L "$PIP_CERT" "$root/etc/pip.cert"
  printf '[global]\ncert = /etc/pip.cert\n' >"$root/etc/pip.conf"
fi
if [ "$user" != root ]; then
  chroot "$root" useradd --create-home --shell /bin/bash "$user"
  echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
fi
git clone --quiet "$tree" "$root$home/tessera"
chroot "$root" chown -R "$user:" "$home/tessera"
say "HEAD of the clone: $(git -C "$tree" log -1 --format='%h %s')"

unshare --mount --pid --fork --kill-child \
  bash "${BASH_SOURCE[0]}" "${arguments[@]}" --inside "$root" &
commands=$!
code=0
wait "$commands" || code=$?
commands=
exit "$code"
