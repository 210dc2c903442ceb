/** Judges the runs of a trial when all have ended: each accepted one is there, once, with its result and its calls. */
import type { TestCluster } from "../cluster.js"
import type { Provider, Request } from "../provider.js"
import { groupBy } from "./Groups.js"
import type { Ledger } from "./Ledger.js"
import { type RunLoad, steps } from "./RunLoad.js"
import type { Trial } from "./Trial.js"

interface StoredRun {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly output: string | null
}

/** A call that was in hand when its node was frozen goes out when that wakes, whatever happened meanwhile. */
const wakingMillis = 1_000
/** A cancelled run stops within this time. */
const stopMillis = 1_000
/** What a busy machine may add. */
const allowanceMillis = 1_000

/** Judges the runs of a trial. All must have ended. */
export const judgeRuns = async (
  trial: Trial,
  cluster: TestCluster,
  load: RunLoad,
  provider: Provider,
  ledger: Ledger
): Promise<void> => {
  const stored = await cluster.sql<StoredRun>(
    `SELECT id, input->>'name' AS name, status, output #>> '{}' AS output FROM executions
     WHERE workflow_id = ANY($1) ORDER BY id`,
    [load.workflows]
  )
  const timedOut = judgeRecords(trial, load, stored)
  ledger.compare("accepted", { what: "runs", outside: load.accepted.size, service: stored.length })
  const [events] = await cluster.sql<{ accepted: number; duplicate: number }>(
    `SELECT count(*) FILTER (WHERE status = 'delivered')::int AS accepted,
      count(*) FILTER (WHERE status = 'duplicate')::int AS duplicate FROM event_records WHERE trigger_id = $1`,
    [load.trigger]
  )
  const names = [...load.accepted.keys()].filter((name) => name.startsWith("event-"))
  ledger.compare("accepted", { what: "events", outside: names.length, service: events?.accepted ?? 0 })
  trial.say(
    `${load.sentEvents()} webhooks were accepted for ${names.length} events; ${events?.duplicate} are duplicates`
  )
  await showLost(trial, cluster, load, stored)
  let repeated = 0
  for (const [name, requests] of groupBy(provider.requests, ({ url }) => url.split("/")[1] ?? "")) {
    const made = judgeCalls(trial, name, requests, load.cancelledAt.get(name) ?? Infinity)
    repeated += requests.length - made
    if (load.accepted.has(name) && !name.startsWith("cancelled-") && !timedOut.has(name) && made !== steps)
      trial.violated("ends", `${name} made ${made} calls of ${steps}`)
  }
  trial.say(
    `${stored.length} runs made ${provider.requests.length} calls; ${repeated} were repeated under their key; ${timedOut.size} Instant runs timed out`
  )
}

/** Shows what Postgres knows of accepted work that has no record. */
const showLost = async (
  { say }: Trial,
  cluster: TestCluster,
  { accepted }: RunLoad,
  stored: ReadonlyArray<StoredRun>
): Promise<void> => {
  const found = new Set(stored.map(({ name }) => name))
  const lost = [...accepted].flatMap(([name, id]) => (found.has(name) ? [] : [id]))
  if (lost.length === 0) return
  for (const table of ["event_records", "start_queue", "runs", "dead_letters"])
    for (const row of await cluster.sql(`SELECT * FROM ${table} t WHERE to_jsonb(t)::text LIKE ANY($1)`, [
      lost.map((id) => `%${id}%`)
    ]))
      say(`${table} has ${JSON.stringify(row).slice(0, 1_500)}`)
}

/** Judges the records. Returns the names of Instant runs that timed out: a frozen node may use up their half minute. */
const judgeRecords = ({ tried, violated }: Trial, load: RunLoad, stored: ReadonlyArray<StoredRun>) => {
  const byName = groupBy(stored, ({ name }) => name)
  const timedOut = new Set<string>()
  tried("ends", stored.length)
  for (const [name, id] of load.accepted)
    if (!byName.has(name)) violated("accepted", `${name} (${id}) was accepted and has no execution`)
  for (const [name, runs] of byName) {
    const ids = runs.map(({ id, status }) => `${id} ${status}`).join(", ")
    if (runs.length > 1) violated("once", `${name} has ${runs.length} executions: ${ids}`)
    const expected = name.startsWith("cancelled-") ? ["cancelled", null] : ["completed", name]
    for (const { id, output, status } of runs)
      if (name.startsWith("instant-") && status === "timed_out") timedOut.add(name)
      else if (status !== expected[0] || output !== expected[1])
        violated("ends", `${name} (${id}) is ${status} with the output ${output}`)
  }
  return timedOut
}

/** Judges the calls of one run, in the order in which they came. Returns how many different ones it made. */
const judgeCalls = (
  { begunAt, nodes, tried, violated }: Trial,
  name: string,
  requests: ReadonlyArray<Request>,
  cancelledAt: number
): number => {
  const wakes = nodes.flatMap(({ frozen }) => frozen.map(({ until }) => until))
  const isOfWaking = ({ at }: Request) => wakes.some((woken) => at >= woken && at < woken + wakingMillis)
  const keys = new Map<number, string | undefined>()
  let last = -1
  tried("once", requests.length)
  for (const request of requests) {
    const { at, key, url } = request
    const step = Number(url.split("/")[2])
    if (!keys.has(step)) keys.set(step, key)
    if (key === undefined || keys.get(step) !== key)
      violated("once", `call ${step} of ${name} was repeated with another key: ${key}`)
    if (step < last && !isOfWaking(request))
      violated("once", `call ${step} of ${name} came after call ${last}, ${(at - begunAt) / 1_000} s after the begin`)
    last = Math.max(last, step)
    if (at > cancelledAt + stopMillis + allowanceMillis && !isOfWaking(request))
      violated("ends", `${name} called ${at - cancelledAt} ms after it was cancelled`)
  }
  return keys.size
}
