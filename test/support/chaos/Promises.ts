/** A trial of a cluster as a test, of the length, the seed and so on that `npm run chaos` gives. */
import { announce } from "../LogExpectations.js"
import { BrokenPromise } from "../promises.js"
import { runChaos } from "./Chaos.js"
import type { IsLate } from "./Trial.js"
import { areFinal } from "./Verdict.js"

/** The shortest trial of which every draw has all kinds of faults, in seconds. */
export const shortest = 25

/** How long a trial lasts, in seconds. */
export const trialSeconds = Number(process.env["SVC_CHAOS_SECONDS"] ?? shortest)

/** Fails if a promise is violated. */
export const assertPromises = async (by: { readonly isLate?: IsLate }): Promise<void> => {
  // Whatever the nodes say of faults; what they do is judged.
  announce(/./)
  const violations = await runChaos({
    ...by,
    seed: Number(process.env["SVC_CHAOS_SEED"] ?? 1),
    durationMillis: trialSeconds * 1_000,
    logs: process.env["SVC_CHAOS_LOGS"],
    port: Number(process.env["SVC_CHAOS_PORT"] ?? 0),
    // Not `console`, which the runner of the tests holds back until the end.
    print: (line) => void process.stdout.write(`${line}\n`)
  })
  // They are in the table.
  const cause = new Error(violations.join("\n"))
  if (areFinal(violations)) throw new BrokenPromise("promises were violated", cause)
  if (violations.length > 0) throw new Error("promises were violated", { cause })
}
