/** `svc backup` and `svc restore`. */
import { Args, Command, Options } from "@effect/cli"
import { Console, Effect, Option } from "effect"
import * as path from "node:path"
import { backup as write } from "../backup/Backup.js"
import { restore as read } from "../backup/Restore.js"
import { readConfig } from "../configuration/Config.js"
import { OperatorError } from "../process/OperatorError.js"

const file = Args.text({ name: "file" }).pipe(Args.withDescription("The archive, a .tar.gz"))

/** The data directory of an embedded installation; fails for an operator's own Postgres. */
const ownDataDir = Effect.gen(function* () {
  const { database, dataDir } = yield* readConfig()
  return database._tag === "Embedded"
    ? dataDir
    : yield* new OperatorError({
        message:
          "SVC_DATABASE_URL is set: back up that Postgres with its own tools, and SVC_MASTER_KEYS and SVC_KEY_PEPPER with it."
      })
})

export const backupCommand = Command.make("backup", { file }, ({ file }) =>
  Effect.gen(function* () {
    const size = yield* write(yield* ownDataDir, file)
    yield* Console.log(
      `${file} holds the database and its keys (${(size / 1_048_576).toFixed(1)} MB). Keep it as safe as the keys.`
    )
  })
).pipe(Command.withDescription("Write the embedded database and its keys to a file, also while svc runs"))

const force = Options.boolean("force").pipe(
  Options.withDescription("Needed no more: data that is there is kept aside in any case")
)

export const restoreCommand = Command.make("restore", { file, force }, ({ file }) =>
  Effect.gen(function* () {
    const dataDir = yield* ownDataDir
    const aside = yield* read(dataDir, file)
    yield* Console.log(`${file} is restored to ${path.resolve(dataDir)}; svc start goes on from it.`)
    if (Option.isSome(aside)) yield* Console.log(`What was there before is in ${aside.value}.`)
  })
).pipe(Command.withDescription("Put a backup in the place of the embedded database and its keys"))
