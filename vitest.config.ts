import { readdirSync, readFileSync } from "node:fs"
import { relative } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const base = {
  setupFiles: ["test/support/logSetup.ts"],
  testTimeout: 30_000,
  hookTimeout: 60_000,
  teardownTimeout: 20_000
}

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => `test/${name}`)

/**
 * Files that may share a worker and its modules (`scripts/test.mjs`): to load those takes longer than most of their tests.
 * The others measure a process, change it, or start one of their own.
 */
const isShared = (file: string): boolean =>
  /^test\/(?:domain|http|actors)\//.test(file) || /support\/(?:InProcess|calls)\.js"/.test(readFileSync(file, "utf8"))

const times: Readonly<Record<string, number>> = JSON.parse(readFileSync("test/times.json", "utf8")).files

/** The longest files first, so that no worker is left with a long one at the end. A file without a time may be long. */
class LongestFirst extends BaseSequencer {
  override async sort(specifications: Array<TestSpecification>) {
    const secondsOf = ({ moduleId }: TestSpecification) => times[relative(process.cwd(), moduleId)] ?? 10
    return specifications.toSorted((one, other) => secondsOf(other) - secondsOf(one))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    poolOptions: { forks: { minForks: 1, maxForks: 2 } },
    projects: [
      { test: { ...base, name: "shared", include: files.filter(isShared) } },
      { test: { ...base, name: "alone", include: files.filter((file) => !isShared(file)) } }
    ]
  }
})
