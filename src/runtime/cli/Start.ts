/** `svc start`, for its help; without arguments the program starts without the command line. */
import { Command } from "@effect/cli"
import { Effect } from "effect"

const run = Effect.flatMap(
  Effect.promise(() => import("../program/Start.js")),
  ({ startService }) => startService
)

export const startCommand = Command.make("start", {}, () => run).pipe(Command.withDescription("Run the service"))
