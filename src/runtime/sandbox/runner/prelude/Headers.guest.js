/** `AbortSignal`, `AbortController` and `Headers`. */
let abortSignal, headersGiven, setUnchecked
/** @type {(headers: Headers) => [name: string, value: string][]} */
let pairsSorted

// --- Abort ---

class AbortSignal {
  /** @type {any[]} */
  #listeners = []
  aborted = false
  /** @type {any} */
  reason = undefined
  /** @type {Function | null} */
  onabort = null
  static {
    abortSignal = (signal, reason) => signal.#abort(reason)
  }
  static abort(reason) {
    const signal = new AbortSignal()
    abortSignal(signal, reason)
    return signal
  }
  static timeout(milliseconds) {
    const signal = new AbortSignal()
    setTimeout(
      () => abortSignal(signal, new NativeDOMException("the operation timed out", "TimeoutError")),
      milliseconds
    )
    return signal
  }
  static any(signals) {
    const signal = new AbortSignal()
    for (const source of signals) {
      if (source.aborted) {
        abortSignal(signal, source.reason)
        break
      }
      source.addEventListener("abort", () => abortSignal(signal, source.reason))
    }
    return signal
  }
  throwIfAborted() {
    if (this.aborted) throw this.reason
  }
  addEventListener(type, listener) {
    if (type === "abort") this.#listeners.push(listener)
  }
  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((one) => one !== listener)
  }
  dispatchEvent() {
    return true
  }
  #abort(reason = new NativeDOMException("the operation was aborted", "AbortError")) {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const event = { type: "abort", target: this }
    for (const listener of [this.onabort, ...this.#listeners]) {
      if (typeof listener === "function") apply(listener, this, [event])
      else if (listener !== null) listener.handleEvent(event)
    }
  }
}
class AbortController {
  signal = new AbortSignal()
  abort(reason) {
    abortSignal(this.signal, reason)
  }
}
global("AbortSignal", AbortSignal)
global("AbortController", AbortController)

// --- Headers ---

class Headers {
  #values
  /** What the host answered, each name once or more: read into `#values` when they are asked for. */
  #given
  static {
    headersGiven = (pairs) => {
      const headers = new Headers()
      headers.#given = pairs
      return headers
    }
    setUnchecked = (headers, name, value) => {
      mapSet(headers.#map(), name, [value])
    }
    /** A loop instead of a generator, since every fetch runs it. */
    pairsSorted = (headers) => {
      const pairs = []
      if (headers.#values === undefined && headers.#given === undefined) return pairs
      const names = [...headers.#map().keys()].sort()
      for (let i = 0; i < names.length; i++) {
        const list = mapGet(headers.#map(), names[i])
        if (names[i] !== "set-cookie") pairs.push([names[i], list.length === 1 ? list[0] : list.join(", ")])
        else for (let k = 0; k < list.length; k++) pairs.push([names[i], list[k]])
      }
      return pairs
    }
  }
  constructor(init) {
    if (init === undefined) return
    if (init instanceof Headers) {
      for (const pair of pairsSorted(init)) this.append(pair[0], pair[1])
      return
    }
    const entries = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init)
    for (const [name, value] of entries) this.append(name, value)
  }
  #map() {
    if (this.#values !== undefined) return this.#values
    const values = (this.#values = new Map())
    const given = this.#given ?? []
    for (let i = 0; i < given.length; i++) {
      const key = given[i][0].toLowerCase()
      const list = mapGet(values, key)
      if (list === undefined) mapSet(values, key, [given[i][1]])
      else list.push(given[i][1])
    }
    return values
  }
  #key(name) {
    const key = NativeString(name).toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(key)) throw new TypeError("not a header name: " + describe(name))
    return key
  }
  #value(value) {
    const text = NativeString(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "")
    if (/[\x00\n\r]/.test(text)) throw new TypeError("a header's value is one line")
    return text
  }
  append(name, value) {
    const key = this.#key(name)
    const text = this.#value(value)
    const list = mapGet(this.#map(), key)
    if (list === undefined) mapSet(this.#map(), key, [text])
    else list.push(text)
  }
  set(name, value) {
    mapSet(this.#map(), this.#key(name), [this.#value(value)])
  }
  delete(name) {
    mapDelete(this.#map(), this.#key(name))
  }
  has(name) {
    return mapGet(this.#map(), this.#key(name)) !== undefined
  }
  get(name) {
    return mapGet(this.#map(), this.#key(name))?.join(", ") ?? null
  }
  getSetCookie() {
    return [...(mapGet(this.#map(), "set-cookie") ?? [])]
  }
  forEach(visit, self) {
    for (const [name, value] of this) apply(visit, self, [value, name, this])
  }
  *entries() {
    yield* pairsSorted(this)
  }
  *keys() {
    for (const [name] of this.entries()) yield name
  }
  *values() {
    for (const [, value] of this.entries()) yield value
  }
  [Symbol.iterator]() {
    return this.entries()
  }
}
global("Headers", Headers)
