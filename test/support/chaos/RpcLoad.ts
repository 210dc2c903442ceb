/**
 * Services that use the package's RPC client over all faults: they start, await and cancel runs, publish events and call
 * through a customer's connection.
 */
import { setTimeout as pause } from "node:timers/promises"
import { connect, type RpcClient, type RpcFailure } from "../../../src/http/rpc/client/Package.js"
import type { TestCluster } from "../cluster.js"
import type { Farm } from "./Farm.js"
import type { Ledger } from "./Ledger.js"
import type { TrialNode } from "./Nodes.js"
import { makeWatchers } from "./RpcWatchers.js"
import type { Trial } from "./Trial.js"

const echo = `export default async (ctx) => {
  await new Promise((done) => setTimeout(done, 400))
  return ctx.input.name
}`
const endless = "export default async () => new Promise((done) => setTimeout(done, 3_600_000))"

/** How long a call is repeated: over all faults, and what follows. */
const insistMillis = 120_000
/** A call that takes longer is named, with its failures. */
const longMillis = 60_000
const againMillis = 200

/** Failures after which the same call may be sent again, as the service or the client says. */
const passing: ReadonlySet<string> = new Set([
  "ConnectionLost",
  "Unavailable",
  "RateLimited",
  "IdempotencyInProgress",
  "ProviderFailed",
  "ProviderTimedOut",
  "ProviderLimited",
  "ConnectionInactive"
])

export interface RpcLoad {
  /** Sends, and watches, until the trial is over. */
  readonly send: () => Promise<void>
  /** To be called when all runs have ended. */
  readonly judge: (cluster: TestCluster, ledger: Ledger) => Promise<void>
  readonly close: () => Promise<void>
}

interface RpcLoadOptions {
  /** Where the cluster answers. */
  readonly url: string
  readonly farm: Farm
  /** The customers' connections at the farm. */
  readonly connections: ReadonlyMap<string, string>
}

