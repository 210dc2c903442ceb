import { defineConfig } from "vitest/config"

const base = {
  setupFiles: ["test/support/logSetup.ts"],
  testTimeout: 30_000,
  hookTimeout: 60_000,
  teardownTimeout: 20_000
}

/** Their files may share a worker and its modules (`scripts/test.mjs`): to load those takes longer than most of their tests. */
const shared = ["test/domain/**/*.test.ts", "test/http/**/*.test.ts", "test/actors/**/*.test.ts"]

export default defineConfig({
  test: {
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    poolOptions: { forks: { minForks: 1, maxForks: 2 } },
    projects: [
      { test: { ...base, name: "shared", include: shared } },
      // Files that measure a process, or change it.
      { test: { ...base, name: "alone", include: ["test/**/*.test.ts"], exclude: shared } }
    ]
  }
})
