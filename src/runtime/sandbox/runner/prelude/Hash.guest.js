/** The SHA family and HMAC behind `crypto.subtle`. The runner computes them within the same step, so they are not journaled. */
const hashes = { __proto__: null, "SHA-1": true, "SHA-256": true, "SHA-384": true, "SHA-512": true }
const notSupported = (what) => new NativeDOMException(what, "NotSupportedError")
const hashNamed = (algorithm) => {
  const name = NativeString(isObject(algorithm) ? algorithm.name : algorithm).toUpperCase()
  if (hashes[name] !== true) throw notSupported("crypto.subtle knows SHA-1, SHA-256, SHA-384 and SHA-512, not " + name)
  return name
}
const needHmac = (algorithm) => {
  const name = NativeString(isObject(algorithm) ? algorithm.name : algorithm).toUpperCase()
  if (name !== "HMAC") throw notSupported("crypto.subtle knows keys for HMAC only, not for " + name)
}
let keyBytes
class CryptoKey {
  #bytes
  static {
    keyBytes = (key) => key.#bytes
  }
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
  if (!key.usages.includes(usage))
    throw new NativeDOMException("the key was not imported for " + usage, "InvalidAccessError")
}
const sign = (algorithm, key, data) => {
  needHmac(algorithm)
  return compute(key.algorithm.hash.name, bufferOf(keyBytes(key)), bufferOf(bytesOf(data)))
}
const subtle = freeze({
  digest: async (algorithm, data) => await compute(hashNamed(algorithm), null, bufferOf(bytesOf(data))),
  importKey: async (format, data, algorithm, extractable, usages) => {
    needHmac(algorithm)
    if (format !== "raw") throw notSupported("crypto.subtle imports raw keys only, not " + format)
    return new CryptoKey(bytesOf(data).slice(), hashNamed(algorithm.hash), extractable, usages)
  },
  exportKey: async (format, key) => {
    if (format !== "raw" || !key.extractable)
      throw new NativeDOMException("the key cannot be exported", "InvalidAccessError")
    return keyBytes(key).slice().buffer
  },
  sign: async (algorithm, key, data) => {
    needUsage(key, "sign")
    return await sign(algorithm, key, data)
  },
  verify: async (algorithm, key, signature, data) => {
    needUsage(key, "verify")
    const expected = new NativeUint8Array(await sign(algorithm, key, data))
    const given = bytesOf(signature)
    let different = given.length ^ expected.length
    for (let i = 0; i < expected.length; i++) different |= expected[i] ^ given[i]
    return different === 0
  }
})
global("CryptoKey", CryptoKey)
global("crypto", freeze({ randomUUID, getRandomValues, subtle }))
