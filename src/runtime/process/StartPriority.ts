/**
 * A node that starts computes for a second or more. Where other nodes share its processors it leaves these to them until it is
 * ready, if the system lets it take its priority back: to root, or within the limit of `ulimit -e`. Linux only.
 */
import { readdirSync, readFileSync } from "node:fs"
import { getPriority, setPriority } from "node:os"

/** By how much a start is nicer than what it becomes. */
const steps = 5

/** CAP_SYS_NICE among the capabilities of a process. */
const niceCapability = 1n << 23n

/** Whether this process may set its priority back to `nice`. */
const mayRaiseTo = (nice: number): boolean => {
  const [status, limits] = ["status", "limits"].map((file) => readFileSync(`/proc/self/${file}`, "utf8"))
  const capabilities = BigInt(`0x${/^CapEff:\s*([\da-f]+)$/m.exec(status ?? "")?.[1] ?? "0"}`)
  const limit = /^Max nice priority\s+(\d+)/m.exec(limits ?? "")?.[1] ?? "0"
  return (capabilities & niceCapability) !== 0n || 20 - Number(limit) <= nice
}

/** What cannot be read or set is left as it is: a thread or a process may end meanwhile. */
const orLeft = <A>(change: () => A): A | undefined => {
  try {
    return change()
  } catch {
    return undefined
  }
}

/** The threads of a process and of those that it started. One that ends meanwhile keeps no other from being found. */
const threadsOf = (pid: number): ReadonlyArray<number> =>
  (orLeft(() => readdirSync(`/proc/${pid}/task`)) ?? []).flatMap((thread) => [
    Number(thread),
    ...(orLeft(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "")
      .split(" ")
      .filter((child) => child.trim() !== "")
      .flatMap((child) => threadsOf(Number(child)))
  ])

/** Lowers the priority of this process. Returns what gives it, and all that it has started since, its priority back. */
export const lowerPriority = (): (() => void) => {
  const nice = orLeft(getPriority)
  if (process.platform !== "linux" || nice === undefined || orLeft(() => mayRaiseTo(nice)) !== true)
    return () => undefined
  const setAll = (to: number) => {
    for (const thread of threadsOf(process.pid)) orLeft(() => setPriority(thread, to))
  }
  setAll(Math.min(19, nice + steps))
  return () => setAll(nice)
}
