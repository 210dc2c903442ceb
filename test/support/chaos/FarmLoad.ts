/**
 * Runs that create items at the provider farm through a customer's connection, and whose ends are told to it; judged at the end by
 * the farm's own books.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { TestCluster } from "../cluster.js"
import { eventually } from "../eventually.js"
import { type Farm, farmConnector, type ItemRequest } from "./Farm.js"
import { groupBy } from "./Groups.js"
import type { Ledger } from "./Ledger.js"
import type { TrialNode } from "./Nodes.js"
import type { drawMoods } from "./Plan.js"
import type { Trial } from "./Trial.js"

const customers = 2
const steps = 3
const toldMillis = 60_000
const lookEvery = 1_000
/** What is under way when the farm refuses, arrives meanwhile. */
const underWayMillis = 300
const refusedMillis = 1_000

/** What a run says of a call: the item's number, or why there is none. */
type Outcome = number | { readonly category?: string; readonly status: number | null }

const code = `export default async (ctx) => {
  const outcomes = []
  for (let step = 0; step < ${steps}; step++) {
    try {
      const { id } = await svc.connector.farm.make({ name: ctx.input.name, step }, { timeoutMs: 2000 })
      outcomes.push(id)
    } catch (error) {
      outcomes.push({ category: error.category, status: error.status ?? null, message: String(error) })
    }
  }
  return outcomes
}`

export interface FarmLoad {
  /** Sends until the trial is over, while the farm has its moods. */
  readonly send: (moods: ReturnType<typeof drawMoods>) => Promise<void>
  /** The customers' connections, by the ids of the customers. */
  readonly connections: ReadonlyMap<string, string>
  /** To be called when all runs have ended. */
  readonly judge: (cluster: TestCluster, ledger: Ledger) => Promise<void>
}

