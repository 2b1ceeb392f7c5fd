#!/usr/bin/env bash
# Restarts a game server, and waits until it runs. The restart is done once at most, whatever is lost on the way.
#   HOSTING_API_KEY=hk_... API_URL=https://api.example.com examples/clients/restart.sh SERVER [SECONDS]
# Status 0: it runs. Status 1: it does not run after SECONDS (default 300), or the restart failed; the last line says why.
set -euo pipefail
server=${1:?usage: restart.sh SERVER [SECONDS]}
seconds=${2:-300}
base=${API_URL:-http://localhost:3000}
id=restart-$(date +%s)-$RANDOM$RANDOM

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}
[[ ${HOSTING_API_KEY:-} == hk_* ]] || fail 'The environment variable HOSTING_API_KEY needs your key, hk_...'
headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

# Sends a request: call METHOD PATH [OPTION OF CURL]... Sets status (000 if there is no answer) and body.
call() {
  local method=$1 path=$2 answer
  shift 2
  : > "$headers"
  # Other users of the machine can read arguments, so curl reads the key from a pipe that printf, a builtin, fills.
  answer=$(curl --silent --max-time 30 --request "$method" --dump-header "$headers" --write-out '\n%{http_code}' \
    --header @<(printf 'Authorization: Bearer %s\n' "$HOSTING_API_KEY") "$@" "$base$path") || answer=$'\n000'
  status=${answer##*$'\n'}
  body=${answer%$'\n'*}
  body=${body%$'\n'}
  printf '%s %s: %s\n' "$method" "$path" "$status"
}

# Prints the text of a field of the body, which is flat JSON.
field() { sed -nE "s/.*\"$1\":\"([^\"]*)\".*/\1/p" <<< "$body"; }

# Waits for the seconds of Retry-After, or for those of its argument if there is none.
pause() {
  local wait
  wait=$(sed -nE 's/^[Rr]etry-[Aa]fter: *([0-9]+).*/\1/p' "$headers" | tail -n 1)
  wait=${wait:-$1}
  ((SECONDS + wait < seconds)) || fail "$server does not run after $SECONDS seconds. The last answer: $status $body"
  sleep "$wait"
}

# Sets outcome: running, accepted, failed or unknown; none if the restart has not arrived.
ask_outcome() {
  while true; do
    call GET "/v1/hosting/actions/$id"
    case $status in
      200) outcome=$(field status) ;;
      404) outcome=none ;;
      429 | 5?? | 000) outcome=running ;;
      *) fail "The outcome cannot be asked for: $status $body" ;;
    esac
    [[ $outcome == running ]] || return 0
    pause 2
  done
}

outcome=none
while [[ $outcome == none ]]; do
  call POST "/v1/hosting/game/power/$server/restart" --header "X-Request-Id: $id" --header "Idempotency-Key: $id"
  case $status in
    200) outcome=accepted ;;
    # Too early, and not done.
    429) pause 5 ;;
    # The answer is lost, or the panel did not answer in time. The restart may have been done all the same.
    5?? | 409 | 000)
      ask_outcome
      # Its Idempotency-Key makes the second attempt safe, even if the first one still arrives.
      [[ $outcome != none ]] || pause 5
      ;;
    *) fail "The restart was refused: $status $body" ;;
  esac
done
case $outcome in
  accepted) ;;
  failed) fail 'The restart failed and changed nothing.' ;;
  *) fail 'The restart may have been done: look at the server before you repeat it.' ;;
esac

while true; do
  call GET "/v1/hosting/game/power/$server"
  case $status in
    200) [[ $(field state) != running ]] || break ;;
    429 | 5?? | 000) ;;
    *) fail "The state cannot be read: $status $body" ;;
  esac
  pause 2
done
printf '%s runs after %s seconds.\n' "$server" "$SECONDS"
