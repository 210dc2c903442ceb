/** The nodes of `svc start --nodes`, as the machine shows them. Linux only. */
import { assert } from "vitest"
import * as fs from "node:fs"
import { isSameProcess, type Process, treeOf } from "./processes.js"

export interface RunningNode extends Process {
  readonly name: string
}

export const commandLineOf = (pid: number): ReadonlyArray<string> => {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
  } catch {
    return []
  }
}

/** The nodes of the supervisor with this pid, by name. */
export const nodesOf = (supervisor: number): ReadonlyArray<RunningNode> =>
  treeOf(supervisor)
    .flatMap((one): ReadonlyArray<RunningNode> => {
      const words = commandLineOf(one.pid)
      const at = words.indexOf("--supervised")
      return at === -1 ? [] : [{ ...one, name: words[at + 1] ?? "" }]
    })
    .toSorted((one, other) => one.name.localeCompare(other.name))

export const nodeOf = (supervisor: number, name: string): RunningNode => {
  const found = nodesOf(supervisor).find((node) => node.name === name)
  assert.isDefined(found, `${name} runs`)
  return found
}

/** A process below this one whose command line has the word. */
export const descendantOf = (pid: number, word: string): Process => {
  const found = treeOf(pid).find((one) => one.pid !== pid && commandLineOf(one.pid).some((part) => part.includes(word)))
  assert.isDefined(found, `a process with ${word} runs below ${pid}`)
  return found
}

/** Kills a process that is known. */
export const killProcess = (found: Process): void => {
  assert.isTrue(isSameProcess(found))
  process.kill(found.pid, "SIGKILL")
}
