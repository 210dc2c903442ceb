/** The master keys of the process: the first seals, all of them open. */
import { operatorText } from "../../domain/OperatorText.js"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { Data, Effect, Either, Redacted } from "effect"

export interface Keyring {
  /** The id of the key that wraps from now on. */
  readonly active: string
  /** 32 bytes each, by id. */
  readonly keys: ReadonlyMap<string, Redacted.Redacted<Uint8Array>>
}

/** No keyring can be had; the message says what to do and holds no key. */
export class KeyringRefused extends Data.TaggedError("KeyringRefused")<{ readonly message: string }> {
  get [operatorText]() {
    return this.message
  }
}

/** Reads `id:base64[,id:base64…]`, each 32 bytes; the first is active. The left side says which entry is wrong. */
export const parseKeyring = (text: Redacted.Redacted): Either.Either<Keyring, string> => {
  const keys = new Map<string, Redacted.Redacted<Uint8Array>>()
  const entries = Redacted.value(text)
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
  for (const [at, entry] of entries.entries()) {
    const cut = entry.indexOf(":")
    const id = cut < 0 ? "" : entry.slice(0, cut)
    if (!/^[\w.-]{1,64}$/.test(id)) return Either.left(`entry ${at + 1} is not of the form id:base64`)
    if (keys.has(id)) return Either.left(`the key id ${id} is there twice`)
    const encoded = entry.slice(cut + 1)
    const bytes = Buffer.from(encoded, "base64")
    if (bytes.length !== 32 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) {
      return Either.left(`the key ${id} is not 32 bytes in base64 (make one with: openssl rand -base64 32)`)
    }
    keys.set(id, Redacted.make(new Uint8Array(bytes)))
  }
  const [active] = keys.keys()
  return active === undefined ? Either.left("there is no key in it") : Either.right({ active, keys })
}

/**
 * The keyring of a file, made at first use with mode 0600. Of processes that make it at once one wins and all get its key.
 * Refuses a file that others can read, that belongs to somebody else, or that is a link.
 */
export const keyringFile = (file: string): Effect.Effect<Keyring, KeyringRefused> =>
  Effect.try({
    try: () => readKeyring(file) ?? createKeyring(file),
    catch: (error) =>
      error instanceof KeyringRefused
        ? error
        : new KeyringRefused({ message: `the master key file ${file} cannot be read or made: ${String(error)}` })
  })

const readKeyring = (file: string): Keyring | undefined => {
  const handle = openExisting(file)
  if (handle === undefined) return undefined
  try {
    const stat = fs.fstatSync(handle)
    const uid = process.getuid?.()
    if (!stat.isFile()) throw new KeyringRefused({ message: `${file} is not a regular file` })
    if (uid !== undefined && stat.uid !== uid) {
      throw new KeyringRefused({
        message: `${file} belongs to user ${stat.uid} and this process is user ${uid}: chown it`
      })
    }
    if (uid !== undefined && (stat.mode & 0o077) !== 0) {
      throw new KeyringRefused({
        message: `${file} can be read by others: run chmod 600 ${file}, and rotate the key if they had access`
      })
    }
    const parsed = parseKeyring(Redacted.make(fs.readFileSync(handle, "utf8").trim()))
    if (Either.isLeft(parsed)) throw new KeyringRefused({ message: `${file} is not a keyring: ${parsed.left}` })
    return parsed.right
  } finally {
    fs.closeSync(handle)
  }
}

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : undefined)

const openExisting = (file: string): number | undefined => {
  try {
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    if (codeOf(error) === "ELOOP")
      throw new KeyringRefused({ message: `${file} is a symbolic link: put the file itself there` })
    throw error
  }
}

/** Written aside and linked into place, so that nobody ever reads half a key and nobody overwrites another's. */
const createKeyring = (file: string): Keyring => {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const aside = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`
  const handle = fs.openSync(aside, "wx", 0o600)
  try {
    fs.writeSync(handle, `local-${randomBytes(4).toString("hex")}:${randomBytes(32).toString("base64")}\n`)
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
  try {
    fs.linkSync(aside, file)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  } finally {
    fs.unlinkSync(aside)
  }
  const made = readKeyring(file)
  if (made === undefined) throw new KeyringRefused({ message: `${file} disappeared while it was made` })
  return made
}
