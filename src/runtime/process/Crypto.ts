/** Node's cryptography behind the ports `Digests` and `Identifiers`. */
import { createHash, createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type IdOf, type IdPrefix, ulidTime, type WorkflowId } from "../../domain/Ids.js"

/** `pepper`: the installation's secret. With another pepper no stored API key is recognised. */
export interface DigestsOptions {
  readonly pepper: Redacted.Redacted
}

/** Throws if the pepper is empty. */
export const makeDigests = (options: DigestsOptions): typeof Digests.Service => {
  const pepper = Redacted.value(options.pepper)
  if (pepper.length === 0) throw new Error("the pepper is empty: give the server a secret of at least 32 characters")
  // One key per purpose, so that the hash of an invented API key is never the seed of a run.
  const seedHmac = makeHmac(createHmac("sha256", pepper).update("svc-seed-v1").digest())
  const keyHmac = makeHmac(Buffer.from(pepper))
  return Digests.of({
    sha256Hex: (data) => hash("sha256", data, "hex"),
    hmacHex: (key, data) => createHmac("sha256", key).update(data).digest("hex"),
    hmacBase64: (key, data) => createHmac("sha256", key).update(data).digest("base64"),
    hmac: (algorithm, key, data) => new Uint8Array(createHmac(algorithm, key).update(data).digest()),
    hash: (algorithm, data) => new Uint8Array(createHash(algorithm).update(data).digest()),
    equal: (a, b) => {
      const left = Buffer.from(a)
      const right = Buffer.from(b)
      return left.length === right.length && timingSafeEqual(left, right)
    },
    keyHash: (apiKey) => keyHmac(apiKey).toString("hex"),
    seed: (rootExecutionId) => {
      const bytes = seedHmac(rootExecutionId)
      return [bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8), bytes.readUInt32LE(12)]
    }
  })
}

/**
 * HMAC-SHA256 (RFC 2104) of short texts under one key. Every request and run uses it, so it creates no OpenSSL object,
 * which the garbage collector would have to finalise.
 */
const makeHmac = (key: Buffer): ((text: string) => Buffer) => {
  const block = 64
  const padded = (byte: number): Buffer => {
    const short = key.length > block ? hash("sha256", key, "buffer") : key
    return Buffer.from(Uint8Array.from({ length: block }, (_, i) => (short[i] ?? 0) ^ byte))
  }
  const [inner, outer] = [padded(0x36), padded(0x5c)]
  return (text) => {
    const digest = hash("sha256", Buffer.concat([inner, Buffer.from(text)]), "buffer")
    return hash("sha256", Buffer.concat([outer, digest]), "buffer")
  }
}

/** Of a secret: 43 characters. */
const secretBytes = 32

/** `millis`: the wall clock in Unix milliseconds; replaced in tests. */
export const makeIdentifiers = (millis: () => number = Date.now): typeof Identifiers.Service => {
  const nextUlid = monotonicUlid(millis)
  return Identifiers.of({
    // Ids are created only here, in the form of their brand.
    next: <P extends IdPrefix>(prefix: P) => `${prefix}_${nextUlid()}` as IdOf[P],
    workflow: () => `wf_${randomBytes(6).toString("hex")}` as WorkflowId,
    secret: () => randomBytes(secretBytes).toString("base64url"),
    token: (length) =>
      randomBytes(Math.ceil((length * 3) / 4))
        .toString("base64url")
        .slice(0, length),
    bytes: (length) => new Uint8Array(randomBytes(length))
  })
}

/** Buffers random bytes: a few cost as much as a page. */
const randomPages = (): ((length: number) => Buffer) => {
  let page = Buffer.alloc(0)
  let at = 0
  return (length) => {
    if (at + length > page.length) {
      page = randomBytes(4096)
      at = 0
    }
    at += length
    return page.subarray(at - length, at)
  }
}

const half = 2 ** 40
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const pairs = Array.from({ length: 1024 }, (_, n) => alphabet.charAt(n >> 5) + alphabet.charAt(n & 31))
const pair = (bits: number): string => pairs[bits & 1023] ?? ""

const eightLetters = (value: number): string => {
  const high = Math.floor(value / 2 ** 20)
  const low = value % 2 ** 20
  return pair(high >> 10) + pair(high) + pair(low >> 10) + pair(low)
}

/**
 * Monotonic ULIDs. Within a millisecond, and while the clock stands still or runs backwards, the random part grows by a
 * random step, so that an id cannot be guessed from its neighbour.
 */
const monotonicUlid = (millis: () => number): (() => string) => {
  const random = randomPages()
  let time = 0
  let timeText = ""
  let high = 0
  let low = 0
  const start = (at: number) => {
    const bytes = random(10)
    time = at
    timeText = ulidTime(at)
    high = bytes.readUIntBE(0, 5)
    low = bytes.readUIntBE(5, 5)
  }
  return () => {
    const now = millis()
    if (now > time) start(now)
    else {
      low += 1 + random(4).readUInt32BE(0)
      if (low >= half) {
        low -= half
        high += 1
      }
      if (high >= half) start(time + 1)
    }
    return timeText + eightLetters(high) + eightLetters(low)
  }
}

/** `makeDigests` as a layer. */
export const layerDigests = (options: DigestsOptions): Layer.Layer<Digests> =>
  Layer.sync(Digests, () => makeDigests(options))

/** Ids contain the time of the clock that the layer is built with. */
export const layerIdentifiers: Layer.Layer<Identifiers> = Layer.effect(
  Identifiers,
  Effect.map(Effect.clock, (clock) => makeIdentifiers(() => clock.unsafeCurrentTimeMillis()))
)
