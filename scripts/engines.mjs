// Leaves the engine of this build where later builds find it: a run goes on with the engine that it began with.
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Earlier engines that are carried, beside the current one. */
const earlier = 2

/**
 * Writes `files` (names and contents) as `<folder>/<engine>/`, and removes all but the newest two of the others.
 * A folder is always whole, also for a service that starts meanwhile.
 */
export const keepEngine = (folder, engine, files) => {
  const place = join(folder, engine)
  const draft = join(folder, `draft-${process.pid}`)
  mkdirSync(draft, { recursive: true })
  for (const [name, contents] of Object.entries(files)) writeFileSync(join(draft, name), contents)
  rmSync(place, { recursive: true, force: true })
  renameSync(draft, place)
  const now = new Date()
  utimesSync(place, now, now)
  const others = readdirSync(folder)
    .filter((name) => name !== engine)
    .map((name) => ({ name, at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  for (const { name } of others.slice(earlier)) rmSync(join(folder, name), { recursive: true })
}
