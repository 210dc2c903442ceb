/** A wrong clock of the machine has no effect: the service uses Postgres' time. */
import { assert, it } from "@effect/vitest"
import { vi } from "vitest"
import { timeOfId } from "../../src/domain/Ids.js"
import { api } from "../support/api.js"
import { announce } from "../support/LogExpectations.js"
import { makeDataDirectory, startService } from "../support/Service.js"

/** Starting a process and its Postgres takes long on a busy machine. */
vi.setConfig({ testTimeout: 120_000 })

const shifted = (millis: number) =>
  `--import=data:text/javascript,${encodeURIComponent(`const real = Date.now; Date.now = () => real() + ${millis}`)}`

for (const [name, hours] of [
  ["ahead", 1],
  ["behind", -1]
] as const) {
  it(`a node whose clock is an hour ${name} of Postgres' records and waits by Postgres' time`, async () => {
    announce(/"clock\.differs_from_postgres"/, { required: true })
    const place = makeDataDirectory()
    const running = startService({ dataDir: place.dataDir, env: { NODE_OPTIONS: shifted(hours * 3_600_000) } })
    try {
      await running.ready
      assert.match(running.output(), /"clock\.differs_from_postgres".*"postgresAheadMillis":-?3\d{6}/)
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
      assert.isBelow(ended.output.waited, 30_000)
    } finally {
      running.kill("SIGTERM")
      await running.ended
      place.remove()
    }
  })
}
