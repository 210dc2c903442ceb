// Draws every page of the console from a seeded service into screenshots/: `npm run screenshots [-- FOLDER]`.
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/tsx/dist/cli.mjs"), "test/support/console/Screenshots.ts", ...process.argv.slice(2)],
  { stdio: "inherit" }
)
process.exit(status ?? 1)
