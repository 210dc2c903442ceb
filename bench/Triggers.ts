/** What 20,000 triggers of other organisations cost the webhooks of one: bursts without them and beside them, in turns. */
import { startStub } from "./support/Children.js"
import { sql } from "./support/Database.js"
import { median } from "./support/Ratios.js"
import { type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { makeWebhook, measureBurst } from "./W3.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 3)
const burst = Number(process.env["SVC_BENCH_BURST"] ?? 10_000)
const others = { organisations: 100, triggers: 20_000 }

const insert = (service: Service) =>
  sql(
    service.admin("svc"),
    `INSERT INTO organisations (id, name, slug, plan)
       SELECT 'org_' || lpad(n::text, 26, '0'), n, 'bench-' || n, 'unlimited' FROM generate_series(1, ${others.organisations}) n`,
    `INSERT INTO triggers SELECT (jsonb_populate_record(t, jsonb_build_object('id', 'trg_' || lpad(n::text, 26, '0'),
         'org', 'org_' || lpad((1 + n % ${others.organisations})::text, 26, '0')))).*
       FROM triggers t, generate_series(1, ${others.triggers}) n WHERE t.name = 'W3'`,
    "ANALYZE triggers"
  )

const remove = (service: Service) =>
  sql(
    service.admin("svc"),
    "DELETE FROM triggers WHERE id LIKE 'trg_000000%'",
    "DELETE FROM organisations WHERE id LIKE 'org_000000%'",
    "VACUUM ANALYZE triggers"
  )

export const triggers = async (): Promise<void> => {
  const table = new Table("triggers of others", "acks/s", "runs/s")
  const stub = await startStub()
  const service = await startService()
  const webhook = await makeWebhook(service, stub)
  await measureBurst(service, webhook, stub, burst)
  const alone: Array<number> = []
  const beside: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    for (const [count, rates] of [
      [0, alone],
      [others.triggers, beside]
    ] as const) {
      if (count > 0) await insert(service)
      const { acks, runs } = await measureBurst(service, webhook, stub, burst)
      table.add(count, acks.toFixed(0), runs.toFixed(0))
      rates.push(runs)
      if (count > 0) await remove(service)
    }
  }
  table.note(`runs beside them: ${(median(beside) / median(alone)).toFixed(3)} of those without; must 0.97`)
  table.print(`Webhooks beside ${others.triggers.toLocaleString("en")} triggers of other organisations`)
  await service.stop()
  await stub.stop()
}
