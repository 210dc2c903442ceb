/**
 * Functions of bytes that a runner computes for its guests, which would take a hundred times as long. The prelude names
 * them; a workflow cannot choose what is called.
 */
import { Buffer } from "node:buffer"
import { createHash, createHmac } from "node:crypto"

const hashes: Readonly<Record<string, string>> = {
  "SHA-1": "sha1",
  "SHA-256": "sha256",
  "SHA-384": "sha384",
  "SHA-512": "sha512"
}

/** Computes the named function. `key` is that of an HMAC, else absent. */
export const computeBytes = (name: string, key: Uint8Array | undefined, data: Uint8Array): Uint8Array => {
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
      throw new Error(`the prelude requested the unknown computation ${name}`)
  }
}
