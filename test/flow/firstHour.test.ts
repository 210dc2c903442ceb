/** What a person reads in the first hour: the first start, the form of the log, and the answers of mistyped commands. */
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { onTestFinished, vi } from "vitest"
import { greeting } from "../../src/runtime/program/FirstStart.js"
import { makeDataDirectory, startService } from "../support/Service.js"

/** Starting processes and writing files takes long on a busy machine. */
vi.setConfig({ testTimeout: 120_000 })

const place = () => {
  const { dataDir, directory, remove } = makeDataDirectory()
  fs.chmodSync(directory, 0o755)
  onTestFinished(remove)
  return { dataDir, directory }
}

describe("a first start", () => {
  it("logs one line for all migrations, and says where the key is without printing it", async () => {
    const { dataDir } = place()
    const service = startService({ dataDir })
    await service.ready
    const lines = service.output().split("\n")
    const migrated = lines.filter((line) => line.includes("postgres.migrated"))
    assert.lengthOf(migrated, 1)
    assert.match(migrated[0] ?? "", /"migrations":\d{2}/)
    assert.notInclude(service.output(), "svk_")
    assert.include(service.output(), `The key and ids are in ${path.join(dataDir, "dev.json")}`)
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0)
    // A start after it has nothing to tell of migrations, and is as readable as SVC_LOG says.
    const pretty = startService({ dataDir, env: { SVC_LOG: "pretty" } })
    while (!pretty.output().includes("service.ready")) await new Promise((resolve) => setTimeout(resolve, 20))
    pretty.kill("SIGTERM")
    assert.strictEqual(await pretty.ended, 0)
    assert.match(
      pretty.output(),
      /^\d\d:\d\d:\d\d INFO  service\.ready (?=.*url=http:\/\/127\.0\.0\.1:\d+).*afterMillis=\d+.*$/m
    )
    assert.notMatch(pretty.output(), /^\{|postgres\.migrated/m)
  })

  it("prints the key on a terminal", () => {
    const dev = {
      baseUrl: "http://127.0.0.1:8080",
      apiKey: "svk_live_x",
      organisationId: "org_x",
      spaceId: "spc_x",
      customerId: "cus_x",
      exampleWorkflowId: "wf_x",
      callbackSecret: "whsec_x"
    }
    const config = { dataDir: ".svc", egressAllow: [] }
    assert.include(greeting(config, dev, true), "'Authorization: Bearer svk_live_x'")
    assert.notInclude(greeting(config, dev, false), "svk_live_x")
    assert.notInclude(greeting(config, dev, true) + greeting(config, dev, false), "whsec_x")
  })
})
