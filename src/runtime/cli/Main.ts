/** The program. `svc start` goes straight to work; every other command loads the command line first. */
import { Cause, Effect, Exit, Option } from "effect"
import type { OperatorError } from "../process/OperatorError.js"
import { prettyCause } from "../telemetry/SafeError.js"

const starting = () => import("../program/Start.js")
const commandLine = () => import("./Cli.js")

const program = Effect.suspend((): Effect.Effect<void, OperatorError> => {
  const [, , command, ...rest] = process.argv
  return command === "start" && rest.length === 0
    ? Effect.flatMap(Effect.promise(starting), ({ startService: start }) => start)
    : Effect.flatMap(Effect.promise(commandLine), ({ cli }) => cli(process.argv))
})

/** A refusal is for the operator: its message, nothing else. What is left is a bug: its kind and where it happened. */
const messageOf = (cause: Cause.Cause<OperatorError>): string =>
  Option.match(Cause.failureOption(cause), {
    onSome: ({ message }) => message,
    onNone: () => prettyCause(cause)
  })

/** A terminal and npm both pass Ctrl-C on: what follows within a second is the same one. */
const sameSignal = 1_000

/** An error that no one caught ends the process, with one line in the log. */
const endLoudly = (event: "uncaught_exception" | "unhandled_rejection") => (cause: unknown) => {
  const line = {
    timestamp: new Date().toISOString(),
    logLevel: "FATAL",
    message: `process.${event}`,
    cause: prettyCause(Cause.die(cause))
  }
  process.stderr.write(`${JSON.stringify(line)}\n`, () => process.exit(70))
}

export const main = (): void => {
  process.on("uncaughtException", endLoudly("uncaught_exception"))
  process.on("unhandledRejection", endLoudly("unhandled_rejection"))
  const fiber = Effect.runFork(program)
  let signalled = Infinity
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (performance.now() - signalled > sameSignal) process.exit(130)
      if (signalled !== Infinity) return
      signalled = performance.now()
      fiber.unsafeInterruptAsFork(fiber.id())
    })
  }
  fiber.addObserver((exit) => {
    const failed = Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
    if (failed) process.stderr.write(`${messageOf(exit.cause)}\n`, () => process.exit(1))
    else process.exit(0)
  })
}

/** Loads what the commands need, without running one: the build keeps what V8 compiled for it. */
export const load = (): Promise<unknown> => Promise.all([starting(), commandLine()])
