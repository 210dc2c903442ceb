/** AES-256-GCM with everything that a value is bound to in the authenticated data. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"

const algorithm = "aes-256-gcm"
const version = 1
const ivBytes = 12
/** Named at every use: Node accepts shorter tags otherwise. */
const authTagLength = 16

/** Made by `sealWith`: version, length of the key id, key id, IV, tag, ciphertext. */
export interface Sealed {
  readonly keyId: string
  readonly iv: Uint8Array
  readonly tag: Uint8Array
  readonly ciphertext: Uint8Array
}

/** `bound`: what the value belongs to; it opens only with the same parts in the same order. */
export const sealWith = (
  key: Uint8Array,
  keyId: string,
  bound: ReadonlyArray<string>,
  plain: string | Uint8Array
): Uint8Array => {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, key, iv, { authTagLength })
  cipher.setAAD(authenticated([...bound, keyId]))
  const body = [cipher.update(plain), cipher.final()]
  const id = Buffer.from(keyId)
  return new Uint8Array(Buffer.concat([Buffer.from([version, id.length]), id, iv, cipher.getAuthTag(), ...body]))
}

/** The parts of a sealed value, or `undefined` where it is none. */
export const readSealed = (sealed: Uint8Array): Sealed | undefined => {
  const idLength = sealed[1] ?? 0
  const ivAt = 2 + idLength
  const bodyAt = ivAt + ivBytes + authTagLength
  if (sealed[0] !== version || idLength === 0 || sealed.length < bodyAt) return undefined
  return {
    keyId: Buffer.from(sealed.subarray(2, ivAt)).toString("utf8"),
    iv: sealed.subarray(ivAt, ivAt + ivBytes),
    tag: sealed.subarray(ivAt + ivBytes, bodyAt),
    ciphertext: sealed.subarray(bodyAt)
  }
}

/** The plain bytes, or `undefined` where key, place or a single bit differs. */
export const openWith = (key: Uint8Array, bound: ReadonlyArray<string>, sealed: Sealed): Uint8Array | undefined => {
  const decipher = createDecipheriv(algorithm, key, sealed.iv, { authTagLength })
  decipher.setAAD(authenticated([...bound, sealed.keyId]))
  decipher.setAuthTag(sealed.tag)
  const start = decipher.update(sealed.ciphertext)
  try {
    return new Uint8Array(Buffer.concat([start, decipher.final()]))
  } catch {
    return undefined
  }
}

/** Each part after its length, so that no two lists of parts have the same bytes. */
const authenticated = (parts: ReadonlyArray<string>): Uint8Array =>
  Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    })
  )
