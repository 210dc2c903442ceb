/** What the files of a worker share, and no file may leave changed for the next one. */
import { it } from "@effect/vitest"
import { DefaultServices, Effect, FiberRef } from "effect"
import { methodsOfIt } from "./layer.js"

const read = (): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ["the services of a new fiber", Effect.runSync(FiberRef.get(DefaultServices.currentServices))],
    ...Object.keys(methodsOfIt).map((name) => [`it.${name}`, Reflect.get(it, name)] as const),
    ["Date", Date],
    ["Date.now", Date.now],
    ["performance.now", performance.now],
    ["setTimeout", setTimeout],
    ["setImmediate", setImmediate],
    ["fetch", fetch]
  ])

/** Remembers the state of the process. The function that it returns names what has changed since. */
export const watchState = (): (() => ReadonlyArray<string>) => {
  const before = read()
  return () => [...read()].filter(([name, value]) => value !== before.get(name)).map(([name]) => name)
}
