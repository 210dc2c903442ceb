import { readdirSync, readFileSync } from "node:fs"
import { relative } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { type ProjectName, projectOf } from "./test/support/projects.js"
import { isSharing } from "./test/support/sharing.js"
import { scaled } from "./test/support/slowness.js"

const base = {
  setupFiles: ["test/support/logSetup.ts"],
  // Long, since starting processes and writing files takes long on a busy machine. `vi.setConfig` would hold for the first
  // file of a worker only.
  testTimeout: scaled(120_000),
  hookTimeout: scaled(120_000),
  teardownTimeout: 20_000,
  // A failure names what was found, not its first 40 characters.
  chaiConfig: { truncateThreshold: 1_000 }
}

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `test/${name}`)

const times: Readonly<Record<string, number>> = JSON.parse(readFileSync("test/times.json", "utf8")).files

/** Seconds of a file that is long. A file without a time may be long. */
const long = 10

/** The files of a run that repeats the order of another, one after the other. */
const given = process.env["SVC_TEST_ORDER"]?.split(",")

/**
 * The longest files first, so that no worker is left with a long one at the end. Files that share a service come one after
 * the other, before the short ones: a file that does not share it stops it.
 */
class LongestFirst extends BaseSequencer {
  override async sort(specifications: Array<TestSpecification>) {
    const placed = specifications.map((specification) => {
      const seconds = times[relative(process.cwd(), specification.moduleId)] ?? long
      return { specification, seconds, part: isSharing(specification.moduleId) ? 1 : seconds >= long ? 0 : 2 }
    })
    const placeOf = (moduleId: string) => given?.indexOf(relative(process.cwd(), moduleId)) ?? 0
    if (given !== undefined)
      return specifications.toSorted((one, other) => placeOf(one.moduleId) - placeOf(other.moduleId))
    return placed
      .toSorted((one, other) => one.part - other.part || other.seconds - one.seconds)
      .map(({ specification }) => specification)
  }
}

/** Imports the guest's part of the sandbox as text, as the build does. */
const guestText = {
  name: "guest-text",
  enforce: "pre" as const,
  load: (id: string) =>
    id.endsWith(".guest.js") ? `export default ${JSON.stringify(readFileSync(id, "utf8"))}` : undefined
}

const names: ReadonlyArray<ProjectName> = ["in-process", "apart", "promises", "processes", "nodes"]

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    // As few as many: vitest's pool ends the whole run when it removes an idle worker whose modules are shared.
    poolOptions: { forks: { minForks: 2, maxForks: 2 } },
    projects: [
      ...names.map((name) => ({
        plugins: [guestText],
        test: { ...base, name, include: files.filter((file) => projectOf(file) === name) }
      })),
      // `npm run measure`: no part of the suite.
      { plugins: [guestText], test: { ...base, name: "measure", include: ["test/measure/**/*.measure.ts"] } }
    ]
  }
})