export const makeRpcLoad = async (
  trial: Trial,
  front: TrialNode,
  { connections, farm, url }: RpcLoadOptions
): Promise<RpcLoad> => {
  const { tried, violated } = trial
  const { client } = front.node
  const made = await client.call("POST", "/api/v1/customers", { name: "Caller by RPC" })
  const customer: string = made.body.data.id
  const workflow = await client.workflow("remote", "standard", echo)
  const instant = await client.workflow("remote_instant", "instant", echo)
  const long = await client.workflow("remote_endless", "long", endless)
  await client.call("POST", "/api/v1/triggers", {
    type: "event",
    name: "numbers",
    event: { type: "chaos.number" },
    routes: [{ workflowId: workflow }]
  })
  const options = {
    url,
    key: client.dev.apiKey,
    pause: { first: "50 millis", longest: "2 seconds" },
    heartbeat: "3 seconds"
  } as const
  const open = (): Promise<RpcClient> => connect({ ...options, customer })
  const [callers, farmer] = await Promise.all([Promise.all([open(), open()]), connect(options)])
  const watchers = makeWatchers(trial, open)
  /** What was accepted, by name. */
  const accepted = new Map<string, string>()
  const events = new Map<string, string>()

  /** Repeats a call until it has an answer. */
  const insist = async <A>(what: string, call: () => Promise<A>): Promise<A | undefined> => {
    const from = Date.now()
    let last = ""
    const failures = new Map<string, number>()
    const all = () => [...failures].map(([tag, times]) => `${times} ${tag}`).join(", ")
    while (Date.now() - from < insistMillis) {
      try {
        const answer = await call()
        tried("rpc")
        const took = Date.now() - from
        if (took > longMillis) trial.say(`${what} was answered after ${took} ms: ${all()}`)
        return answer
      } catch (error) {
        const failure = error as RpcFailure
        last = `${failure._tag ?? ""} ${failure.message}`
        failures.set(failure._tag, (failures.get(failure._tag) ?? 0) + 1)
        if (!passing.has(failure._tag)) {
          violated("rpc", `${what} failed: ${last}`)
          return undefined
        }
        await pause(againMillis)
      }
    }
    violated("rpc", `${what} was not answered in ${insistMillis} ms: ${all()}; ${last}`)
    return undefined
  }

  const callerOf = (n: number): RpcClient => callers[n % callers.length] ?? callers[0] ?? farmer

  const run = async (n: number) => {
    const name = `rpc-run-${n}`
    const call = { workflowId: n % 2 === 0 ? workflow : instant, input: { name }, idempotencyKey: name }
    const ended = await insist(name, () => callerOf(n).executions.run(call))
    if (ended === undefined) return
    accepted.set(name, ended.executionId)
    // An Instant run has half a minute, which a frozen node may use up.
    if (n % 2 === 1 && ended.status === "timed_out") return
    if (ended.status !== "completed" || ended.output !== name)
      violated("rpc", `${name} (${ended.executionId}) ended as ${ended.status} with ${JSON.stringify(ended.output)}`)
  }

  const startAndAwait = async (n: number) => {
    const name = `rpc-start-${n}`
    const call = { workflowId: workflow, input: { name }, idempotencyKey: name }
    const started = await insist(name, () => callerOf(n).executions.start(call))
    if (started === undefined) return
    const id = started.executionId
    accepted.set(name, id)
    const ended = await insist(`the await of ${name} (${id})`, () => callerOf(n + 1).executions.await({ id }))
    if (ended !== undefined && (ended.status !== "completed" || ended.output !== name))
      violated("rpc", `${name} (${id}) ended as ${ended.status} with ${JSON.stringify(ended.output)}`)
  }

  const cancel = async (n: number) => {
    const name = `rpc-cancelled-${n}`
    const call = { workflowId: long, input: { name }, idempotencyKey: name }
    const started = await insist(name, () => callerOf(n).executions.start(call))
    if (started === undefined) return
    const id = started.executionId
    accepted.set(name, id)
    const awaited = insist(`the await of ${name} (${id})`, () => callerOf(n).executions.await({ id }))
    await insist(`the cancel of ${name} (${id})`, () =>
      callerOf(n)
        .executions.cancel({ id, idempotencyKey: `cancel ${name}` })
        // One whose answer was lost has cancelled it.
        .catch((error: RpcFailure) => {
          if (error._tag !== "InvalidState" && error._tag !== "Conflict") throw error
        })
    )
    const ended = await awaited
    if (ended !== undefined && ended.status !== "cancelled")
      violated("rpc", `${name} (${id}) was cancelled, and ended as ${ended.status}`)
  }

  const publish = async (n: number) => {
    const name = `rpc-event-${n}`
    const event = {
      type: "chaos.number",
      payload: { name },
      customerId: customer,
      deduplicationKey: name,
      idempotencyKey: name
    }
    const published = await insist(name, () => callerOf(n).events.publish(event))
    if (published !== undefined) events.set(name, published.eventId)
  }

  const callFarm = async (n: number) => {
    const name = `called-${n}`
    const [owner, connection] = [...connections][n % connections.size] ?? []
    const call = {
      customer: owner,
      connection,
      method: "POST",
      path: "items",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name, step: 0 }),
      timeoutMs: 2_000,
      idempotencyKey: name
    } as const
    let id: unknown
    for (const from = Date.now(); Date.now() - from < insistMillis; await pause(againMillis)) {
      const answer = await insist(name, () => farmer.connections.call(call))
      if (answer === undefined) return
      if (answer.status !== 200) continue
      try {
        id = JSON.parse(answer.body ?? "").id
        break
      } catch {
        // Of an answer without an end.
      }
    }
    const sent = farm.requests.filter(({ item }) => item === `${name}/0`)
    const count = sent.filter(({ isCommitted }) => isCommitted).length
    tried("items")
    if (typeof id !== "number") violated("rpc", `${name} brought no item`)
    if (count !== 1 || new Set(sent.map(({ key }) => key)).size !== 1)
      violated("items", `${name} made ${count} items, with the keys ${sent.map(({ key }) => key).join(", ")}`)
  }

  const judgeRuns = async (cluster: TestCluster, ledger: Ledger) => {
    const stored = await cluster.sql<{ id: string; name: string; event: string | null; status: string }>(
      `SELECT id, input->>'name' AS name, record->'trigger'->>'eventId' AS event, status FROM executions
       WHERE workflow_id = ANY($1)`,
      [[workflow, instant, long]]
    )
    const ofEvents = stored.filter(({ event }) => event !== null)
    ledger.compare("accepted", { what: "events by RPC", outside: events.size, service: ofEvents.length })
    ledger.compare("accepted", {
      what: "runs by RPC",
      outside: accepted.size,
      service: stored.length - ofEvents.length
    })
    const expected = new Map(accepted)
    for (const { event, id, name, status } of stored) {
      tried("accepted")
      if (event === null && expected.get(name) !== id)
        violated("once", `${name} ran as ${id}, and was answered as ${expected.get(name)}`)
      if (event !== null && (events.get(name) !== event || status !== "completed"))
        violated("once", `${name} (${events.get(name)}) ran as ${id} of ${event}, and is ${status}`)
    }
  }

  return {
    send: async () => {
      await watchers.begin()
      await Promise.all([
        trial.repeat(0.8, run),
        trial.repeat(0.6, startAndAwait),
        trial.repeat(0.2, cancel),
        trial.repeat(0.8, publish),
        trial.repeat(0.8, callFarm)
      ])
    },
    judge: async (cluster, ledger) => {
      await judgeRuns(cluster, ledger)
      await watchers.judge(cluster, customer)
    },
    close: async () => {
      await watchers.close()
      await Promise.all([...callers, farmer].map((one) => one.close()))
    }
  }
}
