/** The master keys of an installation, and their text form. The first wraps data keys; all of them unwrap. */
import { Either, Redacted } from "effect"
import { randomBytes } from "node:crypto"

export interface Keyring {
  /** The id of the key that wraps new data keys. */
  readonly active: string
  /** 32 bytes each, by id; the active one first. */
  readonly keys: ReadonlyMap<string, Redacted.Redacted<Uint8Array>>
}

/**
 * Parses `id:base64[,id:base64…]`, each 32 bytes; the first is active. Left: which entry is wrong, without its value.
 */
export const parseKeyring = (text: Redacted.Redacted): Either.Either<Keyring, string> => {
  const keys = new Map<string, Redacted.Redacted<Uint8Array>>()
  for (const [at, entry] of Redacted.value(text).split(",").entries()) {
    const [, id, encoded] = /^\s*([\w.-]{1,32}):([A-Za-z0-9+/]{43}=)\s*$/.exec(entry) ?? []
    if (id === undefined || encoded === undefined) {
      return Either.left(`entry ${at + 1} is not of the form id:base64 of 32 bytes`)
    }
    if (keys.has(id)) return Either.left(`the key id ${id} is there twice`)
    keys.set(id, Redacted.make(new Uint8Array(Buffer.from(encoded, "base64"))))
  }
  const [active] = keys.keys()
  return active === undefined ? Either.left("there is no key in it") : Either.right({ active, keys })
}

/** Generates a master key as text. Its id contains `today`. */
export const newMasterKey = (today: Date): string =>
  `k${today.toISOString().slice(0, 10).replaceAll("-", "")}-${randomBytes(2).toString("hex")}:` +
  randomBytes(32).toString("base64")
