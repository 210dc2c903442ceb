/**
 * The disk of the database is full: requests, `/readyz`, metrics and the log say so, what was acknowledged is kept, and
 * the service goes on by itself once there is space. The disk is a mounted file system; a process that may not mount
 * one skips these tests.
 */
import { assert, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import type { Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { senderOf, serviceOnSmallDisk } from "../support/fullDisk.js"
import { announce } from "../support/LogExpectations.js"
import { proofs } from "../support/proofs.js"
import type { Service } from "../support/Service.js"
import { canMount } from "../support/smallDisk.js"
import { assertOneRun, countRuns, drained } from "../support/webhooks.js"
import { scaled } from "../support/slowness.js"

const readyz = async ({ call }: Api) => {
  const { body, status } = await call("GET", "/readyz")
  return { status, state: body.status, database: body.checks?.database }
}

const words = "the disk of the database is full"

const assertTold = async (client: Api) => {
  const told = await eventually(
    () => readyz(client),
    ({ database, state }) => state === "not_ready" && String(database?.detail).includes(words)
  )
  assert.strictEqual(told.status, 503)
  assert.isFalse(told.database.ok)
  assert.include(String((await client.call("GET", "/metrics")).body), 'svc_database_refusing{condition="disk_full"} 1')
}

/** Awaits that the same process works again, and that each acknowledged event ran once. */
const assertGoesOn = async (
  { client, service }: { readonly client: Api; readonly service: Service },
  { acknowledged, send }: Awaited<ReturnType<typeof senderOf>>
) => {
  await eventually(
    () => readyz(client),
    ({ state }) => state === "ready",
    90_000
  )
  assert.strictEqual((await send()).status, 202)
  assert.notInclude(String((await client.call("GET", "/metrics")).body), "svc_database_refusing{")
  const { accepted, dead, unaccounted } = await drained(client)
  await assertOneRun(client, acknowledged)
  assert.deepStrictEqual([accepted, dead, unaccounted], [acknowledged.size, 0, []])
  const runs = await countRuns(client, "completed")
  assert.deepStrictEqual(
    [...acknowledged].filter((id) => runs.get(id) !== 1),
    [],
    "acknowledged events without exactly one run"
  )
  await proofs(service)
}

const name = (text: string) => (canMount ? text : `${text} (skipped: this process may not mount a file system)`)

describe.skipIf(!canMount).sequential("a full disk", () => {
  it(name("of the tables refuses what needs space, in words"), { timeout: scaled(180_000) }, async () => {
    announce(/"database\.refuses".*"condition":"disk_full","sqlState":"53100"/, { required: true })
    // What the service writes meanwhile fails, too.
    announce(/disk_full \(SQLSTATE 53100\)|"background_task\.|"audit\./)
    const world = await serviceOnSmallDisk("base")
    const sender = await senderOf(world.client)
    for (let n = 0; n < 20; n++) assert.strictEqual((await sender.send()).status, 202)
    world.disk.fill()
    const refused = await eventually(
      () => sender.send(),
      ({ status }) => status === 503
    )
    assert.include(refused.text, words)
    // A small one may still fit between two that are refused.
    await eventually(
      () => sender.send(),
      ({ status }) => status === 503
    )
    const run = await eventually(
      () => world.client.run(sender.flow, { filler: randomBytes(16_384).toString("base64") }),
      ({ status }) => status === 503
    )
    assert.include(JSON.stringify(run.body), words)
    assert.notMatch(refused.text, /base\/|pg_|No space/)
    await assertTold(world.client)
    const exported = String((await world.client.call("GET", "/metrics")).body)
    assert.match(exported, /svc_database_errors_total\{condition="disk_full",sqlstate="53100"\} [1-9]/)
    world.disk.free()
    await assertGoesOn(world, sender)
  })

  it(name("of the write-ahead log ends Postgres, which comes back"), { timeout: scaled(180_000) }, async () => {
    announce(/"postgres\.ended"/, { required: true })
    // The service reports each piece of work that fails while Postgres is away.
    announce(/^(?!.*"(?:request|webhook|events)\.(?:read_)?failed")/)
    const world = await serviceOnSmallDisk("pg_wal")
    const sender = await senderOf(world.client)
    for (let n = 0; n < 20; n++) assert.strictEqual((await sender.send()).status, 202)
    world.disk.fill()
    // What Postgres has reserved of its log is still free.
    await eventually(
      () => sender.send(262_144),
      ({ status }) => status === 503,
      90_000
    )
    await assertTold(world.client)
    assert.strictEqual((await sender.send()).status, 503)
    world.disk.free()
    await assertGoesOn(world, sender)
  })
})
