/** `svc start`, for its help; without arguments the program starts without the command line. */
import { Command } from "@effect/cli"
import { startService as run } from "../program/Start.js"

export const startCommand = Command.make("start", {}, () => run).pipe(Command.withDescription("Run the service"))
