/** Bundles the runner as the build does, for tests that start one. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildSync } from "esbuild"

/** Bundles an entry into a directory of its own; `remove` deletes the directory. */
export const bundleRunner = (
  entry = "src/runtime/sandbox/runner/Runner.ts"
): { readonly path: string; readonly remove: () => void } => {
  const directory = mkdtempSync(join(tmpdir(), "svc-runner-"))
  const path = join(directory, "runner.js")
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
  return { path, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
