/** A start in a container with little memory: it says the figure that it needs; with 1 GiB it says nothing. */
import { assert, describe, it } from "@effect/vitest"
import { inject, onTestFinished } from "vitest"
import { announce } from "../support/LogExpectations.js"
import { makeMemoryGroup } from "../support/memoryGroup.js"
import { proofs } from "../support/proofs.js"
import { makeDataDirectory, startService } from "../support/Service.js"

const trial = makeMemoryGroup(64)
trial?.remove()
const reason = trial === undefined ? " (skipped: this process may not make a control group)" : ""

/** Starts a service with this memory, and returns what it said until it had ended. */
const outputWith = async (mebibytes: number) => {
  const group = makeMemoryGroup(mebibytes) ?? assert.fail("no control group")
  const { dataDir, remove } = makeDataDirectory(inject("runDirectory"))
  onTestFinished(remove)
  const service = startService({ dataDir, group: group.procs, env: { SVC_RUNNERS: "2" } })
  onTestFinished(() => service.kill("SIGKILL"))
  await service.ready
  await proofs(service)
  assert.strictEqual(group.kills(), 0)
  group.remove()
  return service.output()
}

describe.skipIf(trial === undefined)("a start in a container", () => {
  it(`with 512 MiB says that it needs 1024${reason}`, async () => {
    announce(/"service\.little_memory"/, { required: true })
    assert.match(await outputWith(512), /"service\.little_memory".*"memoryMiB":512,"neededMiB":1024/)
  })
  it(`with 1024 MiB has enough${reason}`, async () => {
    assert.notInclude(await outputWith(1024), "service.little_memory")
  })
})
