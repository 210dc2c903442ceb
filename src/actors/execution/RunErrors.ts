/** The errors with which a run ends: those of the service, and that which the workflow threw. */
import { Duration } from "effect"
import { ErrorCategory, type RunError, tiers, type Tier } from "../../domain/run/Execution.js"
import { guest } from "../../domain/Limits.js"
import { isObject, type Json, type JsonObject } from "../../domain/Json.js"
import type { IndexedCall } from "../../domain/run/RunJournal.js"
import type { Detail } from "../../domain/Failure.js"
import type { GuestOutput, SandboxFailure, SessionLost } from "../ports/run/Sandbox.js"
import { runError } from "./RunSpec.js"

const mebibyte = 1024 * 1024

/** The error of a run whose guest broke a limit or failed to load. */
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
        ...(error.step === undefined ? {} : { step: error.step }),
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

/** A replay made another call than the journal has. `now`: the call that it made. */
export const nonDeterminismError = (entry: IndexedCall, now: string): RunError =>
  runError({
    name: "NonDeterminism",
    code: "NON_DETERMINISM",
    category: "code",
    message:
      `call ${entry.call} is in the journal with request ${entry.hash}, but ${now}: ` +
      "a workflow must ask the same again when it is replayed"
  })

/** The guest has computed for longer than its tier allows in total. */
export const totalCpuError = (tier: Tier): RunError =>
  runError({
    name: "CpuLimit",
    code: "CPU_LIMIT",
    category: "timeout",
    message: `the run computed for more than ${Duration.toSeconds(tiers[tier].cpu)} s in total`
  })

/** The journal is as large as the tier allows. `step`: the call whose result did not fit. */
export const journalLimitError = (tier: Tier, step: string): RunError =>
  runError({
    name: "JournalLimit",
    code: "JOURNAL_LIMIT",
    category: "quota",
    step,
    message: `the results of this run's host calls and steps are larger than the ${tiers[tier].journalBytes / mebibyte} MiB that its tier may keep: fetch less, or several runs each a part`
  })

export const tooManyCallsError = runError({
  name: "TooManyCalls",
  category: "code",
  message: `a run may make ${guest.calls} host calls`
})

export const tooManyArgumentsError = runError({
  name: "TooMuchAsked",
  category: "code",
  message: `the arguments of a run's calls that have not ended may hold ${guest.pendingArguments / mebibyte} MiB together: await some before making more`
})

export const noMemoryError = runError({
  name: "MemoryBusy",
  code: "MEMORY_BUSY",
  category: "transient",
  message:
    "the service has no memory for the arguments of the run's calls now, or its organisation holds more than its share: pass less at once, or run it again"
})

/** `step`: the path of the step whose code awaits. */
export const stuckError = (step: string | undefined): RunError =>
  runError({
    name: "Stuck",
    code: "STUCK",
    category: "code",
    ...(step === undefined ? {} : { step }),
    message: "the workflow awaits a promise that nothing can settle: it has no pending host call"
  })

/** The code of a run that was given up because it ended its processes. */
export const poisonedCode = "POISONED"

/** The run was given up after `deaths` deaths of the process that had its guest. */
export const poisonedError = (deaths: number): RunError =>
  runError({
    name: "Poisoned",
    code: poisonedCode,
    category: "code",
    message: `the process that ran the workflow ended ${deaths} times while it worked on this run`
  })

/** The returned value breaks the workflow's output contract. */
export const contractViolationError = ({ message, path }: Detail): RunError =>
  runError({
    name: "OutputContractViolation",
    category: "contract",
    message: `the returned value breaks the output contract${path === "" ? "" : ` at ${path}`}: ${message}`
  })

/** The returned value cannot be stored under any contract. `why`: continues the sentence. */
export const notStorableError = (path: string, why: string): RunError =>
  runError({
    name: "OutputNotStorable",
    category: "contract",
    message: `the returned value${path === "" ? "" : ` at ${path}`} ${why}`
  })

/** Postgres refused a value of the run. */
export const notRecordableError = (reason: string): RunError =>
  runError({ name: "NotRecordable", category: "contract", message: `a value of this run cannot be stored: ${reason}` })

export const secretGoneError = runError({
  name: "SecretNotFound",
  code: "SecretNotFound",
  category: "code",
  message: "a secret that this run read was deleted, so that the run cannot be replayed"
})

export const timedOutError = runError({
  name: "TimedOut",
  category: "timeout",
  message: "the run passed its deadline"
})

/** The error that the workflow threw. An uncaught failure of a host call keeps its category and step. */
export const thrownError = (e: Extract<GuestOutput, { t: "throw" }>["e"]): RunError => {
  const data = e.data !== undefined && isObject(e.data) ? e.data : {}
  const category = ErrorCategory.literals.find((known) => known === data["category"]) ?? "code"
  return {
    name: e.name,
    message: e.message,
    category,
    step: e.step ?? (typeof data["step"] === "string" ? data["step"] : null),
    retryable: category === "transient",
    ...(e.code === undefined ? {} : { code: e.code }),
    ...(e.stack === undefined ? {} : { stack: e.stack }),
    ...(e.name === "ConnectorError" ? { details: refusalOf(data) } : {})
  }
}

/** Characters of the body of a refusal; a longer one, which only the workflow can have made, is left out. */
const mostRefusal = 16_384

/** What a system answered to a call that failed. */
const refusalOf = ({ action = null, body = null, connector = null, status = null }: JsonObject): Json => ({
  connector: partOf(connector),
  action: partOf(action),
  status: partOf(status),
  body: partOf(body)
})

const partOf = (value: Json): Json => (JSON.stringify(value).length > mostRefusal ? null : value)
