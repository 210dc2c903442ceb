/** The failures of a run that the service itself finds, as the record shows them. */
import { Duration, Effect } from "effect"
import { type RunError, tiers, type Tier } from "../../domain/Execution.js"
import { guest } from "../../domain/Limits.js"
import type { DoneEntry } from "../../domain/RunJournal.js"
import type { Detail } from "../../domain/Failure.js"
import type { SandboxFailure, SessionLost } from "../ports/Sandbox.js"
import { runError, type Stop } from "./RunSpec.js"

const mebibyte = 1024 * 1024

export const sandboxError = (error: Exclude<SandboxFailure, SessionLost>): RunError => {
  switch (error._tag) {
    case "OutOfMemory":
      return runError({
        name: "OutOfMemory",
        code: "OUT_OF_MEMORY",
        category: "memory",
        message: `the workflow needs more than ${error.limitBytes / mebibyte} MiB of memory`
      })
    case "CpuLimit":
      return runError({
        name: "CpuLimit",
        code: "CPU_LIMIT",
        category: "timeout",
        message: `the workflow computed for more than ${error.limitMillis} ms without a host call`
      })
    case "OutputTooLarge":
      return runError({
        name: "OutputTooLarge",
        code: "OUTPUT_TOO_LARGE",
        category: "contract",
        message: `the workflow returned or asked for more than ${error.limitBytes} bytes at once`
      })
    case "TooManyValues":
      return runError({
        name: "TooManyValues",
        code: "OUTPUT_TOO_LARGE",
        category: "contract",
        message: `the workflow returned or asked for more than ${error.limit} values at once, of which an object or an array counts five`
      })
    case "LoadFailed":
      return runError({ name: error.name, category: "code", message: error.message })
  }
}

/** Ends the run with the failure of its guest; a lost session stays one, since the run goes on in another. */
export const guestFailure = <A>(effect: Effect.Effect<A, SandboxFailure>): Effect.Effect<A, Stop | SessionLost> =>
  Effect.mapError(effect, (error) =>
    error._tag === "SessionLost" ? error : { _tag: "Failed", error: sandboxError(error) }
  )

export const nonDeterminismError = (entry: DoneEntry, now: string): RunError =>
  runError({
    name: "NonDeterminism",
    code: "NON_DETERMINISM",
    category: "code",
    message:
      `call ${entry.call} is in the journal with request ${entry.hash}, but ${now}: ` +
      "a workflow must ask the same again when it is replayed"
  })

export const totalCpuError = (tier: Tier): RunError =>
  runError({
    name: "CpuLimit",
    code: "CPU_LIMIT",
    category: "timeout",
    message: `the run computed for more than ${Duration.toSeconds(tiers[tier].cpu)} s in total`
  })

export const tooManyCalls = runError({
  name: "TooManyCalls",
  category: "code",
  message: `a run may make ${guest.calls} host calls`
})

export const tooMuchAsked = runError({
  name: "TooMuchAsked",
  category: "code",
  message: `the arguments of a run's calls that have not ended may hold ${guest.pendingArguments / mebibyte} MiB together: await some before making more`
})

export const stuckError = runError({
  name: "Stuck",
  code: "STUCK",
  category: "code",
  message: "the workflow waits for something that can never come"
})

export const poisonedError = (deaths: number): RunError =>
  runError({
    name: "Poisoned",
    code: "POISONED",
    category: "code",
    message: `the process that ran the workflow ended ${deaths} times while it worked on this run`
  })

export const contractViolation = ({ message, path }: Detail): RunError =>
  runError({
    name: "OutputContractViolation",
    category: "contract",
    message: `the returned value breaks the output contract${path === "" ? "" : ` at ${path}`}: ${message}`
  })

export const notStorable = (path: string, why: string): RunError =>
  runError({
    name: "OutputNotStorable",
    category: "contract",
    message: `the returned value${path === "" ? "" : ` at ${path}`} ${why}`
  })

export const notRecordableError = (reason: string): RunError =>
  runError({ name: "NotRecordable", category: "contract", message: `a value of this run cannot be stored: ${reason}` })

export const secretGone = runError({
  name: "SecretNotFound",
  code: "SecretNotFound",
  category: "code",
  message: "a secret that this run read is gone"
})

export const timedOutError = runError({
  name: "TimedOut",
  category: "timeout",
  message: "the run took longer than it may"
})
