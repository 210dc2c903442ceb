/**
 * The parts of the suite (projects of vitest.config.ts), which run one after the other: what starts processes waits for them,
 * and would make the tests beside it wait, too.
 */
import * as fs from "node:fs"
import * as path from "node:path"

/**
 * `in-process`: services run in the workers, which several files share. `apart`: files that need a process of their own.
 * `promises`: of the files that start processes, one for each promise; `npm test` runs these three. `processes`: the other files
 * that start processes. `nodes`: files that start a cluster. `npm run test:processes` runs the last two.
 */
export type ProjectName = "in-process" | "apart" | "promises" | "processes" | "nodes"

/** What each of them proves is in its first line. */
const promises = [
  "test/flow/canaries.test.ts",
  "test/flow/cluster/working.test.ts",
  "test/flow/eventDispatchKills.test.ts",
  "test/flow/isolation.test.ts",
  "test/flow/kill.test.ts",
  "test/flow/readme.test.ts",
  "test/flow/restart.test.ts"
]

/** What starts a cluster; and what starts the service, NATS, a browser or an installed Postgres as a process. */
const starters = {
  nodes: ["test/support/cluster.ts"],
  processes: ["Service.ts", "natsServer.ts", "installedPostgres.ts", "guideCommands.ts", "console/Browser.ts"].map(
    (name) => `test/support/${name}`
  )
}

/**
 * Files that change V8's flags, with which it refuses the code cache of a build, or look at the shared memory of the machine.
 * `test/support/logSetup.ts` fails a file that changes what the files of its worker share.
 */
const isApart = (file: string): boolean => /\/proc\/sysvipc|setFlagsFromString/.test(textOf(file))

/** The project of a test file; paths begin at the root of the repository. */
export const projectOf = (file: string): ProjectName => {
  if (isApart(file)) return "apart"
  if (promises.includes(file)) return "promises"
  const reached = reachedFrom(file)
  if (starters.nodes.some((one) => reached.has(one))) return "nodes"
  return starters.processes.some((one) => reached.has(one)) ? "processes" : "in-process"
}

// --- Private ---

const textOf = (file: string): string => fs.readFileSync(file, "utf8")

/** The files below `test` that a file imports for more than their types. */
const importsOf = (file: string): ReadonlyArray<string> =>
  [...textOf(file).matchAll(/(?:^|\n)(?:import|export)\b(?! type\b)[^;"]*?"(\.[^"]+)\.js"/g)]
    .map(([, name = ""]) => path.join(path.dirname(file), `${name}.ts`))
    .filter((one) => one.startsWith("test/") && fs.existsSync(one))

const kept = new Map<string, ReadonlyArray<string>>()
const keptImports = (file: string): ReadonlyArray<string> => {
  const found = kept.get(file) ?? importsOf(file)
  kept.set(file, found)
  return found
}

/** The file with all files below `test` that it needs. */
const reachedFrom = (file: string, reached = new Set<string>()): ReadonlySet<string> => {
  if (reached.has(file)) return reached
  reached.add(file)
  for (const one of keptImports(file)) reachedFrom(one, reached)
  return reached
}
