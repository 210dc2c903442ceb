// Checks the types of what runs in browsers. Those of the API are made from its documents first, into dist/, if these are newer.
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import openapiTypescript, { astToString } from "openapi-typescript"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
const tsc = join(root, "node_modules/typescript/bin/tsc")

const write = async (document, target) => {
  if (changedAt(target) > changedAt(document)) return
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, astToString(await openapiTypescript(JSON.parse(readFileSync(document, "utf8")))))
}

/** The folder, and the document whose types it uses. */
const parts = [
  ["console", "c"],
  ["panel", "embed"]
]
let failed = false
for (const [name, document] of parts) {
  await write(join(root, `docs/openapi/${document}.json`), join(root, `dist/${name}Api.d.ts`))
  const project = join(root, "src/http/web", name)
  const { status } = spawnSync(process.execPath, [tsc, "--project", project], { stdio: "inherit" })
  if (status !== 0) failed = true
}
process.exit(failed ? 1 : 0)
