/** A service on which nothing runs stops sooner than it starts. */
import { assert, it } from "@effect/vitest"
import { onTestFinished } from "vitest"
import { assertFigure } from "../../support/figures.js"
import { makeDataDirectory, prepareData, startService } from "../../support/Service.js"

it("a stop where nothing runs", { timeout: 180_000 }, async () => {
  const { dataDir, remove } = makeDataDirectory()
  onTestFinished(remove)
  await prepareData(dataDir)
  const ratios: Array<number> = []
  for (let start = 0; start < 4; start++) {
    const service = startService({ dataDir })
    const startMillis = await service.ready
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0, service.output())
    const [, stopMillis] = /"service.stopped".*"afterMillis":(\d+)/.exec(service.output()) ?? assert.fail("not stopped")
    // The first start creates the installation.
    if (start > 0) ratios.push(Number(stopMillis) / startMillis)
  }
  assertFigure({ of: "its part of a start's time", value: Math.min(...ratios), bound: 1, unit: "times" })
})
