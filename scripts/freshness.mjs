// Tells whether dist/ was built from the sources as they are.
import { readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Written last by a build, with the time at which the build began. */
export const marker = join(root, "dist", "svc.js")
const sources = ["src", "migrations", "package-lock.json", "scripts"]

/** When the newest file or folder below was changed; a folder changes with what is added to and removed from it. */
const newest = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  return stat.isDirectory()
    ? readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs)
    : stat.mtimeMs
}

/** Whether no source is newer than the bundle. */
export const isFresh = () => {
  const built = statSync(marker, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return Math.max(...sources.map((name) => newest(join(root, name)))) < built
}
