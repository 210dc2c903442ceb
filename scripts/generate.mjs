// Writes the files that are generated from the source. --check: writes nothing, and fails if a file is out of date.
// --unreleased SLUG.ACTION@VERSION…: removes the locks of these actions first, because no release contains them.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { tsImport } from "tsx/esm/api"
import { errorTable } from "./errors.mjs"
import { flowLibraryModule } from "./flowLibrary.mjs"

const importSource = (file) => tsImport(`../${file}`, import.meta.url)

const { environmentTable, environmentExample } = await importSource("src/runtime/configuration/EnvironmentPages.ts")
const { documentText } = await importSource("src/http/Documents.ts")
const { builtInConnectors } = await importSource("src/domain/connectors/index.ts")
const { actionLockFile, actionLockText, addToLock, removeFromLock } = await importSource("test/support/actionLock.ts")

const at = process.argv.indexOf("--unreleased")
const unreleased = at < 0 ? [] : process.argv.slice(at + 1)
const before = existsSync(actionLockFile) ? JSON.parse(readFileSync(actionLockFile, "utf8")) : {}
const { lock, broken } = addToLock(removeFromLock(before, unreleased), builtInConnectors)
if (broken.length > 0) {
  for (const message of broken) console.error(message)
  console.error(
    `If no release contains the action: npm run generate -- --unreleased SLUG.ACTION@VERSION (${actionLockFile})`
  )
  process.exit(1)
}

/** The module that lists the migrations of the folder, in the order of their numbers. */
const migrationIndex = () => {
  const names = readdirSync("migrations").flatMap((file) => /^(\d{4}_\w+)\.ts$/.exec(file)?.[1] ?? [])
  const valueOf = (name) => name.slice(5).replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
  const lines = (line) => names.sort().map(line)
  return [
    "/** Every migration, in order; generated. Never change a released migration: add the next number. */",
    'import { Effect } from "effect"',
    ...lines((name) => `import ${valueOf(name)} from "./${name}.js"`),
    "",
    "export const migrations = {",
    lines((name) => `  "${name}": Effect.asVoid(${valueOf(name)})`).join(",\n"),
    "}",
    ""
  ].join("\n")
}

/** The path and the content of every generated file. */
const generated = {
  "docs/env.md": environmentTable(),
  ".env.example": environmentExample(),
  "docs/errors.md": errorTable(),
  "docs/openapi/a.json": documentText("a"),
  "docs/openapi/b.json": documentText("b"),
  "docs/openapi/c.json": documentText("c"),
  "docs/connector.schema.json": documentText("connector"),
  "docs/flow.schema.json": documentText("flow"),
  "migrations/index.ts": migrationIndex(),
  "src/domain/expression/FlowLibrary.ts": flowLibraryModule(),
  [actionLockFile]: actionLockText(lock)
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
  console.log(`wrote ${file}`)
}
