# Functions of .ci/run about the processes that it starts, and the machine on which it runs.

# The processes of this run: they have its mark in their environment. Also those that left its group, as Postgres does.
processes_of_run() {
  (
    mark=$SVC_CI_RUN
    # The programs that search are none of them.
    unset SVC_CI_RUN
    grep -lzs "^SVC_CI_RUN=$mark\$" /proc/[0-9]*/environ | cut -d/ -f3
  )
}

signal_run() { for pid in $(processes_of_run); do kill "-$1" "$pid" 2> /dev/null; done; }

# What the reports of tests say: `passed failed`.
reported() {
  node -e '
    const { readFileSync } = require("node:fs")
    const entries = process.argv.slice(1).flatMap((file) => readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)))
    console.log(entries.reduce((sum, { passed }) => sum + passed, 0), entries.reduce((sum, { failures }) => sum + failures.length, 0))
  ' "$SVC_CI_RUN"/svc-test-report-*/* 2> /dev/null || echo "0 0"
}

# The counts at the ends of outputs, added: `passed failed`.
counts() { tail -qn 1 "$@" | awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 } END { print passed + 0, failed + 0 }'; }

# Runs a command for at most so many seconds, and ends all its processes: at the limit, at a signal, and what it left.
supervise() {
  local limit=$1 child reason="" passed failed done_passed done_failed status
  shift
  trap 'reason="It was told to end."' TERM INT HUP
  setsid "$@" &
  child=$!
  while [ -z "$reason" ] && kill -0 "$child" 2> /dev/null; do
    [ "$SECONDS" -lt "$limit" ] || reason="It took longer than $((limit / 60)) minutes."
    sleep 1 &
    wait $! || true
  done
  if [ -z "$reason" ]; then
    wait "$child"
    status=$?
    signal_run KILL
    return "$status"
  fi
  # What is known, before the reports are removed.
  read -r passed failed < <(reported)
  read -r done_passed done_failed < <(counts "$SVC_CI_RUN"/{quick,processes} 2> /dev/null)
  # Postgres ends at INT; whatever is left has five seconds.
  signal_run TERM
  signal_run INT
  for _ in $(seq 25); do [ -n "$(processes_of_run)" ] || break; sleep 0.2; done
  signal_run KILL
  echo "FAILED the run: $reason"
  echo "$((passed + done_passed)) passed, $((failed + done_failed + 1)) failed"
  return 1
}

# What may explain a slow or failing run.
describe_machine() {
  local left
  echo "$(nproc) cores, calibration $(node -e 'import("./scripts/test/Times.mjs").then((times) => console.log(times.calibrate().toFixed(0)))') ms, load $(cut -d' ' -f1-3 /proc/loadavg)"
  free -m | awk '/^Mem/ { print $7 " of " $2 " MiB of memory are free" }'
  df -h --output=avail,target /tmp /dev/shm 2> /dev/null | tail -n +2 | awk '{ print $1 " free in " $2 }'
  left=$(find /tmp /dev/shm -maxdepth 1 -name 'svc-test-*-*' 2> /dev/null | wc -l)
  echo "$left directories of earlier runs are left; the tests remove what belongs to no living run"
}
