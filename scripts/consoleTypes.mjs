// Checks the types of the console. Those of the API are made from its document first, into dist/, if that is newer.
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import openapiTypescript, { astToString } from "openapi-typescript"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const document = join(root, "docs/openapi/c.json")
const target = join(root, "dist/consoleApi.d.ts")
const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

if (changedAt(target) <= changedAt(document)) {
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, astToString(await openapiTypescript(JSON.parse(readFileSync(document, "utf8")))))
}
const tsc = join(root, "node_modules/typescript/bin/tsc")
const { status } = spawnSync(process.execPath, [tsc, "--project", join(root, "src/http/web/console")], {
  stdio: "inherit"
})
process.exit(status ?? 1)
