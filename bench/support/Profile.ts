/** Prints where a process spent its CPU time, from the file of V8's profiler: self time by module and by function. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { SourceMap } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Table } from "./Table.js"

interface CpuProfile {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly children?: ReadonlyArray<number>
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      readonly lineNumber: number
      readonly columnNumber: number
    }
  }>
  readonly samples: ReadonlyArray<number>
  /** Microseconds since the previous sample. */
  readonly timeDeltas: ReadonlyArray<number>
  readonly startTime: number
  readonly endTime: number
}

/** Finds the source file of a place in a bundle, by the bundle's source map. */
export const makeModuleFinder = () => {
  const maps = new Map<string, SourceMap | undefined>()
  const mapOf = (url: string): SourceMap | undefined => {
    const file = `${fileURLToPath(url)}.map`
    return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, "utf8"))) : undefined
  }
  return (url: string, line: number, column: number): string => {
    if (!url.startsWith("file:")) return url === "" ? "(native)" : url
    if (!maps.has(url)) maps.set(url, mapOf(url))
    const entry = maps.get(url)?.findEntry(line, column)
    const source = entry !== undefined && "originalSource" in entry ? entry.originalSource : url
    return source
      .replace(/^.*node_modules\//, "")
      .replace("/dist/esm/", "/")
      .replace(/^(\.\.\/)+/, "")
  }
}

export interface Sample {
  /** When, in microseconds of `process.hrtime`. */
  readonly at: number
  /** Until the next sample. */
  readonly micros: number
  /** The source file of the function that ran. */
  readonly module: string
  /** The function that ran, with its place. */
  readonly name: string
  /** The innermost folder of this code base, or package, on the stack. */
  readonly room: string
  /** The innermost function of this code base on the stack, or the library that ran without one. */
  readonly ownCaller: string
}

/** The samples of the profile in the directory that found the process busy, in order, and the time at which it ended. */
export const readProfile = (directory: string): { readonly samples: ReadonlyArray<Sample>; readonly end: number } => {
  const file = readdirSync(directory).find((name) => name.endsWith(".cpuprofile"))
  if (file === undefined) throw new Error(`there is no profile in ${directory}`)
  const profile: CpuProfile = JSON.parse(readFileSync(join(directory, file), "utf8"))
  const moduleOf = makeModuleFinder()
  const parents = new Map(
    profile.nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id] as const))
  )
  const places = new Map(
    profile.nodes.map(({ callFrame: { columnNumber, functionName, lineNumber, url }, id }) => {
      const module = moduleOf(url, lineNumber, columnNumber)
      return [id, { module, name: `${functionName || "(anonymous)"} ${module}:${lineNumber + 1}` }] as const
    })
  )
  const ownCallerOf = (id: number | undefined, leaf = places.get(id ?? 0)): string => {
    const place = id === undefined ? undefined : places.get(id)
    return place === undefined
      ? `none: ${leaf?.module === "(native)" ? leaf.name : leaf?.module}`
      : place.module.startsWith("src/")
        ? place.name
        : ownCallerOf(parents.get(id ?? 0), leaf)
  }
  /** The innermost folder of this code base, or package, on the stack; else what Node did by itself. */
  const roomOf = (id: number | undefined, leaf = places.get(id ?? 0)): string => {
    const place = id === undefined ? undefined : places.get(id)
    if (place === undefined) return leaf?.module === "(native)" ? leaf.name : (leaf?.module ?? "")
    if (place.module.startsWith("src/")) return place.module.replace(/\/[^/]*$/, "")
    if (!/^(?:node:|\(native\)|wasm:)/.test(place.module))
      return place.module.replace(/^((?:@[^/]+\/)?[^/]+)\/.*$/, "$1")
    return roomOf(parents.get(id ?? 0), leaf)
  }
  let at = profile.startTime
  const samples = profile.samples.flatMap((sample, i): ReadonlyArray<Sample> => {
    at += profile.timeDeltas[i] ?? 0
    const place = places.get(sample)
    return place === undefined || place.name.startsWith("(idle)")
      ? []
      : [{ at, micros: profile.timeDeltas[i + 1] ?? 0, ...place, room: roomOf(sample), ownCaller: ownCallerOf(sample) }]
  })
  return { samples, end: profile.endTime }
}

/** The time of samples by what `of` returns, the longest first. */
export const sumBy = (
  samples: ReadonlyArray<Sample>,
  of: (sample: Sample) => string
): ReadonlyArray<readonly [name: string, micros: number]> => {
  const times = new Map<string, number>()
  for (const sample of samples) times.set(of(sample), (times.get(of(sample)) ?? 0) + sample.micros)
  return [...times].sort((a, b) => b[1] - a[1])
}

/**
 * Prints the profile in the directory. The window lasted `millis` and ended `endMillis` before the end of the profile.
 */
export const printProfile = (
  directory: string,
  title: string,
  window: { readonly millis: number; readonly endMillis: number }
): void => {
  const profile = readProfile(directory)
  const end = profile.end - window.endMillis * 1000
  const samples = profile.samples.filter(({ at }) => at <= end && at >= end - window.millis * 1000)
  const busy = samples.reduce((sum, { micros }) => sum + micros, 0)
  const groups: Readonly<Record<string, (sample: Sample) => string>> = {
    room: ({ room }) => room,
    module: ({ module }) => module,
    function: ({ name }) => name,
    "own function and what it called": ({ ownCaller }) => ownCaller
  }
  for (const [what, of] of Object.entries(groups)) {
    const rows = new Table(`self time by ${what}`, "ms", "%")
    for (const [name, micros] of sumBy(samples, of).slice(0, 40))
      rows.add(name, Math.round(micros / 1000), ((100 * micros) / busy).toFixed(1))
    rows.print(`${title}, ${Math.round(busy / 1000)} ms busy`)
  }
}