export const makeFarmLoad = async (trial: Trial, front: TrialNode, farm: Farm): Promise<FarmLoad> => {
  const { ask, insist, say, tried, violated } = trial
  const { client } = front.node
  /** Sets up the load: the cluster is well. */
  const make = async (path: string, body: object) => {
    const { body: answer, status } = await client.call("POST", path, body)
    if (status >= 300) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer.data
  }
  await make("/api/v1/connectors", farmConnector)
  await make("/api/v1/connectors/farm/publish", {})
  const workflow = await client.workflow("farmed", "standard", code)
  const connections = new Map<string, string>()
  for (let n = 0; n < customers; n++) {
    const customer = await make("/api/v1/customers", { name: `Farmer ${n}` })
    const connection = await make("/api/v1/connections", {
      connector: "farm",
      customerId: customer.id,
      authMethod: "key",
      config: { base: farm.url },
      credential: { apiKey: `canary_key_${n}` }
    })
    connections.set(customer.id, connection.id)
  }
  const ids = [...connections.keys()]
  /** The runs that were accepted, by their names. */
  const accepted = new Map<string, string>()

  const start = async (n: number) => {
    const name = `farmed-${n}`
    const body = { input: { name }, callback: { url: `${farm.url}/ends/${name}` } }
    const headers = { "idempotency-key": name, "x-end-org-id": ids[n % ids.length] ?? "" }
    const answer = await insist(
      name,
      () => ask("POST", `/api/v1/workflows/${workflow}/execute`, body, headers),
      ({ status }) => status === 202
    )
    tried("accepted")
    if (answer !== undefined) accepted.set(name, answer.body.executionId)
  }

  const changeMoods = async (moods: ReturnType<typeof drawMoods>) => {
    const begun = Date.now()
    for (const { atMillis, millis, mood } of moods) {
      await pause(Math.max(0, atMillis - (Date.now() - begun)))
      if (trial.isOver) break
      say(`the provider farm is ${mood}, for ${millis} ms`)
      farm.mood = mood
      await pause(millis)
      farm.mood = "well"
    }
  }

  /** Each run has ended, and tells of each of its items what the farm has in its books. */
  const judgeItems = async (cluster: TestCluster, ledger: Ledger) => {
    const stored = await cluster.sql<{
      id: string
      name: string
      status: string
      output: ReadonlyArray<Outcome> | null
    }>("SELECT id, input->>'name' AS name, status, output FROM executions WHERE workflow_id = $1", [workflow])
    ledger.compare("accepted", { what: "runs at the farm", outside: accepted.size, service: stored.length })
    const requests = groupBy(farm.requests, ({ item }) => item)
    let confirmed = 0
    let made = 0
    for (const { id, name, output, status } of stored) {
      if (accepted.get(name) !== id) violated("once", `${name} was accepted as ${accepted.get(name)}, and ${id} ran`)
      if (status !== "completed" || output?.length !== steps)
        violated("ends", `${name} (${id}) is ${status} with the output ${JSON.stringify(output)}`)
      for (const [step, outcome] of (output ?? []).entries()) {
        const what = `item ${step} of ${name} (${id})`
        const sent = requests.get(`${name}/${step}`) ?? []
        tried("items")
        made += judgeItem(what, outcome, sent)
        if (typeof outcome === "number") confirmed++
      }
    }
    const known = new Set(stored.flatMap(({ name }) => Array.from({ length: steps }, (_, step) => `${name}/${step}`)))
    for (const item of requests.keys())
      if (!known.has(item) && !item.startsWith("called-")) violated("items", `the farm got ${item}, of no run`)
    const byMood = [...groupBy(farm.requests, ({ mood }) => mood)]
    say(
      `the farm got ${farm.requests.length} requests for ${made} items of runs, which know of ${confirmed}: ` +
        byMood.map(([mood, some]) => `${some.length} ${mood}`).join(", ")
    )
  }

  /** Returns how many items the farm has made for it. */
  const judgeItem = (what: string, outcome: Outcome, sent: ReadonlyArray<ItemRequest>): number => {
    const keys = new Set(sent.map(({ key }) => key))
    const made = sent.filter(({ isCommitted }) => isCommitted)
    if (keys.size > 1 || keys.has("")) violated("items", `${what} was asked for with the keys ${[...keys].join(", ")}`)
    if (typeof outcome === "number") {
      if (made.length !== 1) violated("items", `the run has ${what}, and the farm made ${made.length}`)
    } else if (outcome.category === undefined)
      violated("items", `${what} failed without a category: ${JSON.stringify(outcome)}`)
    return made.length
  }

  /** No call is sent before the time that a refusal names, unless it was under way, or its connection's owner has changed. */
  const judgeRefusals = () => {
    for (const [account, sent] of groupBy(farm.requests, (one) => one.account))
      for (const [at, request] of sent.entries()) {
        if (request.mood !== "limited") continue
        tried("limits")
        const from = request.at + underWayMillis
        const until = request.at + refusedMillis - 50
        if (trial.changes.some((one) => one.from <= until && one.until >= request.at)) continue
        const early = sent.slice(at + 1).filter((one) => one.at > from && one.at < until)
        for (const one of early)
          violated(
            "limits",
            `${one.item} was sent ${one.at - request.at} ms after ${request.item} had been refused to ${account} for a second`
          )
      }
  }

  const judgeEnds = async (cluster: TestCluster, ledger: Ledger) => {
    const told = () =>
      groupBy(
        farm.ends.filter(({ answered }) => answered === 200),
        ({ name }) => name
      )
    const counts = async () => {
      // An attempt that was cut off is repeated after minutes, for which a trial does not wait.
      await cluster.sql(
        "UPDATE deliveries SET next_at = now() WHERE status = 'pending' AND kind = 'callback' AND claimed_until IS NULL"
      )
      const [found] = await cluster.sql<{ n: number }>(
        "SELECT count(*)::int AS n FROM deliveries WHERE status = 'delivered' AND kind = 'callback'"
      )
      await pause(lookEvery)
      return { outside: told().size, service: found?.n ?? 0 }
    }
    const isTold = ({ outside, service }: Awaited<ReturnType<typeof counts>>) =>
      outside >= accepted.size && service >= accepted.size
    await eventually(counts, isTold, toldMillis).catch(() => undefined)
    for (const [name, id] of accepted)
      if (!told().has(name)) violated("deliveries", `the end of ${name} (${id}) was not told`)
    for (const [name, ends] of groupBy(farm.ends, (one) => one.name)) {
      tried("deliveries", ends.length)
      const [first] = ends
      if (new Set(ends.map((one) => one.id)).size > 1)
        violated("deliveries", `the end of ${name} was told as ${ends.map((one) => one.id).join(", ")}`)
      if (first?.executionId !== accepted.get(name) || first?.status !== "completed")
        violated(
          "deliveries",
          `the end of ${name} was told as ${JSON.stringify(first)}, and it is ${accepted.get(name)}`
        )
    }
    ledger.compare("deliveries", { what: "ends told", ...(await counts()) })
  }

  return {
    connections,
    send: async (moods) => {
      await Promise.all([trial.repeat(1.5, start), changeMoods(moods)])
    },
    judge: async (cluster, ledger) => {
      await judgeItems(cluster, ledger)
      judgeRefusals()
      await judgeEnds(cluster, ledger)
    }
  }
}
