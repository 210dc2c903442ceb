/** The embedded Postgres is ready soon, also after both were killed, and left at once by a second signal. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { assertWithin } from "../../support/pace.js"
import { makeDataDirectory, postgresPid, startService } from "../../support/Service.js"

describe("the embedded Postgres", () => {
  const { dataDir, remove } = makeDataDirectory()
  afterAll(remove)

  const stopped = async (service: ReturnType<typeof startService>) => {
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0)
  }

  it("is ready within 15 s at the first start, and within 3 s later", async () => {
    const first = startService({ dataDir })
    assertWithin(await first.ready, 15_000, "the first start")
    await stopped(first)
    const second = startService({ dataDir })
    assertWithin(await second.ready, 3_000, "the second start")
    await stopped(second)
  })

  it("recovers within 10 s when service and Postgres were killed", async () => {
    const killed = startService({ dataDir })
    await killed.ready
    const postgres = postgresPid(dataDir)
    killed.kill("SIGKILL")
    process.kill(postgres, "SIGKILL")
    await killed.ended
    const next = startService({ dataDir })
    assertWithin(await next.ready, 10_000)
    await stopped(next)
  })

  it("is left at once when a second signal comes later", async () => {
    const stuck = startService({ dataDir })
    await stuck.ready
    const postgres = postgresPid(dataDir)
    process.kill(postgres, "SIGSTOP")
    const started = performance.now()
    const impatient = setInterval(() => stuck.kill("SIGTERM"), 200)
    assert.strictEqual(await stuck.ended, 130)
    clearInterval(impatient)
    assertWithin(performance.now() - started, 5_000)
    process.kill(postgres, "SIGCONT")
    const next = startService({ dataDir })
    await next.ready
    await stopped(next)
  })
})
