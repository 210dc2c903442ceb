/** Prelude, part 6: the SHA family and HMAC behind crypto.subtle, computed by the guest itself, so there is nothing to journal. */
export const hashing = String.raw`
const firstPrimes = (count) => {
  const primes = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes
}
/** 64 bits of the fractional part of the nth root, as the standard defines its constants. */
const rootBits = (prime, root) => {
  let low = 0n, high = 1n << 72n
  const target = BigInt(prime) << (root === 2n ? 128n : 192n)
  while (high - low > 1n) {
    const middle = (low + high) >> 1n
    if (middle ** root <= target) low = middle
    else high = middle
  }
  return low & 0xffffffffffffffffn
}
/** The words of a message: its bytes, a one bit, zeros, and its length in bits. */
const padded = (bytes, blockBytes) => {
  const lengthBytes = blockBytes / 8
  const total = Math.ceil((bytes.length + 1 + lengthBytes) / blockBytes) * blockBytes
  const all = new NativeUint8Array(total)
  all.set(bytes)
  all[bytes.length] = 0x80
  const words = new Int32Array(total / 4)
  for (let i = 0, at = 0; i < words.length; i++, at += 4) {
    words[i] = (all[at] << 24) | (all[at + 1] << 16) | (all[at + 2] << 8) | all[at + 3]
  }
  words[words.length - 2] = Math.floor(bytes.length / 0x20000000)
  words[words.length - 1] = bytes.length << 3
  return words
}
const bytesOfWords = (words, length) => {
  const bytes = new NativeUint8Array(length)
  for (let i = 0; i < length; i++) bytes[i] = words[i >> 2] >>> (24 - (i & 3) * 8)
  return bytes
}

const sha1 = (bytes) => {
  const words = padded(bytes, 64)
  const w = new Int32Array(80)
  let h0 = 0x67452301, h1 = 0xefcdab89 | 0, h2 = 0x98badcfe | 0, h3 = 0x10325476, h4 = 0xc3d2e1f0 | 0
  for (let at = 0; at < words.length; at += 16) {
    for (let i = 0; i < 16; i++) w[i] = words[at + i]
    for (let i = 16; i < 80; i++) {
      const x = w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]
      w[i] = (x << 1) | (x >>> 31)
    }
    let a = h0, b = h1, c = h2, d = h3, e = h4
    for (let i = 0; i < 80; i++) {
      const f = i < 20 ? ((b & c) | (~b & d)) + 0x5a827999 : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
        : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc : (b ^ c ^ d) + 0xca62c1d6
      const next = (((a << 5) | (a >>> 27)) + f + e + w[i]) | 0
      e = d
      d = c
      c = (b << 30) | (b >>> 2)
      b = a
      a = next
    }
    h0 = (h0 + a) | 0
    h1 = (h1 + b) | 0
    h2 = (h2 + c) | 0
    h3 = (h3 + d) | 0
    h4 = (h4 + e) | 0
  }
  return bytesOfWords([h0, h1, h2, h3, h4], 20)
}

let k256
const sha256 = (bytes) => {
  if (k256 === undefined) k256 = Int32Array.from(firstPrimes(64), (prime) => Number(rootBits(prime, 3n) >> 32n) | 0)
  const k = k256
  const words = padded(bytes, 64)
  const w = new Int32Array(64)
  const hash = Int32Array.from(firstPrimes(8), (prime) => Number(rootBits(prime, 2n) >> 32n) | 0)
  for (let at = 0; at < words.length; at += 16) {
    for (let i = 0; i < 16; i++) w[i] = words[at + i]
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15], y = w[i - 2]
      w[i] = w[i - 16] + (((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)) + w[i - 7] +
        (((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10))
    }
    let a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5], g = hash[6], h = hash[7]
    for (let i = 0; i < 64; i++) {
      const one = (h + (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))) + ((e & f) ^ (~e & g)) + k[i] + w[i]) | 0
      const two = ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + one) | 0
      d = c
      c = b
      b = a
      a = (one + two) | 0
    }
    hash[0] += a
    hash[1] += b
    hash[2] += c
    hash[3] += d
    hash[4] += e
    hash[5] += f
    hash[6] += g
    hash[7] += h
  }
  return bytesOfWords(hash, 32)
}

let k512
/** 64-bit words as pairs of 32 bits, high first. SHA-384 is SHA-512 from other roots, cut short. */
const sha512 = (start, length) => (bytes) => {
  const halves = (big) => [Number(big >> 32n) | 0, Number(big & 0xffffffffn) | 0]
  if (k512 === undefined) k512 = Int32Array.from(firstPrimes(80).flatMap((prime) => halves(rootBits(prime, 3n))))
  const k = k512
  const words = padded(bytes, 128)
  const w = new Int32Array(160)
  const hash = Int32Array.from(firstPrimes(start + 8).slice(start).flatMap((prime) => halves(rootBits(prime, 2n))))
  const v = new Int32Array(16)
  for (let at = 0; at < words.length; at += 32) {
    for (let i = 0; i < 32; i++) w[i] = words[at + i]
    for (let i = 32; i < 160; i += 2) {
      const xh = w[i - 30], xl = w[i - 29], yh = w[i - 4], yl = w[i - 3]
      const s0h = ((xh >>> 1) | (xl << 31)) ^ ((xh >>> 8) | (xl << 24)) ^ (xh >>> 7)
      const s0l = ((xl >>> 1) | (xh << 31)) ^ ((xl >>> 8) | (xh << 24)) ^ ((xl >>> 7) | (xh << 25))
      const s1h = ((yh >>> 19) | (yl << 13)) ^ ((yl >>> 29) | (yh << 3)) ^ (yh >>> 6)
      const s1l = ((yl >>> 19) | (yh << 13)) ^ ((yh >>> 29) | (yl << 3)) ^ ((yl >>> 6) | (yh << 26))
      const low = (w[i - 31] >>> 0) + (s0l >>> 0) + (w[i - 13] >>> 0) + (s1l >>> 0)
      w[i + 1] = low
      w[i] = w[i - 32] + s0h + w[i - 14] + s1h + Math.floor(low / 4294967296)
    }
    v.set(hash)
    for (let i = 0; i < 160; i += 2) {
      const ah = v[0], al = v[1], eh = v[8], el = v[9]
      const s1h = ((eh >>> 14) | (el << 18)) ^ ((eh >>> 18) | (el << 14)) ^ ((el >>> 9) | (eh << 23))
      const s1l = ((el >>> 14) | (eh << 18)) ^ ((el >>> 18) | (eh << 14)) ^ ((eh >>> 9) | (el << 23))
      const chh = (eh & v[10]) ^ (~eh & v[12]), chl = (el & v[11]) ^ (~el & v[13])
      const oneLow = (v[15] >>> 0) + (s1l >>> 0) + (chl >>> 0) + (k[i + 1] >>> 0) + (w[i + 1] >>> 0)
      const oneHigh = (v[14] + s1h + chh + k[i] + w[i] + Math.floor(oneLow / 4294967296)) | 0
      const s0h = ((ah >>> 28) | (al << 4)) ^ ((al >>> 2) | (ah << 30)) ^ ((al >>> 7) | (ah << 25))
      const s0l = ((al >>> 28) | (ah << 4)) ^ ((ah >>> 2) | (al << 30)) ^ ((ah >>> 7) | (al << 25))
      const majh = (ah & v[2]) ^ (ah & v[4]) ^ (v[2] & v[4]), majl = (al & v[3]) ^ (al & v[5]) ^ (v[3] & v[5])
      const twoLow = (s0l >>> 0) + (majl >>> 0)
      const twoHigh = (s0h + majh + Math.floor(twoLow / 4294967296)) | 0
      const newE = (v[7] >>> 0) + (oneLow >>> 0)
      const newEHigh = v[6] + oneHigh + Math.floor(newE / 4294967296)
      const newA = (oneLow >>> 0) + (twoLow >>> 0)
      const newAHigh = oneHigh + twoHigh + Math.floor(newA / 4294967296)
      v.copyWithin(2, 0, 14)
      v[8] = newEHigh
      v[9] = newE
      v[0] = newAHigh
      v[1] = newA
    }
    for (let i = 0; i < 16; i += 2) {
      const low = (hash[i + 1] >>> 0) + (v[i + 1] >>> 0)
      hash[i + 1] = low
      hash[i] = hash[i] + v[i] + Math.floor(low / 4294967296)
    }
  }
  return bytesOfWords(hash, length)
}

const hashes = {
  __proto__: null,
  "SHA-1": { block: 64, of: sha1 }, "SHA-256": { block: 64, of: sha256 },
  "SHA-384": { block: 128, of: sha512(8, 48) }, "SHA-512": { block: 128, of: sha512(0, 64) }
}
const notSupported = (what) => new NativeDOMException(what, "NotSupportedError")
const hashNamed = (algorithm) => {
  const name = NativeString(isObject(algorithm) ? algorithm.name : algorithm).toUpperCase()
  if (hashes[name] === undefined) throw notSupported("crypto.subtle knows SHA-1, SHA-256, SHA-384 and SHA-512, not " + name)
  return name
}
const needHmac = (algorithm) => {
  const name = NativeString(isObject(algorithm) ? algorithm.name : algorithm).toUpperCase()
  if (name !== "HMAC") throw notSupported("crypto.subtle knows keys for HMAC only, not for " + name)
}
const hmac = (hash, key, message) => {
  const { block, of } = hashes[hash]
  const short = key.length > block ? of(key) : key
  const inner = new NativeUint8Array(block + message.length).fill(0x36, 0, block)
  for (let i = 0; i < short.length; i++) inner[i] ^= short[i]
  inner.set(message, block)
  const digest = of(inner)
  const outer = new NativeUint8Array(block + digest.length).fill(0x5c, 0, block)
  for (let i = 0; i < short.length; i++) outer[i] ^= short[i]
  outer.set(digest, block)
  return of(outer)
}

let keyBytes
class CryptoKey {
  #bytes
  static { keyBytes = (key) => key.#bytes }
  constructor(bytes, hash, extractable, usages) {
    this.#bytes = bytes
    this.type = "secret"
    this.extractable = extractable
    this.algorithm = freeze({ name: "HMAC", hash: freeze({ name: hash }), length: bytes.length * 8 })
    this.usages = freeze([...usages])
    freeze(this)
  }
}
const needUsage = (key, usage) => {
  if (!key.usages.includes(usage)) throw new NativeDOMException("the key was not imported for " + usage, "InvalidAccessError")
}
const sign = (algorithm, key, data) => {
  needHmac(algorithm)
  return hmac(key.algorithm.hash.name, keyBytes(key), bytesOf(data))
}
const subtle = freeze({
  digest: async (algorithm, data) => hashes[hashNamed(algorithm)].of(bytesOf(data)).buffer,
  importKey: async (format, data, algorithm, extractable, usages) => {
    needHmac(algorithm)
    if (format !== "raw") throw notSupported("crypto.subtle imports raw keys only, not " + format)
    return new CryptoKey(bytesOf(data).slice(), hashNamed(algorithm.hash), extractable, usages)
  },
  exportKey: async (format, key) => {
    if (format !== "raw" || !key.extractable) throw new NativeDOMException("the key cannot be exported", "InvalidAccessError")
    return keyBytes(key).slice().buffer
  },
  sign: async (algorithm, key, data) => {
    needUsage(key, "sign")
    return sign(algorithm, key, data).buffer
  },
  verify: async (algorithm, key, signature, data) => {
    needUsage(key, "verify")
    const expected = sign(algorithm, key, data)
    const given = bytesOf(signature)
    let different = given.length ^ expected.length
    for (let i = 0; i < expected.length; i++) different |= expected[i] ^ given[i]
    return different === 0
  }
})
global("CryptoKey", CryptoKey)
global("crypto", freeze({ randomUUID, getRandomValues, subtle }))
`
