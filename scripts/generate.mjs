// Writes what is generated from the source. With --check: writes nothing, and fails if something is out of date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { tsImport } from "tsx/esm/api"
import { errorTable } from "./errors.mjs"

const from = (file) => tsImport(`../src/${file}`, import.meta.url)

const { environmentTable, environmentExample } = await from("runtime/EnvironmentPages.ts")
const { documentText } = await from("http/Documents.ts")

/** Path and content of every generated file. */
const generated = {
  "docs/env.md": environmentTable(),
  ".env.example": environmentExample(),
  "docs/errors.md": errorTable(),
  "docs/openapi/a.json": documentText("a"),
  "docs/openapi/b.json": documentText("b"),
  "docs/openapi/c.json": documentText("c")
}

const stale = Object.entries(generated).filter(
  ([file, content]) => !existsSync(file) || readFileSync(file, "utf8") !== content
)
if (process.argv.includes("--check")) {
  for (const [file] of stale) console.error(`${file} is out of date: run npm run generate`)
  process.exit(stale.length === 0 ? 0 : 1)
}
for (const [file, content] of stale) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  console.log(`${file} is written`)
}
