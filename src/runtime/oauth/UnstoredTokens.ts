/**
 * The port `UnstoredTokens`: one file for a connection in `unstored-tokens/` of the data directory, sealed with the key of its
 * organisation, so that it is of no use without the database and the master key.
 */
import { Effect, Layer, Schema } from "effect"
import { open, readdir, readFile, rename, rm } from "node:fs/promises"
import * as path from "node:path"
import { TokensNotKept, UnstoredTokens } from "../../actors/ports/connection/UnstoredTokens.js"
import { ConnectionId, CredentialId } from "../../domain/Ids.js"
import { makeDirectories } from "../process/Directories.js"
import { reasonOf } from "../process/OperatorError.js"

const File = Schema.parseJson(
  Schema.Struct({
    connectionId: ConnectionId,
    organisationId: Schema.String,
    credential: Schema.Struct({ id: CredentialId, number: Schema.Int, sealed: Schema.Uint8ArrayFromBase64 }),
    scopes: Schema.NullOr(Schema.Array(Schema.String)),
    intent: Schema.Struct({
      refreshSeq: Schema.Int,
      tokenHash: Schema.String,
      attempt: Schema.Int,
      process: Schema.NullOr(Schema.String),
      at: Schema.Number
    })
  })
)
const encode = Schema.encodeSync(File)
const decode = Schema.decodeUnknownSync(File)

const ending = ".json"

/** Writes the whole file or none. Returns once the disk has it. */
const writeWhole = async (directory: string, name: string, text: string): Promise<void> => {
  makeDirectories(directory, 0o700)
  const draft = path.join(directory, `${name}.draft`)
  const file = await open(draft, "w", 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path.join(directory, name))
  const folder = await open(directory, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const namesIn = (directory: string): Promise<ReadonlyArray<string>> =>
  readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return []
    throw cause
  })

/** `dataDir`: a directory that outlasts the process. */
export const layer = (dataDir: string) => {
  const directory = path.resolve(dataDir, "unstored-tokens")
  const attempt = <A>(run: () => Promise<A>) =>
    Effect.tryPromise({
      try: run,
      catch: (cause) => new TokensNotKept({ reason: `${directory}: ${reasonOf(cause)}` })
    })
  return Layer.succeed(
    UnstoredTokens,
    UnstoredTokens.of({
      keep: (answer) => attempt(() => writeWhole(directory, answer.connectionId + ending, encode(answer))),
      remove: (id) => attempt(() => rm(path.join(directory, id + ending), { force: true })),
      ids: Effect.map(
        attempt(() => namesIn(directory)),
        (names) =>
          names.flatMap((name) => {
            const id = name.endsWith(ending) ? name.slice(0, -ending.length) : undefined
            return Schema.is(ConnectionId)(id) ? [id] : []
          })
      ),
      read: (id) => attempt(async () => decode(await readFile(path.join(directory, id + ending), "utf8")))
    })
  )
}
