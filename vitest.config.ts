import { defineConfig } from "vitest/config"

const base = {
  setupFiles: ["test/support/logSetup.ts"],
  testTimeout: 30_000,
  hookTimeout: 60_000,
  teardownTimeout: 20_000
}
const pool = { pool: "forks", poolOptions: { forks: { minForks: 1, maxForks: 2 } } } as const

/** Their files share a worker's modules: loading those for each file would take most of the time. */
const shared = ["test/domain/**/*.test.ts", "test/http/**/*.test.ts", "test/actors/**/*.test.ts"]

export default defineConfig({
  test: {
    ...pool,
    globalSetup: ["test/support/globalSetup.ts"],
    projects: [
      { test: { ...base, name: "shared", include: shared, isolate: false } },
      // Files that measure a process, or change it.
      { test: { ...base, name: "alone", include: ["test/**/*.test.ts"], exclude: shared } }
    ]
  }
})
