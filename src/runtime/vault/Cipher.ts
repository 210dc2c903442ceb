/** AES-256-GCM; the place that a value is bound to is its authenticated data. */
import { createCipheriv, createDecipheriv, randomFillSync } from "node:crypto"

const algorithm = "aes-256-gcm"
const version = 1
const ivBytes = 12
/** Passed at every use: without it Node accepts shorter tags. */
const authTagLength = 16

/** A value sealed by `sealWith`: version, length of the key id, key id, IV, tag, ciphertext. */
export interface Sealed {
  readonly keyId: string
  readonly iv: Uint8Array
  readonly tag: Uint8Array
  readonly ciphertext: Uint8Array
}

/** Seals a value. It opens only with the same parts of `bound`, its place, in the same order. */
export const sealWith = (
  key: Uint8Array,
  keyId: string,
  bound: ReadonlyArray<string>,
  plain: string | Uint8Array
): Uint8Array => {
  const iv = freshIv()
  const cipher = createCipheriv(algorithm, key, iv, { authTagLength })
  cipher.setAAD(authenticatedData(bound, keyId))
  const body = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain)
  // GCM buffers no bytes: `final` only computes the tag.
  cipher.final()
  const idLength = Buffer.byteLength(keyId)
  const sealed = new Uint8Array(2 + idLength + ivBytes + authTagLength + body.length)
  const bytes = Buffer.from(sealed.buffer)
  bytes[0] = version
  bytes[1] = idLength
  bytes.write(keyId, 2)
  sealed.set(iv, 2 + idLength)
  sealed.set(cipher.getAuthTag(), 2 + idLength + ivBytes)
  sealed.set(body, 2 + idLength + ivBytes + authTagLength)
  return sealed
}

/** The parts of a sealed value, or `undefined` if the bytes are not one. */
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

/** The plain bytes, or `undefined` if the key, the place or any bit differs. */
export const openWith = (key: Uint8Array, bound: ReadonlyArray<string>, sealed: Sealed): Uint8Array | undefined => {
  const decipher = createDecipheriv(algorithm, key, sealed.iv, { authTagLength })
  decipher.setAAD(authenticatedData(bound, sealed.keyId))
  decipher.setAuthTag(sealed.tag)
  const plain = decipher.update(sealed.ciphertext)
  try {
    // GCM buffers no bytes: `final` only compares the tag.
    decipher.final()
    return plain
  } catch {
    return undefined
  }
}

/** Random bytes are drawn for many values at once: each draw costs more than sealing a short value. */
const ivPool = new Uint8Array(ivBytes * 256)
let ivAt = ivPool.length
const freshIv = (): Uint8Array => {
  if (ivAt === ivPool.length) {
    randomFillSync(ivPool)
    ivAt = 0
  }
  return ivPool.slice(ivAt, (ivAt += ivBytes))
}

/** Each part preceded by its length, so that different lists never have the same bytes. */
const authenticatedData = (bound: ReadonlyArray<string>, keyId: string): Uint8Array => {
  let size = 4 + Buffer.byteLength(keyId)
  for (const part of bound) size += 4 + Buffer.byteLength(part)
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  const add = (part: string) => {
    const length = bytes.write(part, at + 4)
    bytes.writeUInt32BE(length, at)
    at += 4 + length
  }
  for (const part of bound) add(part)
  add(keyId)
  return bytes
}
