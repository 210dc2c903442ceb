// Leaves the engine of this build where later builds find it: a run goes on with the engine that it began with.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Earlier engines that are carried, beside the current one. */
const earlier = 2

/**
 * Writes `files` (names and contents) into `<folder>/<engine>/`, and removes all but the newest two of the other engines.
 * Under its name a file is always whole, also for a service that starts and for a build that runs at the same time.
 */
export const keepEngine = (folder, engine, files) => {
  const place = join(folder, engine)
  mkdirSync(place, { recursive: true })
  for (const [name, contents] of Object.entries(files)) {
    const draft = join(place, `${name}.${process.pid}`)
    writeFileSync(draft, contents)
    renameSync(draft, join(place, name))
  }
  const now = new Date()
  utimesSync(place, now, now)
  const others = readdirSync(folder)
    .filter((name) => name !== engine)
    .map((name) => ({ name, at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  for (const { name } of others.slice(earlier)) rmSync(join(folder, name), { recursive: true, force: true })
}
