/**
 * The port `UnstoredTokens`: one file for a connection in `unstored-tokens/` of the data directory, sealed with the key of its
 * organisation, so that it is of no use without the database and the master key.
 */
import { Effect, Either, Layer, Schema } from "effect"
import { open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { TokensNotKept, type UnstoredAnswer, UnstoredTokens } from "../../actors/connection/credential/TokenCommits.js"
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
const decode = Schema.decodeUnknownEither(File)

const ending = ".json"
/** Of a file that is not whole yet: one of a process that has ended is of no use. */
const draftEnding = ".draft"

/** Writes the whole file or none. Returns once the disk has it. */
const writeWhole = async (directory: string, name: string, text: string): Promise<void> => {
  makeDirectories(directory, 0o700)
  const draft = path.join(directory, name + draftEnding)
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true })
    await rename(draft, path.join(directory, name))
  } catch (cause) {
    await rm(draft, { force: true })
    throw cause
  }
  const folder = await open(directory, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const readAnswer = async (file: string): Promise<UnstoredAnswer> => {
  const text = await readFile(file, "utf8")
  // Without what the file says: that would come into the log.
  return Either.getOrThrowWith(decode(text), () => new Error(`${path.basename(file)} is no file of svc: remove it`))
}

const namesIn = (directory: string): Promise<ReadonlyArray<string>> =>
  readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return []
    throw cause
  })

const removeDrafts = async (directory: string): Promise<void> => {
  const drafts = (await namesIn(directory)).filter((name) => name.endsWith(draftEnding))
  for (const name of drafts) await rm(path.join(directory, name), { force: true })
}

/** `dataDir`: a directory that outlasts the process, and is used by no other. */
export const layer = (dataDir: string) => {
  const directory = path.resolve(dataDir, "unstored-tokens")
  const fileOf = (id: ConnectionId) => path.join(directory, id + ending)
  const attempt = <A>(run: () => Promise<A>) =>
    Effect.tryPromise({
      try: run,
      catch: (cause) => new TokensNotKept({ reason: `${directory}: ${reasonOf(cause)}` })
    })
  const service = UnstoredTokens.of({
    keep: (answer) => attempt(() => writeWhole(directory, answer.connectionId + ending, encode(answer))),
    remove: (id) => attempt(() => rm(fileOf(id), { force: true })),
    ids: Effect.map(
      attempt(() => namesIn(directory)),
      (names) =>
        names.flatMap((name) => {
          const id = name.endsWith(ending) ? name.slice(0, -ending.length) : undefined
          return Schema.is(ConnectionId)(id) ? [id] : []
        })
    ),
    read: (id) => attempt(() => readAnswer(fileOf(id)))
  })
  // What cannot be removed is told when the files are read.
  return Layer.effect(UnstoredTokens, Effect.as(Effect.ignore(attempt(() => removeDrafts(directory))), service))
}
