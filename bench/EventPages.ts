/** Pages of 10,000,000 settled events, through the API. */
import { cursorOf, measureMillis } from "./Growth.js"
import { start } from "./support/Children.js"
import { sql } from "./support/Database.js"
import { publish, type Service, startService } from "./support/Service.js"
import { settleOne } from "./support/StoredEvents.js"
import { Table } from "./support/Table.js"

const count = Number(process.env["SVC_BENCH_EVENTS"] ?? 10_000_000)
const days = 85
/** Events that the reconciliation walks. */
const verified = Math.min(count, 1_000_000)
const perStatement = 500_000

/** Copies a settled event over the days of its retention, into the partitions that maintenance would have created. */
const generate = async (service: Service, eventId: string): Promise<void> => {
  const url = service.admin("svc")
  await sql(
    url,
    `DO $$ DECLARE span int := 3 * 86400; first bigint := floor(extract(epoch FROM now()) / span); BEGIN
       FOR n IN 1..30 LOOP
         EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF event_records_90 FOR VALUES FROM (%L) TO (%L)',
           'event_records_90_' || to_char(to_timestamp((first - n) * span) AT TIME ZONE 'UTC', 'YYYYMMDD'),
           svc_ulid_bound('evt', to_timestamp((first - n) * span)), svc_ulid_bound('evt', to_timestamp((first - n + 1) * span)));
       END LOOP; END $$`
  )
  for (let from = 1; from <= count; from += perStatement)
    await sql(
      url,
      `INSERT INTO event_records (id, class, org, space, source, trigger_id, connector, connection_id, customer_id, type,
           priority, status, received_at, record, payload, finished_at, deliveries)
         SELECT svc_ulid_bound('evt', at) || lpad(to_hex(n), 16, '0'), 90, org, space, source, trigger_id, connector,
           connection_id, CASE WHEN n % 10 = 0 THEN 'cus_bench' END, type, priority,
           CASE WHEN n % 50 = 0 THEN 'ignored' ELSE 'delivered' END, at, record, payload, at, deliveries
         FROM generate_series(${from}, ${Math.min(count, from + perStatement - 1)}) n,
           LATERAL (SELECT now() - n * (interval '${days} days' / ${count}) AS at) t, event_records e WHERE e.id = '${eventId}'`
    )
  await sql(url, "ANALYZE event_records")
}

export const eventPages = async (): Promise<void> => {
  const service = await startService()
  const workflowId = await publish(service, "last", "return 1", "standard")
  const event = { type: "event", name: "last", event: { type: "bench.last" }, routes: [{ workflowId }] }
  await service.call("POST", "/api/v1/triggers", event)
  const template = await settleOne(service, "/api/v1/events", { type: "bench.last", payload: { n: 1 } })
  const began = performance.now()
  await generate(service, template)
  const table = new Table("", "first page ms", "hundredth page ms")
  table.note(`generated in ${Math.round((performance.now() - began) / 1_000)} s; the median of 21; must 10 ms`)
  for (const [name, query] of [
    ["all", ""],
    ["ignored", "&status=ignored"],
    [
      "of a day",
      `&since=${new Date(Date.now() - 40 * 86_400_000).toISOString()}&until=${new Date(Date.now() - 39 * 86_400_000).toISOString()}`
    ]
  ] as const) {
    const path = `/api/v1/events?page_size=50${query}`
    const first = await measureMillis(() => service.call("GET", path))
    let cursor = cursorOf(await service.call("GET", path))
    for (let page = 2; page < 100 && cursor !== "null"; page++)
      cursor = cursorOf(await service.call("GET", `${path}&cursor=${cursor}`))
    const hundredth = await measureMillis(() => service.call("GET", `${path}&cursor=${cursor}`))
    table.add(name, first.toFixed(1), hundredth.toFixed(1))
  }
  const hours = Math.ceil((verified / count) * days * 24)
  const verifyBegan = performance.now()
  const verify = start(["dist/svc.js", "verify-events", "--since", `${hours}h`], { SVC_DATA_DIR: service.dataDir })
  const code = await verify.ended
  table.note(
    `verify-events over the newest ${verified.toLocaleString("en")}: ${((performance.now() - verifyBegan) / 1_000).toFixed(1)} s, exit ${code}`
  )
  await service.stop()
  table.print(`Events, ${count.toLocaleString("en")} rows`)
}
