/**
 * The secrets of an installation: the master keys that wrap every stored secret, and the pepper under which API keys
 * are hashed. They come from the environment, or from files in the data directory that the first start creates.
 */
import { Clock, Effect, Either, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as path from "node:path"
import { isInstalled, noInstallation } from "../embedded/DataDirectory.js"
import { makeDirectory, reasonOf, OperatorError } from "../process/OperatorError.js"
import { newMasterKey, type Keyring, parseKeyring } from "./Keyring.js"
import { createSecretFile, readSecretFile, replaceSecretFile } from "./SecretFile.js"

/** Parses the text of a secret. Left: what it must be, to end a sentence "SVC_X must be …". */
type ReadText<A> = (text: string) => Either.Either<A, string>

export interface InstallationSecrets {
  readonly masterKeys: Redacted.Redacted<Keyring>
  readonly keyPepper: Redacted.Redacted
  /** The variable or file that each comes from, for messages. */
  readonly from: { readonly masterKeys: string; readonly keyPepper: string }
}

/** Where the secrets may come from. */
export interface SecretSources {
  readonly dataDir: string
  /** Where the files are, if they are not in the data directory; none are made there. */
  readonly keysDir: Option.Option<string>
  readonly masterKeys: Option.Option<Redacted.Redacted<Keyring>>
  readonly keyPepper: Option.Option<Redacted.Redacted>
}

/** The directory of the files. */
export const keysFolder = ({ dataDir, keysDir }: Pick<SecretSources, "dataDir" | "keysDir">): string =>
  Option.getOrElse(keysDir, () => dataDir)

/** Reads `id:base64` of 32 bytes each, separated by commas; fails with what to write instead. */
export const readMasterKeys: ReadText<Keyring> = (text) =>
  Either.mapLeft(
    parseKeyring(Redacted.make(text)),
    () =>
      "keys id:base64 of 32 bytes each, with different ids, separated by commas; `npm run svc -- keys new` makes one"
  )

/** Reads at least 32 characters; fails with what to write instead. */
export const readPepper: ReadText<string> = (text) =>
  text.length >= 32 ? Either.right(text) : Either.left("at least 32 characters; `npm run svc -- keys new` makes one")

/** Generates both secrets, as texts for the environment. */
export const generateSecrets = (today: Date) => ({
  masterKeys: newMasterKey(today),
  keyPepper: randomBytes(32).toString("base64url")
})

/**
 * The configured secrets, else those in the data directory; `create` makes them there if there is no installation.
 * Fails instead of making new ones for data that is sealed under others.
 */
export const resolveSecrets = Effect.fn("InstallationSecrets.resolve")(function* (
  sources: SecretSources,
  options: { readonly create: boolean }
) {
  const fresh = generateSecrets(new Date(yield* Clock.currentTimeMillis))
  const fileOf = (name: string) => path.join(keysFolder(sources), name)
  const mayCreate = options.create && Option.isNone(sources.keysDir)
  const kept = <A>(name: string, text: string, parse: ReadText<A>, variable: string) =>
    readOrCreate(fileOf(name), parse, variable, mayCreate ? text : undefined)
  const masterKeys = Option.isSome(sources.masterKeys)
    ? sources.masterKeys.value
    : yield* kept(secretFiles.masterKeys, fresh.masterKeys, readMasterKeys, variables.masterKeys)
  const keyPepper = Option.isSome(sources.keyPepper)
    ? sources.keyPepper.value
    : yield* kept(secretFiles.keyPepper, fresh.keyPepper, readPepper, variables.keyPepper)
  const from = {
    masterKeys: Option.isSome(sources.masterKeys) ? variables.masterKeys : fileOf(secretFiles.masterKeys),
    keyPepper: Option.isSome(sources.keyPepper) ? variables.keyPepper : fileOf(secretFiles.keyPepper)
  }
  return { masterKeys, keyPepper, from } satisfies InstallationSecrets
})

/**
 * Adds a new active master key to the file and keeps the keys named in `needed`. Readers see the old file or the new
 * one; the caller must prevent concurrent rotations.
 */
export const rotateMasterKeys = Effect.fnUntraced(function* (folder: string, needed: ReadonlyArray<string>) {
  const file = path.join(folder, secretFiles.masterKeys)
  const fresh = newMasterKey(new Date(yield* Clock.currentTimeMillis))
  yield* Effect.try({
    try: () => {
      const entries = (readSecretFile(file) ?? "").split(",").map((entry) => entry.trim())
      const staying = entries.filter((entry) => needed.some((id) => entry.startsWith(`${id}:`)))
      replaceSecretFile(file, [fresh, ...staying].join(","))
    },
    catch: (cause) =>
      cause instanceof OperatorError
        ? cause
        : new OperatorError({
            message: `${file} cannot be replaced: ${reasonOf(cause)}. Let svc write to its directory.`
          })
  })
})

/** Their files in the data directory. */
export const secretFiles = { masterKeys: "master.keys", keyPepper: "key.pepper" } as const

const variables = { masterKeys: "SVC_MASTER_KEYS", keyPepper: "SVC_KEY_PEPPER" } as const

/**
 * `fresh`: the text to create the file with if there is no installation; absent in commands that must not create one.
 */
const readOrCreate = <A>(file: string, parse: ReadText<A>, variable: string, fresh: string | undefined) =>
  Effect.try({
    try: () => {
      const present = readSecretFile(file)
      if (present !== undefined) return present
      const dataDir = path.dirname(file)
      if (isInstalled(dataDir)) {
        throw new OperatorError({
          message: `${file} is missing, and the data beside it needs it: restore it, or set ${variable}.`
        })
      }
      if (fresh === undefined) throw noInstallation(dataDir)
      makeDirectory(dataDir)
      createSecretFile(file, fresh)
      return readSecretFile(file) ?? fresh
    },
    catch: (cause) =>
      cause instanceof OperatorError
        ? cause
        : new OperatorError({
            message: `${file} cannot be used: ${reasonOf(cause)}. Set SVC_DATA_DIR to a directory that svc may write.`
          })
  }).pipe(
    Effect.flatMap((text) =>
      Either.match(parse(text), {
        onLeft: (wanted) => Effect.fail(new OperatorError({ message: `${file} is damaged: it must be ${wanted}.` })),
        onRight: (value) => Effect.succeed(Redacted.make(value))
      })
    )
  )
