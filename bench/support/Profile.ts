/** Where a process spent its time, by the file that V8's profiler wrote: self time by module and by function. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Table } from "./Table.js"

interface CpuProfile {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }>
  readonly samples: ReadonlyArray<number>
  /** Microseconds since the sample before. */
  readonly timeDeltas: ReadonlyArray<number>
  readonly startTime: number
}

/** Which module a line of a bundle comes from: esbuild writes its path above it. */
const moduleFinder = () => {
  const bundles = new Map<string, ReadonlyArray<string>>()
  const modulesOf = (url: string): ReadonlyArray<string> => {
    let module = ""
    return readFileSync(fileURLToPath(url), "utf8")
      .split("\n")
      .map((line) => (module = /^\/\/ ((?:src|node_modules|migrations)\/\S+)$/.exec(line)?.[1] ?? module))
  }
  return (url: string, line: number): string => {
    if (!url.startsWith("file:")) return url === "" ? "(native)" : url
    const modules = bundles.get(url) ?? modulesOf(url)
    bundles.set(url, modules)
    return (modules[line] ?? "").replace("node_modules/", "").replace("/dist/esm/", "/")
  }
}

/** Prints the profile in the directory, per request where their number is known; `seconds`: only so much of its end. */
export const printProfile = (directory: string, title: string): void => {
  const file = readdirSync(directory).find((name) => name.endsWith(".cpuprofile"))
  if (file === undefined) throw new Error(`there is no profile in ${directory}`)
  const profile: CpuProfile = JSON.parse(readFileSync(join(directory, file), "utf8"))
  const moduleOf = moduleFinder()
  const names = new Map(
    profile.nodes.map(({ callFrame: { functionName, lineNumber, url }, id }) => {
      const module = moduleOf(url, lineNumber)
      return [id, { module, name: `${functionName || "(anonymous)"} ${module}:${lineNumber + 1}` }] as const
    })
  )
  const modules = new Map<string, number>()
  const functions = new Map<string, number>()
  let busy = 0
  profile.samples.forEach((sample, i) => {
    const found = names.get(sample)
    const micros = profile.timeDeltas[i + 1] ?? 0
    if (found === undefined || found.name.startsWith("(idle)")) return
    busy += micros
    modules.set(found.module, (modules.get(found.module) ?? 0) + micros)
    functions.set(found.name, (functions.get(found.name) ?? 0) + micros)
  })
  for (const [what, found, most] of [
    ["module", modules, 25],
    ["function", functions, 45]
  ] as const) {
    const rows = new Table(`self time by ${what}`, "ms", "%")
    for (const [name, micros] of [...found].sort((a, b) => b[1] - a[1]).slice(0, most)) {
      rows.add(name, Math.round(micros / 1000), ((100 * micros) / busy).toFixed(1))
    }
    rows.print(`${title}, ${Math.round(busy / 1000)} ms busy`)
  }
}
