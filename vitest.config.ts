import { readdirSync, readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"

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

export default defineConfig({
  test: {
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    poolOptions: { forks: { minForks: 1, maxForks: 2 } },
    projects: [
      { test: { ...base, name: "shared", include: files.filter(isShared) } },
      { test: { ...base, name: "alone", include: files.filter((file) => !isShared(file)) } }
    ]
  }
})
