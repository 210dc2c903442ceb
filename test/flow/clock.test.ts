/** A wrong clock of the machine has no effect: the service uses Postgres' time. */
import { assert, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import path from "node:path"
import { timeOfId } from "../../src/domain/Ids.js"
import { api } from "../support/api.js"
import { announce } from "../support/LogExpectations.js"
import { makeDataDirectory, prepareData, startService } from "../support/Service.js"

const shifted = (millis: number) =>
  `--import=data:text/javascript,${encodeURIComponent(`const real = Date.now; Date.now = () => real() + ${millis}`)}`

for (const [name, hours] of [
  ["ahead", 2],
  ["behind", -2]
] as const) {
  it(`a node whose clock is two hours ${name} of Postgres' records and waits by Postgres' time`, async () => {
    announce(/"clock\.differs_from_postgres"/, { required: true })
    const place = makeDataDirectory()
    await prepareData(place.dataDir)
    const running = startService({ dataDir: place.dataDir, env: { NODE_OPTIONS: shifted(hours * 3_600_000) } })
    try {
      await running.ready
      assert.match(running.output(), /"clock\.differs_from_postgres".*"postgresAheadMillis":-?7\d{6}/)
      const client = api(place.dataDir)
      const id = await client.workflow(
        "now",
        "standard",
        `export default async function (ctx) {
        const before = Date.now()
        await new Promise((resolve) => setTimeout(resolve, 1500))
        return { before, waited: Date.now() - before }
      }`
      )
      const asked = Date.now()
      const { body, status } = await client.run(id)
      assert.strictEqual(status, 202)
      const ended = await client.ended(body.executionId)
      const answered = Date.now()
      const near = (what: string, millis: number) =>
        assert.isTrue(millis >= asked - 1_000 && millis <= answered + 1_000, `${what} is ${millis - asked} ms off`)
      assert.strictEqual(ended.status, "completed")
      near("the id", timeOfId(body.executionId))
      near("createdAt", Date.parse(ended.createdAt))
      near("startedAt", Date.parse(ended.startedAt))
      near("finishedAt", Date.parse(ended.finishedAt))
      near("the guest's clock", ended.output.before)
      assert.isAtLeast(ended.output.waited, 1_500)
      // The clock is two hours off.
      assert.isBelow(ended.output.waited, 3_600_000)
    } finally {
      running.kill("SIGTERM")
      await running.ended
      place.remove()
    }
  })
}

it("a clock that is set while the service runs has no effect: runs start at once, and keep their deadlines", async () => {
  announce(/"clock\.differs_from_postgres"/, { required: true })
  const place = makeDataDirectory()
  const flag = path.join(place.directory, "jump")
  // The machine's clock, which the file sets.
  const settable = `const fs = process.getBuiltinModule("node:fs"); const real = Date.now; let by = 0;
    setInterval(() => { try { by = Number(fs.readFileSync(${JSON.stringify(flag)}, "utf8")) } catch {} }, 20).unref();
    Date.now = () => real() + by`
  await prepareData(place.dataDir)
  const running = startService({
    dataDir: place.dataDir,
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(settable)}` }
  })
  try {
    await running.ready
    const client = api(place.dataDir)
    const id = await client.workflow(
      "pause",
      "standard",
      `export default async () => { await fetch("http://127.0.0.1:9").catch(() => 0); return 1 }`
    )
    for (const hours of [2, -2, 0]) {
      writeFileSync(flag, String(hours * 3_600_000))
      const asked = Date.now()
      const started = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          await new Promise((resolve) => setTimeout(resolve, n * 10))
          return client.run(id)
        })
      )
      for (const { body } of started) {
        const ended = await client.ended(body.executionId)
        assert.strictEqual(ended.status, "completed", `${hours} h`)
        // The clock is hours off.
        assert.isBelow(Math.abs(Date.parse(ended.createdAt) - asked), 1_800_000, `${hours} h`)
      }
    }
  } finally {
    running.kill("SIGTERM")
    await running.ended
    place.remove()
  }
})
