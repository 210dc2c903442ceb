/** Hashes and signatures, without I/O. */
import { Context } from "effect"
import type { SigningDigests } from "../../domain/connector/request/Signing.js"

export class Digests extends Context.Tag("svc/Digests")<
  Digests,
  SigningDigests & {
    readonly sha256Hex: (data: string | Uint8Array) => string
    readonly hmacHex: (key: string | Uint8Array, data: string | Uint8Array) => string
    readonly hmacBase64: (key: Uint8Array, data: string | Uint8Array) => string
    /** Compares in constant time. */
    readonly equal: (a: string, b: string) => boolean
    /** The stored form of an API key: an HMAC under the server's pepper, hexadecimal. */
    readonly keyHash: (apiKey: string) => string
    /** The seed of an execution's randomness: unpredictable from outside, the same at every replay. */
    readonly seed: (rootExecutionId: string) => readonly [number, number, number, number]
  }
>() {}
