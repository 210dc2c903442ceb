/** Measures what grows with use: the list of executions, the number of suspended runs, the journal of one run. */
import { setTimeout as pause } from "node:timers/promises"
import { startStub } from "./support/Children.js"
import { sql } from "./support/Database.js"
import { publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"

// --- Pages of executions ---

/**
 * Inserts records over the days of the retention class by SQL, with the partitions that maintenance would have created.
 */
const generate = async (url: string, service: Service, workflow: string, count: number): Promise<void> => {
  const { organisationId, spaceId } = service.dev
  const days = 360
  await sql(
    url,
    `DO $$ DECLARE span int := 14 * 86400; first bigint := floor(extract(epoch FROM now()) / span); name text; BEGIN
       FOR n IN 1..26 LOOP
         name := 'executions_365_' || to_char(to_timestamp((first - n) * span) AT TIME ZONE 'UTC', 'YYYYMMDD');
         EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF executions_365 FOR VALUES FROM (%L) TO (%L)', name,
           svc_ulid_bound(to_timestamp((first - n) * span)), svc_ulid_bound(to_timestamp((first - n + 1) * span)));
       END LOOP; END $$`,
    // The random part of the id is hexadecimal: a function call per row would take longer than the rest together.
    `INSERT INTO executions (id, class, org, space, status, workflow_id, customer_id, trigger_type, finished_at, record, input, output)
       SELECT svc_ulid_bound(at) || lpad(to_hex(n), 16, '0'), 365, '${organisationId}', '${spaceId}',
         CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END, '${workflow}', NULL, 'api', at,
         json_build_object('workflowName', 'trivial', 'workflowVersion', 1, 'environment', 'live', 'customerRef', NULL,
           'installationId', NULL, 'userId', NULL, 'trigger', json_build_object('type', 'api', 'id', NULL, 'eventId', NULL,
           'keyId', NULL, 'keyName', NULL), 'maxAttempts', 1, 'parentId', NULL, 'metadata', '{}'::json, 'tier', 'instant',
           'priority', 1, 'attempt', 1, 'createdAt', floor(extract(epoch FROM at) * 1000), 'startedAt',
           floor(extract(epoch FROM at) * 1000), 'deadlineAt', floor(extract(epoch FROM at) * 1000)), '{"name":"you"}', '{"hello":"you"}'
       FROM generate_series(1, ${count}) n, LATERAL (SELECT now() - n * (interval '${days} days' / ${count}) AS at) t`,
    "ANALYZE executions"
  )
}

export const measureMillis = async (run: () => Promise<unknown>): Promise<number> => {
  const times: Array<number> = []
  for (let i = 0; i < 21; i++) {
    const started = performance.now()
    await run()
    times.push(performance.now() - started)
  }
  return times.sort((a, b) => a - b)[10] ?? Number.NaN
}

export const cursorOf = (answer: { readonly [member: string]: unknown }): string => {
  const page = answer["page"]
  if (typeof page !== "object" || page === null || !("nextCursor" in page)) throw new Error("no page")
  return String(page.nextCursor)
}

const pages = async (count: number): Promise<void> => {
  const service = await startService()
  const workflow = await publish(service, "trivial", "return { hello: ctx.input.name }")
  const rows = new Table("", "first page ms", "hundredth page ms")
  const started = performance.now()
  await generate(service.admin("svc"), service, workflow, count)
  rows.note(
    `generated in ${Math.round((performance.now() - started) / 1000)} s; the median of 21, through the API; aim 10 ms`
  )
  for (const [name, query] of [
    ["all", ""],
    ["of a workflow", `&workflow_id=${workflow}`],
    ["failed", "&status=failed"]
  ] as const) {
    const path = `/api/v1/executions?page_size=50${query}`
    const first = await measureMillis(() => service.call("GET", path))
    let cursor = cursorOf(await service.call("GET", path))
    for (let page = 2; page < 100; page++) {
      const next = cursorOf(await service.call("GET", `${path}&cursor=${cursor}`))
      if (next === "null") break
      cursor = next
    }
    rows.add(
      name,
      first.toFixed(1),
      (await measureMillis(() => service.call("GET", `${path}&cursor=${cursor}`))).toFixed(1)
    )
  }
  await service.stop()
  rows.print(`Executions, ${count.toLocaleString("en")} rows`)
}

export const list = (): Promise<void> => pages(100_000)
export const longList = (): Promise<void> => pages(10_000_000)

// --- Suspended runs ---

/** The first runs bring the service to its working size; the memory that the others add is counted. */
const sleepers = { first: 1_000, more: 2_000 }

export const sleep = async (): Promise<void> => {
  const service = await startService()
  const workflow = await publish(
    service,
    "sleeper",
    "await new Promise((resolve) => setTimeout(resolve, 3600000))\n  return {}",
    "long"
  )
  const url = service.admin("svc")
  const countSuspended = async () =>
    Number(
      (await sql(url, "SELECT count(*)::int AS n FROM runs WHERE wake_at > now() + interval '1 minute'"))[0]?.["n"]
    )
  const suspendRuns = async (count: number, all: number): Promise<number> => {
    const started = performance.now()
    for (let i = 0; i < count; i += 20) {
      await Promise.all(
        Array.from({ length: 20 }, () => service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} }))
      )
    }
    while ((await countSuspended()) < all) await pause(50)
    return (performance.now() - started) / 1000
  }
  await suspendRuns(sleepers.first, sleepers.first)
  await pause(10_000)
  const before = service.usage().memory
  const seconds = await suspendRuns(sleepers.more, sleepers.first + sleepers.more)
  await pause(10_000)
  const after = service.usage().memory
  const rows = new Table("", "before MB", "after MB", "KB each")
  for (const part of ["own", "runners"] as const) {
    rows.add(
      part,
      Math.round(before[part]),
      Math.round(after[part]),
      (((after[part] - before[part]) * 1024) / sleepers.more).toFixed(1)
    )
  }
  rows.note(`all suspended after ${seconds.toFixed(1)} s; aim: at most 20 KB each`)
  rows.print(`${sleepers.more} more suspended executions`)
  await service.stop()
}

// --- A long journal ---

export const replay = async (): Promise<void> => {
  const stub = await startStub()
  const service = await startService()
  const { dataDir } = service
  const calls = 9_999
  const workflow = await publish(
    service,
    "long_journal",
    `for (let i = 0; i < ${calls}; i++) await svc.state.get("some key")\n  await fetch("${stub.url}/held", { method: "POST" })\n  return {}`,
    "long"
  )
  const started = performance.now()
  await service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} })
  while ((await stub.counts()).calls === 0) await pause(20)
  const firstPass = performance.now() - started
  service.child.kill("SIGKILL")
  await service.child.ended
  await stub.mark()
  const restarted = Date.now()
  const again = await startService({ dataDir })
  const ready = Date.now()
  let first: number | null = null
  while (first === null) {
    await pause(5)
    first = (await stub.counts()).firstSinceMark
  }
  const rows = new Table("", "ms")
  rows.add("first time through", Math.round(firstPass))
  rows.add("restart to ready", ready - restarted)
  rows.add("ready to replayed and going on", first - ready)
  rows.print(`A journal of ${calls + 1} calls`)
  await again.stop()
  await stub.stop()
}
