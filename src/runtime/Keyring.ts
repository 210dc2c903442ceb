/** The secrets of the installation: the keys that wrap every stored secret, and the pepper of API keys. */
import { Effect, Either, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { reasonOf, Refusal } from "./Refusal.js"
import type { Parse } from "./Setting.js"
import type { Keyring as VaultKeyring } from "./vault/Keyring.js"

/** One key that wraps the data keys of organisations. The first of a keyring is the active one. */
export interface MasterKey {
  readonly id: string
  readonly key: Uint8Array
}
export type Keyring = ReadonlyArray<MasterKey>

export interface InstallationSecrets {
  readonly masterKeys: Redacted.Redacted<Keyring>
  readonly keyPepper: Redacted.Redacted
}

export const keyring: Parse<Keyring> = (text) => {
  const entries = text.split(",")
  const keys = entries.flatMap((entry) => {
    const [, id, encoded] = /^\s*([\w.-]{1,32}):([A-Za-z0-9+/]{43}=)\s*$/.exec(entry) ?? []
    return id === undefined || encoded === undefined
      ? []
      : [{ id, key: new Uint8Array(Buffer.from(encoded, "base64")) }]
  })
  return keys.length === entries.length && new Set(keys.map(({ id }) => id)).size === keys.length
    ? Either.right(keys)
    : Either.left(
        "keys id:base64 of 32 bytes each, with different ids, separated by commas; `npm run svc -- keys new` makes one"
      )
}

export const pepper: Parse<string> = (text) =>
  text.length >= 32 ? Either.right(text) : Either.left("at least 32 characters; `npm run svc -- keys new` makes one")

/** Fresh values of both, as texts for the environment. `id` names the day, so that keyrings read as a history. */
export const freshTexts = (today: Date) => ({
  masterKeys:
    `k${today.toISOString().slice(0, 10).replaceAll("-", "")}-${randomBytes(2).toString("hex")}:` +
    randomBytes(32).toString("base64"),
  keyPepper: randomBytes(32).toString("base64url")
})

/**
 * The secrets as configured, or else those kept in the data directory, made at first start. Fails rather than make
 * new ones for data that was sealed under others.
 */
export const resolve = Effect.fn("Keyring.resolve")(function* (config: {
  readonly dataDir: string
  readonly masterKeys: Option.Option<Redacted.Redacted<Keyring>>
  readonly keyPepper: Option.Option<Redacted.Redacted>
}) {
  const fresh = freshTexts(new Date(yield* Effect.clockWith((clock) => clock.currentTimeMillis)))
  const masterKeys = Option.isSome(config.masterKeys)
    ? config.masterKeys.value
    : yield* kept(path.join(config.dataDir, files.masterKeys), fresh.masterKeys, keyring, "SVC_MASTER_KEYS")
  const keyPepper = Option.isSome(config.keyPepper)
    ? config.keyPepper.value
    : yield* kept(path.join(config.dataDir, files.keyPepper), fresh.keyPepper, pepper, "SVC_KEY_PEPPER")
  return { masterKeys, keyPepper } satisfies InstallationSecrets
})

/** As the vault takes it. */
export const vaultKeyring = (masterKeys: Redacted.Redacted<Keyring>): VaultKeyring => {
  const keys = Redacted.value(masterKeys)
  return { active: keys[0]?.id ?? "", keys: new Map(keys.map(({ id, key }) => [id, Redacted.make(key)])) }
}

/**
 * Puts a new master key in front of the kept ones, of which those named in `needed` stay. The file is whole at every
 * moment and keeps its owner; two renewals at once must be prevented by the caller.
 */
export const renew = (dataDir: string, needed: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const file = path.join(dataDir, files.masterKeys)
    const fresh = freshTexts(new Date(yield* Effect.clockWith((clock) => clock.currentTimeMillis)))
    yield* Effect.try({
      try: () => {
        const kept = fs.readFileSync(file, "utf8").trim().split(",")
        const stay = kept.filter((entry) => needed.some((id) => entry.trim().startsWith(`${id}:`)))
        const { gid, uid } = fs.statSync(file)
        const draft = `${file}.${process.pid}`
        fs.writeFileSync(draft, `${[fresh.masterKeys, ...stay].join(",")}\n`, { mode: 0o600, flush: true })
        fs.chownSync(draft, uid, gid)
        fs.renameSync(draft, file)
      },
      catch: (cause) => new Refusal({ message: `${file} cannot be renewed: ${reasonOf(cause)}.` })
    })
  })

/** Their files in the data directory. */
export const files = { masterKeys: "master.keys", keyPepper: "key.pepper" } as const

const kept = <A>(file: string, fresh: string, parse: Parse<A>, variable: string) =>
  Effect.try({
    try: () => {
      if (!fs.existsSync(file)) {
        if (fs.existsSync(path.join(path.dirname(file), "postgres", "cluster"))) {
          throw new Error(`it is missing, and the data beside it needs it: restore it, or set ${variable}`)
        }
        fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o755 })
        // Never half a key under its name.
        const draft = `${file}.${process.pid}`
        fs.writeFileSync(draft, `${fresh}\n`, { mode: 0o600, flush: true })
        try {
          fs.linkSync(draft, file)
        } catch (error) {
          // Another process that started at the same moment was quicker: its key is the one.
          if (!fs.existsSync(file)) throw error
        } finally {
          fs.rmSync(draft)
        }
      }
      return fs.readFileSync(file, "utf8").trim()
    },
    catch: (cause) => new Refusal({ message: `${file} cannot be used: ${reasonOf(cause)}.` })
  }).pipe(
    Effect.flatMap((text) =>
      Either.match(parse(text), {
        onLeft: (wanted) => Effect.fail(new Refusal({ message: `${file} is damaged: it must be ${wanted}.` })),
        onRight: (value) => Effect.succeed(Redacted.make(value))
      })
    )
  )
