// Writes the files that are generated from the source. --check: writes nothing, and fails if a file is out of date.
// --unreleased SLUG.ACTION@VERSION… PROTOCOL@NUMBER…: removes the locks of these actions and messages first, because no
// release contains them.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { tsImport } from "tsx/esm/api"
import { errorTable } from "./errors.mjs"
import { flowLibraryModule } from "./flowLibrary.mjs"
import { flowGuide } from "./stepTables.mjs"
import { recordTypesFile, recordTypesModule } from "./recordTypes.mjs"
import { typeShapes } from "./typeShapes.mjs"

const importSource = (file) => tsImport(`../${file}`, import.meta.url)

const { environmentTable, environmentExample } = await importSource("src/runtime/configuration/EnvironmentPages.ts")
const { documentText } = await importSource("src/http/Documents.ts")
const { stepTypes } = await importSource("src/domain/flow/StepTypes.ts")
const { builtInConnectors } = await importSource("src/domain/connectors/index.ts")
const { actionLockFile, actionLockText, addToLock, removeFromLock } = await importSource("test/support/actionLock.ts")

const { addMessages, messageLockFile, messageLockText, nodeProtocols, removeMessages } =
  await importSource("test/support/messageLock.ts")
const { recordMessages, recordsFile } = await importSource("test/support/messageRecords.ts")
const { unifiedTable } = await importSource("test/support/unifiedTable.ts")

const table = unifiedTable(builtInConnectors.map(({ definition }) => definition()))
if (table.mistakes.length > 0) {
  for (const message of table.mistakes) console.error(`${message} (test/support/unifiedGaps.ts)`)
  process.exit(1)
}

const at = process.argv.indexOf("--unreleased")
const unreleased = at < 0 ? [] : process.argv.slice(at + 1)
const isAction = (name) => name.includes(".")
const before = existsSync(actionLockFile) ? JSON.parse(readFileSync(actionLockFile, "utf8")) : {}
const { lock, broken } = addToLock(removeFromLock(before, unreleased.filter(isAction)), builtInConnectors)
if (broken.length > 0) {
  for (const message of broken) console.error(message)
  console.error(
    `If no release contains the action: npm run generate -- --unreleased SLUG.ACTION@VERSION (${actionLockFile})`
  )
  process.exit(1)
}

const versions = JSON.parse(readFileSync("package.json", "utf8")).dependencies
const libraries = Object.fromEntries(
  ["@effect/cluster", "@effect/rpc"].map((name) => [name, { literal: versions[name] }])
)
const lockedMessages = existsSync(messageLockFile) ? JSON.parse(readFileSync(messageLockFile, "utf8")) : {}
const messages = addMessages(
  removeMessages(
    lockedMessages,
    unreleased.filter((name) => !isAction(name))
  ),
  nodeProtocols(typeShapes("test/support/messageTypes.ts", "PlainMessages"), libraries)
)
if (messages.broken.length > 0) {
  for (const message of messages.broken) console.error(message)
  console.error(`If no release has the number: npm run generate -- --unreleased PROTOCOL@NUMBER (${messageLockFile})`)
  process.exit(1)
}

/** The first migration that names the oldest service release that may run beside it. */
const firstBound = 64

/** The module that lists the migrations of the folder, in the order of their numbers. */
const migrationIndex = () => {
  const names = readdirSync("migrations").flatMap((file) => /^(\d{4}_\w+)\.ts$/.exec(file)?.[1] ?? [])
  const valueOf = (name) => name.slice(5).replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
  const lines = (line, of = names) => of.sort().map(line)
  const bound = names.filter((name) => Number(name.slice(0, 4)) >= firstBound)
  for (const name of bound)
    if (!/^export const oldestBeside = \d+$/m.test(readFileSync(`migrations/${name}.ts`, "utf8"))) {
      console.error(
        `migrations/${name}.ts has no \`export const oldestBeside = RELEASE\`, the oldest service release beside it`
      )
      process.exit(1)
    }
  const imported = (name) =>
    bound.includes(name) ? `${valueOf(name)}, { oldestBeside as ${valueOf(name)}Beside }` : valueOf(name)
  return [
    "/** Every migration, in order; generated. Never change a released migration: add the next number. */",
    'import { Effect } from "effect"',
    ...lines((name) => `import ${imported(name)} from "./${name}.js"`),
    "",
    "export const migrations = {",
    lines((name) => `  "${name}": Effect.asVoid(${valueOf(name)})`).join(",\n"),
    "}",
    "",
    "/** The oldest service release that may run beside a migration. Those before are of release 1. */",
    "export const oldestBeside: Readonly<Record<string, number>> = {",
    lines((name) => `  "${name}": ${valueOf(name)}Beside`, bound).join(",\n"),
    "}",
    ""
  ].join("\n")
}

/** The path and the content of every generated file. */
const generated = {
  "docs/env.md": environmentTable(),
  ".env.example": environmentExample(),
  "docs/errors.md": errorTable(),
  "docs/flows.md": flowGuide(readFileSync("docs/flows.md", "utf8"), stepTypes),
  "docs/unified-connectors.md": table.text,
  "docs/openapi/a.json": documentText("a"),
  "docs/openapi/b.json": documentText("b"),
  "docs/openapi/c.json": documentText("c"),
  "docs/openapi/embed.json": documentText("embed"),
  "docs/connector.schema.json": documentText("connector"),
  "docs/flow.schema.json": documentText("flow"),
  "migrations/index.ts": migrationIndex(),
  "src/domain/expression/FlowLibrary.ts": flowLibraryModule(),
  [recordTypesFile]: recordTypesModule(),
  [actionLockFile]: actionLockText(lock),
  [messageLockFile]: messageLockText(messages.lock),
  [recordsFile]: recordMessages()
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
