/**
 * Measures what one connector call costs above a plain HTTP call to the same system: an instant run with one call, one
 * without, one with a `fetch` instead, and the plain call. Each level measures all four, so that disturbances of the
 * machine affect all alike.
 */
import { startStub } from "./support/Children.js"
import { publish, type Service, startService } from "./support/Service.js"
import {
  floorTarget,
  type Level,
  levels,
  type Measurement,
  measureAt,
  serviceTarget,
  makeTable,
  type Target,
  warmUp
} from "./support/Throughput.js"

const definition = {
  svcConnector: 1,
  slug: "stub",
  name: "Stub",
  kind: "custom",
  version: "1.0.0",
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [{ id: "key", type: "api_key" }],
  actions: [
    {
      name: "ping",
      request: { method: "POST", path: "/ping/{{args.id}}", body: { name: "{{args.name}}" } },
      idempotency: { header: "Idempotency-Key" }
    },
    ...["large", "held"].map((name) => ({
      name,
      request: { method: "POST", path: `/${name}` },
      idempotency: { header: "Idempotency-Key" }
    }))
  ]
}

const idOf = (answer: { readonly [member: string]: unknown }): string => {
  const data = answer["data"]
  if (typeof data !== "object" || data === null || !("id" in data)) throw new Error("no id")
  return String(data.id)
}

/** The body of a workflow with one connector call. */
export const oneCall = `return await svc.connector.stub.ping({ id: "1", name: ctx.input.name })`

/** Publishes the connector and connects a new customer to it. Returns the id of the customer. */
export const connectCustomer = async (service: Service, base: string): Promise<string> => {
  await service.call("POST", "/api/v1/connectors", definition)
  await service.call("POST", "/api/v1/connectors/stub/publish", {})
  const customerId = idOf(await service.call("POST", "/api/v1/customers", { name: "Connected" }))
  const credential = { apiKey: "sk_bench_0123456789abcdef0123456789abcdef" }
  await service.call("POST", "/api/v1/connections", { connector: "stub", customerId, config: { base }, credential })
  return customerId
}

/** The better of two rounds counts, since other processes of the machine can only make a round slower. */
const rounds = 2
type Best = Pick<Measurement, "perSecond" | "p50">
const pickBetter = (one: Best | undefined, other: Best): Best =>
  one === undefined ? other : { perSecond: Math.max(one.perSecond, other.perSecond), p50: Math.min(one.p50, other.p50) }

export const connector = async (): Promise<void> => {
  const rows = makeTable()
  const stub = await startStub()
  const service = await startService()
  const customer = await connectCustomer(service, stub.url)
  const target = async (name: string, body: string): Promise<Target> => {
    const base = serviceTarget(service, name, await publish(service, name.replaceAll(" ", "_"), body))
    return { ...base, headers: { ...base.headers, "x-org-id": customer } }
  }
  const targets = {
    direct: { ...floorTarget("plain HTTP call", stub), path: "/ping/1" },
    none: await target("run without a call", "return { ok: true }"),
    fetched: await target(
      "run with one fetch",
      `const answer = await fetch(${JSON.stringify(`${stub.url}/ping/1`)}, { method: "POST", body: JSON.stringify({ name: ctx.input.name }) })
       return await answer.json()`
    ),
    called: await target("run with one connector call", oneCall)
  } as const
  const names = ["direct", "none", "fetched", "called"] as const
  const best = new Map<string, Best>()
  for (const name of names) await warmUp(targets[name])
  for (const level of levels)
    for (let round = 0; round < rounds; round++)
      for (const name of names) {
        const key = `${name} ${level}`
        best.set(key, pickBetter(best.get(key), await measureAt(rows, targets[name], level)))
      }
  await service.stop()
  await stub.stop()

  const p50 = (name: (typeof names)[number], level: Level) => best.get(`${name} ${level}`)?.p50 ?? Number.NaN
  for (const level of levels) {
    const [direct = 0, none = 0, fetched = 0, called = 0] = names.map((name) => p50(name, level))
    const overhead = called - none - direct
    rows.note(
      `c=${level}: the call adds ${(called - none).toFixed(2)} ms to a run, ${overhead.toFixed(2)} ms more than a plain HTTP call (${direct.toFixed(2)} ms); a fetch adds ${(fetched - none).toFixed(2)} ms` +
        (level === 1 ? `; must be at most 1.5 ms more: ${overhead <= 1.5 ? "reached" : "MISSED"}` : "")
    )
  }
  rows.note("p50, the better of two rounds.")
  rows.print("One connector call")
}
