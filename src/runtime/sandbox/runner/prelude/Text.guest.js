/** UTF-8, base64 and `structuredClone`, built on the engine's native `escape` and related functions. */
/** @returns {Uint8Array} */
const bytesOf = (source) => {
  if (source instanceof NativeUint8Array) return source
  if (NativeArrayBuffer.isView(source)) return new NativeUint8Array(source.buffer, source.byteOffset, source.byteLength)
  if (source instanceof NativeArrayBuffer) return new NativeUint8Array(source)
  throw new TypeError("expected an ArrayBuffer or a view of one")
}

const setBytes = unbound(getPrototypeOf(NativeUint8Array.prototype).set)
/**
 * A buffer of its own with these bytes, whatever the workflow has made of the prototypes.
 * @param {Uint8Array} bytes
 */
const bufferOf = (bytes) => {
  const buffer = new NativeArrayBuffer(bytes.length)
  setBytes(new NativeUint8Array(buffer), bytes)
  return buffer
}

// --- Bytes as "binary" strings: one character a byte ---

const fromCharCode = String.fromCharCode
/** @param {Uint8Array} bytes */
const binaryOf = (bytes) => {
  let result = ""
  for (let at = 0; at < bytes.length; at += 4096)
    result += apply(fromCharCode, undefined, bytes.subarray(at, at + 4096))
  return result
}
/** @param {string} binary */
const bytesOfBinary = (binary) => {
  const bytes = new NativeUint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}
const utf8Binary = (string) => {
  const whole = NativeString(string).toWellFormed()
  return /[^\x00-\x7f]/.test(whole) ? unescape(encodeURIComponent(whole)) : whole
}
const utf8 = (string) => bytesOfBinary(utf8Binary(string))

/**
 * Decodes byte by byte, with a replacement character for each maximal wrong part, as the standard has it.
 * @param {Uint8Array} bytes
 */
const decodeLeniently = (bytes) => {
  let result = ""
  let at = 0
  while (at < bytes.length) {
    const first = bytes[at++]
    if (first < 0x80) {
      result += fromCharCode(first)
      continue
    }
    let more =
      first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : 0
    let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
    let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
    if (more === 0) {
      result += "\ufffd"
      continue
    }
    let point = first & (0x3f >> more)
    while (more > 0 && bytes[at] >= low && bytes[at] <= high) {
      point = (point << 6) | (bytes[at++] & 0x3f)
      low = 0x80
      high = 0xbf
      more--
    }
    result += more === 0 ? NativeString.fromCodePoint(point) : "\ufffd"
  }
  return result
}
/**
 * @param {Uint8Array} bytes
 * @param {boolean} fatal
 */
const decodeUtf8 = (bytes, fatal) => {
  const binary = binaryOf(bytes)
  if (!/[^\x00-\x7f]/.test(binary)) return binary
  try {
    return decodeURIComponent(escape(binary))
  } catch {
    if (fatal) throw new TypeError("the bytes are not valid UTF-8")
    return decodeLeniently(bytes)
  }
}

global(
  "TextEncoder",
  class TextEncoder {
    get encoding() {
      return "utf-8"
    }
    encode(string = "") {
      return utf8(string)
    }
    encodeInto(string, target) {
      let read = 0,
        written = 0
      for (const character of NativeString(string)) {
        const bytes = utf8(character)
        if (written + bytes.length > target.length) break
        target.set(bytes, written)
        written += bytes.length
        read += character.length
      }
      return { read, written }
    }
  }
)
global(
  "TextDecoder",
  class TextDecoder {
    #fatal
    #keepMark
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) {
        throw new RangeError("TextDecoder knows utf-8 only in a workflow, not " + label)
      }
      this.#fatal = fatal
      this.#keepMark = ignoreBOM
    }
    get encoding() {
      return "utf-8"
    }
    get fatal() {
      return this.#fatal
    }
    get ignoreBOM() {
      return this.#keepMark
    }
    decode(source, options) {
      if (options?.stream)
        throw new TypeError("TextDecoder decodes whole values only in a workflow: there are no streams")
      if (source === undefined) return ""
      const result = decodeUtf8(bytesOf(source), this.#fatal)
      return !this.#keepMark && result[0] === "\ufeff" ? result.slice(1) : result
    }
  }
)

