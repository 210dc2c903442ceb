/**
 * What a runner computes for its guests, because a guest would need a hundred times as long: pure functions of bytes,
 * named by the prelude. Nothing of a workflow chooses what is called here.
 */
import { Buffer } from "node:buffer"
import { createHash, createHmac } from "node:crypto"

const hashes: Readonly<Record<string, string>> = {
  "SHA-1": "sha1",
  "SHA-256": "sha256",
  "SHA-384": "sha384",
  "SHA-512": "sha512"
}

/** `key`: of an HMAC, else absent. */
export const computation = (name: string, key: Uint8Array | undefined, data: Uint8Array): Uint8Array => {
  const hash = hashes[name]
  if (hash !== undefined) {
    return key === undefined ? createHash(hash).update(data).digest() : createHmac(hash, key).update(data).digest()
  }
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  switch (name) {
    case "base64-encode":
      return Buffer.from(bytes.toString("base64"), "latin1")
    case "base64-decode":
      return Buffer.from(bytes.toString("latin1"), "base64")
    default:
      throw new Error(`the prelude asks for the computation ${name}, which this runner does not know`)
  }
}
