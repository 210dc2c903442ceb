/** Bundles the runner as the build does, for tests that start one. */
import { basename, join } from "node:path"
import { buildSync } from "esbuild"
import { inject } from "vitest"

/** By their entries: the files of a worker share them. */
const bundles = new Map<string, string>()

/** Bundles an entry, once in a process. Returns the path, which exists until the end of the tests. */
export const bundleRunner = (entry = "src/runtime/sandbox/runner/Runner.ts"): string => {
  const made = bundles.get(entry)
  if (made !== undefined) return made
  const path = join(inject("runDirectory"), `${basename(entry, ".ts")}-${process.pid}.js`)
  buildSync({
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    outfile: path,
    minifySyntax: true,
    loader: { ".guest.js": "text" },
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);'
    }
  })
  bundles.set(entry, path)
  return path
}
