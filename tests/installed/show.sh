# What the shell programs share: claims that they print, and a folder for their files.
set -uo pipefail
folder=$(mktemp -d)

# show CLAIM COMMAND...: prints the claim, and ends the script unless the command succeeds.
show() {
  local claim=$1
  shift
  if "$@" >"$folder/out" 2>&1; then
    echo "holds: $claim"
  else
    echo "DOES NOT HOLD: $claim"
    cat "$folder/out" "$folder"/*log 2>/dev/null
    exit 1
  fi
}
prints() { "${@:2}" 2>&1 | grep -F -- "$1"; }
fails_with() { ! "${@:2}" >"$folder/error" 2>&1 && grep -F -- "$1" "$folder/error"; }
# soon COMMAND...: whether it succeeds within five minutes.
soon() {
  for ((i = 0; i < 3000; i++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  return 1
}