// --- Base64, twelve bits at a time ---

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
/** @type {string[] | undefined} */
let pairs
/** @param {Uint8Array} bytes */
const base64 = (bytes) => {
  if (pairs === undefined) {
    pairs = []
    for (let i = 0; i < 4096; i++) pairs[i] = letters[i >> 6] + letters[i & 63]
  }
  let result = ""
  const whole = bytes.length - (bytes.length % 3)
  for (let i = 0; i < whole; i += 3) {
    const three = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2]
    result += pairs[three >> 12] + pairs[three & 4095]
  }
  if (bytes.length - whole === 1) result += pairs[bytes[whole] << 4] + "=="
  if (bytes.length - whole === 2) {
    const two = (bytes[whole] << 16) | (bytes[whole + 1] << 8)
    result += pairs[two >> 12] + letters[(two >> 6) & 63] + "="
  }
  return result
}
/** @type {Uint8Array | undefined} */
let values
const notBase64 = () => new NativeDOMException("the text is not base64", "InvalidCharacterError")
/** @param {string} text */
const base64Bytes = (text) => {
  if (values === undefined) {
    values = new NativeUint8Array(128)
    for (let i = 0; i < 64; i++) values[letters.charCodeAt(i)] = i
  }
  let source = /[\t\n\f\r ]/.test(text) ? text.replace(/[\t\n\f\r ]/g, "") : text
  if (source.length % 4 === 0) {
    if (source.endsWith("==")) source = source.slice(0, -2)
    else if (source.endsWith("=")) source = source.slice(0, -1)
  }
  if (source.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(source)) throw notBase64()
  const length = source.length
  const bytes = new NativeUint8Array((length * 3) >> 2)
  let to = 0
  for (let i = 0; i < length; i += 4) {
    const four =
      (values[source.charCodeAt(i)] << 18) |
      (values[source.charCodeAt(i + 1)] << 12) |
      (i + 2 < length ? values[source.charCodeAt(i + 2)] << 6 : 0) |
      (i + 3 < length ? values[source.charCodeAt(i + 3)] : 0)
    bytes[to++] = four >> 16
    bytes[to++] = four >> 8
    bytes[to++] = four
  }
  return bytes
}
/**
 * The same by the runner, in a step's time also for megabytes.
 * @param {Uint8Array} bytes
 */
const base64Computed = async (bytes) =>
  binaryOf(new NativeUint8Array(await compute("base64-encode", null, bufferOf(bytes))))
/** @param {string} text */
const base64BytesComputed = async (text) => new NativeUint8Array(await compute("base64-decode", null, text))
global("atob", (text) => binaryOf(base64Bytes(NativeString(text))))
global("btoa", (binary) => {
  const string = NativeString(binary)
  if (/[^\x00-\xff]/.test(string)) {
    throw new NativeDOMException(
      "btoa takes characters up to U+00FF; encode other text with TextEncoder first",
      "InvalidCharacterError"
    )
  }
  return base64(bytesOfBinary(string))
})

// --- structuredClone ---

const cannotClone = (what) => new NativeDOMException(what + " cannot be cloned", "DataCloneError")
const cloneOf = (value, seen) => {
  if (typeof value === "function" || typeof value === "symbol") throw cannotClone("a " + typeof value)
  if (!isObject(value)) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  const keep = (copy) => {
    seen.set(value, copy)
    return copy
  }
  return cloneBuiltIn(value, seen, keep) ?? cloneCollection(value, seen, keep) ?? cloneObject(value, seen, keep)
}
const boxes = [Number, String, Boolean, BigInt]
const cloneBuiltIn = (value, seen, keep) => {
  if (value instanceof NativeDate) return keep(new NativeDate(value.getTime()))
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags))
  for (const Box of boxes) if (value instanceof Box) return keep(Object(value.valueOf()))
  if (value instanceof NativeArrayBuffer) return keep(value.slice(0))
  if (!NativeArrayBuffer.isView(value)) return undefined
  const buffer = cloneOf(value.buffer, seen)
  const Kind = value instanceof DataView ? DataView : globalThis[arrayKind(value)]
  return keep(new Kind(buffer, value.byteOffset, /** @type {any} */ (value).length ?? value.byteLength))
}
/** Clones a copy of the collection: a getter of an item may change the collection meanwhile. */
const cloneCollection = (value, seen, keep) => {
  if (isArray(value)) {
    const copy = keep([])
    copy.length = value.length
    for (const member of keys(value)) copy[member] = cloneOf(value[member], seen)
    return copy
  }
  if (value instanceof Map) {
    const copy = keep(new Map())
    for (const [key, item] of Array.from(value)) copy.set(cloneOf(key, seen), cloneOf(item, seen))
    return copy
  }
  if (value instanceof Set) {
    const copy = keep(new Set())
    for (const item of Array.from(value)) copy.add(cloneOf(item, seen))
    return copy
  }
  return undefined
}
const cloneObject = (value, seen, keep) => {
  if (isError(value)) {
    const Kind = kinds[value.name] ?? NativeError
    const copy = keep(new Kind(value.message))
    define(copy, "stack", value.stack, false)
    if (hasOwn(value, "cause")) define(copy, "cause", cloneOf(value.cause, seen), false)
    return copy
  }
  for (const Kind of [NativePromise, WeakMap, WeakSet]) if (value instanceof Kind) throw cannotClone("a " + Kind.name)
  const copy = keep({})
  for (const member of keys(value)) define(copy, member, cloneOf(value[member], seen), true)
  return copy
}
global("structuredClone", (value) => cloneOf(value, new Map()))
