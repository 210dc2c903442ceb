// Checks how much a browser loads, compressed: of the console the first page, the editor and the charts, and the panel. Prints
// each size; the exit code is 0 only if none is over its limit.
import { gzipSync } from "node:zlib"
import { basename, dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { consoleFiles } from "./console.mjs"
import { panelFiles } from "./panel.mjs"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const { files, metafile } = await consoleFiles()
const kilobyte = 1024
const panel = (await panelFiles()).files
const sizes = new Map(
  [...files, ...panel].map(({ bytes, path }) => [basename(path), gzipSync(bytes, { level: 9 }).length])
)
const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))

/** The script that has a source file, with all that it imports at once. */
const closure = (source) => {
  const start = [...outputs].find(([, { inputs }]) => Object.keys(inputs).some((path) => path.endsWith(source)))?.[0]
  if (start === undefined) throw new Error(`no script has ${source}`)
  const found = new Set()
  const visit = (name) => {
    if (found.has(name)) return
    found.add(name)
    for (const { kind, path } of outputs.get(name).imports) if (kind === "import-statement") visit(basename(path))
  }
  visit(start)
  return found
}
const styles = files.map(({ path }) => basename(path)).filter((name) => name.endsWith(".css"))
const page = basename(files[0].path) || "console"
const first = new Set([page, ...styles, ...closure("console/Main.tsx"), ...closure("home/Home.tsx")])
const beyondFirst = (source) => [...closure(source)].filter((name) => !first.has(name))

const parts = [
  ["first page", first, 220],
  ["editor", beyondFirst("editor/CodeView.tsx"), 190],
  ["charts", beyondFirst("ui/usage/Chart.tsx"), 30],
  ["panel", panel.map(({ path }) => basename(path)), 45]
]
let failed = false
for (const [name, names, limit] of parts) {
  const size = [...names].reduce((sum, one) => sum + (sizes.get(one) ?? 0), 0) / kilobyte
  if (size > limit) failed = true
  console.log(`${size > limit ? "over" : "ok  "} ${name}: ${size.toFixed(0)} of ${limit} KB`)
}
process.exit(failed ? 1 : 0)
