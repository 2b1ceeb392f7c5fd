# Functions for docs/runbook.md, in a bash shell of root. Set PORTS to the ports of the instances on this machine.

APP=${APP:-/opt/hosting-api}
ETC=${ETC:-/etc/hosting-api}
BACKUPS=${BACKUPS:-/var/backups/hosting-api}
cd "$APP/current" && . "$ETC/settings.env"

# url PORT: prints the address of an instance on this machine.
url() {
  local host=${HOST:-127.0.0.1}
  case $host in
    0.0.0.0) host=127.0.0.1 ;;
    ::) host=[::1] ;;
    *:*) host=[$host] ;;
  esac
  echo "http://$host:$1"
}

# ready PORT: waits for an instance and prints {"status":"ready"}.
ready() { curl -fsg --retry 30 --retry-delay 1 --retry-all-errors "$(url "$1")/ready"; }

# each start|stop|restart: runs the command for one instance after the other; stops at the first that is not ready.
each() {
  local port
  for port in $PORTS; do
    systemctl "$1" "hosting-api@$port" || return 1
    [ "$1" = stop ] || ready "$port" || { echo "hosting-api@$port is not ready, see journalctl -u hosting-api@$port" >&2; return 1; }
  done
}

# save_settings: encrypts $ETC for the recipients in $ETC/backup.age; without that file, saves nothing.
save_settings() (
  [ -e "$ETC/backup.age" ] || exit 0
  umask 077
  set -o pipefail
  tar -C "$ETC" -c . | age -R "$ETC/backup.age" -o "$BACKUPS/etc-$(date +%F-%H%M%S).tar.age" &&
    ls "$BACKUPS"/etc-*.tar.age | head -n -30 | xargs -r rm
)

# unpack VERSION: fetches a version into a separate folder and prints its name. Refuses the running version.
unpack() {
  local folder
  git -C "$APP/git" fetch -q && folder=$APP/$(git -C "$APP/git" describe --tags --always "$1") || return 1
  [ "$folder" != "$(readlink -f "$APP/current")" ] || { echo "$folder is the version that runs" >&2; return 1; }
  rm -rf "$folder" && mkdir -p "$folder" && git -C "$APP/git" archive "$1" | tar -x -C "$folder" && echo "$folder"
}

# switch_to FOLDER: makes this version current. The link switches in one step.
switch_to() { ln -sfnr "$1" "$APP/next" && mv -T "$APP/next" "$APP/current" && cd "$APP/current"; }

# versions: prints the version of each instance; fails if a version differs from the link.
versions() {
  local port
  for port in $PORTS; do
    curl -fsSg "$(url "$port")/v1/info" | grep -F "${SERVICE_VERSION:-$(cut -c1-12 "$APP/current/COMMIT")}" ||
      { echo "hosting-api@$port does not run $(readlink -f "$APP/current")" >&2; return 1; }
  done
}

# with_url URL COMMAND...: runs a PostgreSQL command. The password is in the environment: every user can read arguments.
with_url() {
  local password=${1#*://*:}
  password=${password%%@*}
  PGPASSWORD=$(printf '%b' "${password//%/\\x}") "${@:2}" --dbname="${1/":$password@"/@}"
}
