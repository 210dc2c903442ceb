// Keeps the engine of this build for later builds: a run continues with the engine that it began with.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** The number of earlier engines that are kept beside the current one. */
const earlierEngines = 2

/**
 * Writes `files` (names and contents) into `<folder>/<engine>/`, and removes all but the newest two of the other
 * engines. Renames complete files into place, so that a service or a build at the same time never reads a partial file.
 */
export const keepEngine = (folder, engine, files) => {
  const directory = join(folder, engine)
  mkdirSync(directory, { recursive: true })
  for (const [name, contents] of Object.entries(files)) {
    const draft = join(directory, `${name}.${process.pid}`)
    writeFileSync(draft, contents)
    renameSync(draft, join(directory, name))
  }
  const now = new Date()
  utimesSync(directory, now, now)
  const others = readdirSync(folder)
    .filter((name) => name !== engine)
    .map((name) => ({ name, at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  for (const { name } of others.slice(earlierEngines)) rmSync(join(folder, name), { recursive: true, force: true })
}
