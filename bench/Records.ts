/**
 * Measures the unified API: a list of 50 contacts from a provider that answers in 20 ms against the same page through the proxy,
 * and a run that reads a record against a run that calls the action itself. Targets: p50 at one connection at most 1.15 times
 * as long, at most 2.5 times the CPU time for each request, and at least 0.9 of the runs in a second.
 */
import { contactPairs } from "../test/support/unified/PlainCrm.js"
import { startStub } from "./support/Children.js"
import { median } from "./support/Ratios.js"
import { publish, type Service, startService } from "./support/Service.js"
import {
  type Level,
  makeTable,
  type Measurement,
  measureAt,
  serviceTarget,
  type Target,
  warmUp
} from "./support/Throughput.js"

/** Rounds in turns: what disturbs the machine affects both sides. */
const rounds = 3

const definition = {
  svcConnector: 1,
  slug: "stub-crm",
  name: "Stub CRM",
  kind: "crm",
  version: "1.0.0",
  baseUrl: "{{connection.config.base}}",
  connectionConfig: { type: "object", properties: { base: { type: "string" } }, required: ["base"] },
  auth: [{ id: "key", type: "api_key" }],
  actions: [
    {
      name: "list",
      inputSchema: {
        type: "object",
        properties: { limit: { type: "integer", maximum: 50 }, from: { type: "integer" } }
      },
      request: { method: "GET", path: "/contacts", query: { limit: "{{args.limit}}", from: "{{args.from}}" } },
      pagination: { type: "offset", param: "from", sizeParam: "limit", size: 50, items: "items" }
    },
    {
      name: "get",
      inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      request: { method: "GET", path: "/contact/{{args.id}}" }
    }
  ],
  entities: [
    {
      name: "contact",
      unified: "crm/contact",
      read: "list",
      get: "get",
      args: { read: { limit: "{{query.pageSize}}" } },
      unifiedFields: [...contactPairs, { from: "street.country", to: "addresses[0].country" }]
    }
  ]
}

/** Medians of the rounds. */
const figures = (all: ReadonlyArray<Measurement>) => ({
  p50: median(all.map(({ p50 }) => p50)),
  perSecond: median(all.map(({ perSecond }) => perSecond)),
  cpu: median(all.map(({ cpu }) => cpu.own + cpu.postgres + cpu.runners))
})

/** The code of a run that reads a record, and of one that calls its action. */
export const recordRun = `return (await svc.unified.crm.contact.get("1")).data`
export const actionRun = `return await svc.connector["stub-crm"].get({ id: "1" })`

/** Publishes the connector and connects a new customer to it. */
export const connectCrm = async (service: Service, base: string) => {
  await service.call("POST", "/api/v1/connectors", definition)
  await service.call("POST", "/api/v1/connectors/stub-crm/publish", {})
  const made = await service.call("POST", "/api/v1/customers", { name: "Connected" })
  const { id: customerId } = made["data"] as { readonly id: string }
  const credential = { apiKey: "sk_bench_0123456789abcdef0123456789abcdef" }
  const connected = await service.call("POST", "/api/v1/connections", {
    connector: "stub-crm",
    customerId,
    config: { base },
    credential
  })
  const { id: connectionId } = connected["data"] as { readonly id: string }
  return { customerId, connectionId }
}

export const records = async (): Promise<void> => {
  const rows = makeTable()
  const stub = await startStub()
  const service = await startService()
  const { connectionId, customerId } = await connectCrm(service, stub.url)
  const requests = (name: string, path: string): Target => ({
    name,
    port: service.port,
    path,
    method: "GET",
    headers: { ...service.headers, "x-org-id": customerId, "x-svc-connections": connectionId },
    usage: service.usage
  })
  const runs = async (name: string, code: string): Promise<Target> => {
    const target = serviceTarget(service, name, await publish(service, name.replaceAll(/\W/g, "_"), code))
    return { ...target, headers: { ...target.headers, "x-org-id": customerId } }
  }
  const pairs = [
    [
      requests("page by the proxy", "/api/v1/proxy/contacts?limit=50"),
      requests("page of records", "/api/v1/unified/crm/contact?page_size=50"),
      [1, 16]
    ],
    [await runs("run with an action", actionRun), await runs("run with a record", recordRun), [16, 64]]
  ] as const satisfies ReadonlyArray<readonly [Target, Target, ReadonlyArray<Level>]>
  for (const [plain, record, levels] of pairs) {
    await warmUp(plain)
    await warmUp(record)
    for (const level of levels) {
      const measured = { plain: [] as Array<Measurement>, record: [] as Array<Measurement> }
      for (let round = 0; round < rounds; round++) {
        measured.plain.push(await measureAt(rows, plain, level))
        measured.record.push(await measureAt(rows, record, level))
      }
      const [one, other] = [figures(measured.plain), figures(measured.record)]
      const ratio = (of: keyof typeof one) => (other[of] / one[of]).toFixed(2)
      rows.note(
        `c=${level}: ${record.name} against ${plain.name}: p50 ${ratio("p50")}, CPU a request ${ratio("cpu")}, per second ${ratio("perSecond")}`
      )
    }
  }
  await service.stop()
  await stub.stop()
  rows.note(
    "Must: pages at c=1 p50 1.15 and CPU 2.5 at most; runs per second 0.9 at least. Medians of rounds in turns."
  )
  rows.print("Records in one form")
}
