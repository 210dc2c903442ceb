/**
 * The program's entry. `svc start` and `svc start --nodes` run without loading the command line; every other command loads
 * it. A supervisor starts its nodes by `svc start --supervised`, which is for no one else.
 */
import { Cause, Effect, Exit, Option } from "effect"
import type { OperatorError } from "../process/OperatorError.js"
import { stopSignals } from "../process/StopSignals.js"
import type { KeepCompiled } from "../program/CompiledCode.js"
import { prettyCause } from "../telemetry/SafeError.js"

const starting = () => import("../program/Start.js")
const supervising = () => import("../supervisor/Supervisor.js")
const commandLine = () => import("./Cli.js")

const program = (keepCompiled?: KeepCompiled) =>
  Effect.suspend((): Effect.Effect<void, OperatorError> => {
    const [, , command, option, value, ...others] = process.argv
    if (command === "start" && others.length === 0) {
      if (option === undefined)
        return Effect.flatMap(Effect.promise(starting), ({ startService }) => startService({ keepCompiled }))
      if (option === "--supervised" && value !== undefined)
        return Effect.flatMap(Effect.promise(supervising), ({ startSupervised }) => startSupervised(keepCompiled))
      if (option === "--nodes" && value !== undefined)
        return Effect.flatMap(Effect.promise(supervising), ({ startNodes }) => startNodes(value, keepCompiled))
    }
    return Effect.flatMap(Effect.promise(commandLine), ({ cli }) => cli(process.argv))
  })

/** Prints an `OperatorError` as its message only, and any other error, a bug, as its kind and frames. */
const messageOf = (cause: Cause.Cause<OperatorError>): string =>
  Option.match(Cause.failureOption(cause), {
    onSome: ({ message }) => message,
    onNone: () => prettyCause(cause)
  })

const exitCodeOf = (cause: Cause.Cause<OperatorError>): number =>
  Option.match(Cause.failureOption(cause), { onSome: ({ exitCode = 1 }) => exitCode, onNone: () => 1 })

/** The terminal and npm both forward Ctrl-C: signals within a second count as one. */
const sameSignal = 1_000

/** Logs an uncaught error and ends the process. */
const endLoudly = (event: "uncaught_exception" | "unhandled_rejection") => (cause: unknown) => {
  const line = {
    timestamp: new Date().toISOString(),
    logLevel: "FATAL",
    message: `process.${event}`,
    cause: prettyCause(Cause.die(cause))
  }
  process.stderr.write(`${JSON.stringify(line)}\n`, () => process.exit(70))
}

/**
 * Keeps this process alive when its output cannot be written, for example since its reader has ended: a service goes on, a
 * command does the rest of its work. One whose output is lost for another reason ends with 1.
 */
const outliveOutput = () => {
  const isCommand = process.argv[2] !== "start"
  for (const output of [process.stdout, process.stderr])
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (isCommand && error.code !== "EPIPE") process.exitCode = 1
    })
}

/** `keepCompiled`: absent if the program runs from the compiled code of an earlier start. */
export const main = (keepCompiled?: KeepCompiled): void => {
  process.on("uncaughtException", endLoudly("uncaught_exception"))
  process.on("unhandledRejection", endLoudly("unhandled_rejection"))
  outliveOutput()
  const fiber = Effect.runFork(program(keepCompiled))
  let signalled = Infinity
  for (const signal of stopSignals) {
    process.on(signal, () => {
      if (performance.now() - signalled > sameSignal) process.exit(130)
      if (signalled !== Infinity) return
      signalled = performance.now()
      fiber.unsafeInterruptAsFork(fiber.id())
    })
  }
  fiber.addObserver((exit) => {
    const failed = Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
    if (failed) process.stderr.write(`${messageOf(exit.cause)}\n`, () => process.exit(exitCodeOf(exit.cause)))
    // 0, unless what began the stop or lost output has set another. A failed write is heard in the next turn.
    else setImmediate(() => process.exit())
  })
}

/** Loads the modules of all commands without running one, so that the build can cache V8's compiled code. */
export const load = async (): Promise<void> => {
  const { loadService } = await starting()
  await Promise.all([loadService(), supervising(), commandLine()])
}

/** The documents to serve, for the build, which leaves them beside the program. */
export const documentFiles = async () => (await import("../http/DocumentFiles.js")).makeDocumentFiles()
