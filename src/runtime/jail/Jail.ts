/**
 * The command lines that start a jailed process, strictest first. All run node with its permission model and without
 * any permission; they differ in how they isolate it from the system.
 */
import type { JailReport } from "../../actors/ports/run/Sandbox.js"

export interface Jail {
  readonly report: JailReport
  /** The program to start, with `args`; it reads its source from stdin. */
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** Which jails to try: `auto` is all of them, in order. */
export type JailMode = "auto" | JailReport["level"]

/**
 * A user id that owns no file and no other process. The system user `nobody` would not do: the embedded Postgres may
 * run as it.
 */
const runnerUser = 65_530

/**
 * V8's stack limit in kilobytes, below the usual 8 MiB stack of a process. With V8's default, deep recursion in a guest
 * would reach V8's limit before the engine's own.
 */
const stackKilobytes = 7000

/**
 * How much V8 runs of a function of the engine, in about so many bytes, before it compiles it for speed, which takes a fifth
 * of a second of a processor. By V8's default every start would do that; by this one, runners that compute.
 */
const wasmTieringBudget = 180_000_000

const permission = Number(process.versions.node.split(".")[0]) >= 24 ? "--permission" : "--experimental-permission"

const node: ReadonlyArray<string> = [
  process.execPath,
  permission,
  "--no-warnings",
  "--disallow-code-generation-from-strings",
  `--stack-size=${stackKilobytes}`,
  "--max-old-space-size=512",
  `--wasm-tiering-budget=${wasmTieringBudget}`,
  // The runner forces collections of discarded guests: V8 would delay them for minutes.
  "--expose-gc",
  "--input-type=module",
  "-"
]

/** Ends the child with its parent, even at SIGKILL. A change of user clears it, so it is set again after each. */
const dieWithParent = ["setpriv", "--pdeathsig", "KILL"]
/** Of files only the one that it inherits for its notes can be written, and not beyond these bytes. */
const fileBytes = 12
const limits = [
  "prlimit",
  "--core=0",
  `--fsize=${fileBytes}`,
  "--nofile=64",
  "--nproc=1024",
  `--stack=${16 * 1024 * 1024}`,
  "--"
]
const namespaces = ["--net", "--pid", "--fork", "--ipc", "--uts"]
const powerless = ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]

const root = (mount: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...dieWithParent,
  "--",
  "unshare",
  ...namespaces,
  ...mount,
  "--",
  ...limits,
  ...dieWithParent,
  `--reuid=${runnerUser}`,
  `--regid=${runnerUser}`,
  "--clear-groups",
  ...powerless,
  "--",
  ...node
]
const user = (mount: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...dieWithParent,
  "--",
  "unshare",
  "--user",
  "--map-current-user",
  ...namespaces,
  ...mount,
  "--",
  ...limits,
  ...dieWithParent,
  ...powerless,
  "--",
  ...node
]

const jail = (level: JailReport["level"], detail: string, line: ReadonlyArray<string>): Jail => {
  const [command = process.execPath, ...args] = line
  return { report: { level, detail }, command, args }
}

const walls = "no network, own processes, no files, no environment"

/** The jails that this process can try, strictest first. */
export const jails = (mode: JailMode): ReadonlyArray<Jail> => {
  const isRoot = process.getuid?.() === 0
  const full = isRoot
    ? [
        jail("full", `uid ${runnerUser} without capabilities, ${walls}`, root(["--mount-proc"])),
        jail("full", `uid ${runnerUser} without capabilities, ${walls}, the host's /proc`, root([]))
      ]
    : []
  const inUserNamespace = [
    jail("userNamespace", `a user namespace without capabilities, ${walls}`, user(["--mount-proc"])),
    jail("userNamespace", `a user namespace without capabilities, ${walls}, the host's /proc`, user([]))
  ]
  const bare =
    "runners are kept back by node's permission model only: they share this process's user, network and machine"
  const none = [
    jail("none", bare, [...dieWithParent, "--no-new-privs", "--", ...limits, ...node]),
    jail("none", bare, node)
  ]
  switch (mode) {
    case "auto":
      return [...full, ...inUserNamespace, ...none]
    case "full":
      return full
    case "userNamespace":
      return inUserNamespace
    case "none":
      return none
  }
}
