let abortSignal, giveBody, peekBody, headersGiven, setUnchecked, pairsSorted

// --- Abort ---

class AbortSignal {
  #listeners = []
  aborted = false
  reason = undefined
  onabort = null
  static { abortSignal = (signal, reason) => signal.#abort(reason) }
  static abort(reason) { const signal = new AbortSignal(); abortSignal(signal, reason); return signal }
  static timeout(milliseconds) {
    const signal = new AbortSignal()
    setTimeout(() => abortSignal(signal, new NativeDOMException("the operation timed out", "TimeoutError")), milliseconds)
    return signal
  }
  static any(signals) {
    const signal = new AbortSignal()
    for (const source of signals) {
      if (source.aborted) { abortSignal(signal, source.reason); break }
      source.addEventListener("abort", () => abortSignal(signal, source.reason))
    }
    return signal
  }
  throwIfAborted() { if (this.aborted) throw this.reason }
  addEventListener(type, listener) { if (type === "abort") this.#listeners.push(listener) }
  removeEventListener(type, listener) { this.#listeners = this.#listeners.filter((one) => one !== listener) }
  dispatchEvent() { return true }
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
  abort(reason) { abortSignal(this.signal, reason) }
}
global("AbortSignal", AbortSignal)
global("AbortController", AbortController)

// --- Headers ---

class Headers {
  #values
  /** What the host answered, each name once or more: read into "values" when somebody asks. */
  #given
  static {
    headersGiven = (pairs) => { const headers = new Headers(); headers.#given = pairs; return headers }
    setUnchecked = (headers, name, value) => { mapSet(headers.#map(), name, [value]) }
    /** A loop and no generator: it stands in the way of every fetch. */
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
    const values = this.#values = new Map()
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
    if (!/^[!#$%&'*+.^_\x60|~0-9a-z-]+$/.test(key)) throw new TypeError("not a header name: " + describe(name))
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
  set(name, value) { mapSet(this.#map(), this.#key(name), [this.#value(value)]) }
  delete(name) { mapDelete(this.#map(), this.#key(name)) }
  has(name) { return mapGet(this.#map(), this.#key(name)) !== undefined }
  get(name) { return mapGet(this.#map(), this.#key(name))?.join(", ") ?? null }
  getSetCookie() { return [...(mapGet(this.#map(), "set-cookie") ?? [])] }
  forEach(visit, self) { for (const [name, value] of this) apply(visit, self, [value, name, this]) }
  *entries() { yield* pairsSorted(this) }
  *keys() { for (const [name] of this.entries()) yield name }
  *values() { for (const [, value] of this.entries()) yield value }
  [Symbol.iterator]() { return this.entries() }
}
global("Headers", Headers)

// --- Bodies ---

/** A body as text or as bytes, whichever it is already, and its media type when the caller gave none. */
const bodyOf = (body) => {
  if (body === undefined || body === null) return { text: null, bytes: null, type: null }
  if (body instanceof URLSearchParams) {
    return { text: body.toString(), bytes: null, type: "application/x-www-form-urlencoded;charset=UTF-8" }
  }
  if (body instanceof NativeArrayBuffer || NativeArrayBuffer.isView(body)) return { text: null, bytes: bytesOf(body).slice(), type: null }
  return { text: NativeString(body), bytes: null, type: "text/plain;charset=UTF-8" }
}
/** Base64 text from this length on is coded by the runner: a call of its own costs as much as this many characters. */
const computedFrom = 1024
/** The bytes of a body, decoded when they are read first. */
const decodedBytes = async (parts) => {
  const { coded } = parts
  if (coded === undefined) return parts.bytes
  const bytes = coded.length < computedFrom ? base64Bytes(coded) : await base64BytesComputed(coded)
  parts.bytes = bytes
  parts.coded = undefined
  return bytes
}
class Body {
  #parts
  #used = false
  static {
    giveBody = (target, parts) => { target.#parts = parts }
    peekBody = (target) => target.#parts
  }
  get bodyUsed() { return this.#used }
  get body() { return null }
  #take() {
    if (this.#used) throw new TypeError("the body has been read already: clone() before reading twice")
    this.#used = true
    return this.#parts
  }
  async text() {
    const parts = this.#take()
    if (parts.text !== null) return parts.text
    const bytes = await decodedBytes(parts)
    const text = bytes === null ? "" : decodeUtf8(bytes, false)
    return text[0] === "\ufeff" ? text.slice(1) : text
  }
  async json() { return parse(await this.text()) }
  async bytes() {
    const parts = this.#take()
    const bytes = await decodedBytes(parts)
    return bytes !== null ? bytes.slice() : utf8(parts.text ?? "")
  }
  async arrayBuffer() { return (await this.bytes()).buffer }
  async blob() { throw new TypeError("Blob does not exist in a workflow: use bytes() or arrayBuffer()") }
  async formData() { throw new TypeError("FormData does not exist in a workflow: use text() and URLSearchParams") }
}

/** A URL that its own parser would print as it stands, but for the slash of an empty path: most are. */
const plainUrl = /^(https?):\/\/(?:(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*|(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))(?::([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?(\/[!$%&(-;=@A-Z_a-z~]*(?:\?[!$%&(-;=?@A-Z_a-z~\[\]^|{}]*)?)?$/
const hrefOf = (input) => {
  const text = NativeString(input)
  if (text.length < 2048 && indexOf(text, "/.") < 0 && indexOf(text, "%2e") < 0 && indexOf(text, "%2E") < 0) {
    const found = plainUrl.exec(text)
    if (found !== null && found[2] !== "80" && found[2] !== "443") return found[3] === undefined ? text + "/" : text
  }
  return new URL(text).href
}

/** What a request and a fetch are made of. */
const requestForm = (input, init) => {
  const from = input instanceof Request ? input : undefined
  const url = from === undefined ? hrefOf(input) : from.url
  const method = NativeString(init.method ?? from?.method ?? "GET").toUpperCase()
  const headers = new Headers(init.headers ?? from?.headers)
  const parts = init.body === undefined && from !== undefined ? peekBody(from) : bodyOf(init.body)
  if ((parts.text !== null || parts.bytes !== null) && (method === "GET" || method === "HEAD")) {
    throw new TypeError("a " + method + " request has no body")
  }
  if (parts.type !== null && !headers.has("content-type")) setUnchecked(headers, "content-type", parts.type)
  return { url, method, headers, parts, signal: init.signal ?? from?.signal, redirect: init.redirect ?? from?.redirect ?? "follow" }
}

class Request extends Body {
  constructor(input, init = {}) {
    super()
    const { url, method, headers, parts, signal, redirect } = requestForm(input, init)
    this.url = url
    this.method = method
    this.headers = headers
    this.signal = signal ?? new AbortSignal()
    this.redirect = redirect
    giveBody(this, parts)
  }
  clone() { return new Request(this) }
}

/** What a Response is made of when it is no answer of the host; no workflow has it. */
const fromHost = freeze({ __proto__: null })
class Response extends Body {
  #answer
  #headers
  constructor(body, init = {}) {
    super()
    if (body === fromHost) {
      this.#answer = init
      return
    }
    const parts = bodyOf(body)
    this.#answer = { status: init.status ?? 200, statusText: init.statusText, type: "default" }
    this.#headers = new Headers(init.headers)
    if (parts.type !== null && !this.#headers.has("content-type")) this.#headers.set("content-type", parts.type)
    giveBody(this, parts)
  }
  get status() { return this.#answer.status }
  get statusText() { return this.#answer.statusText ?? "" }
  get ok() { return this.#answer.status >= 200 && this.#answer.status <= 299 }
  get url() { return this.#answer.url ?? "" }
  get redirected() { return this.#answer.redirected === true }
  get type() { return this.#answer.type ?? "basic" }
  get headers() { return this.#headers ??= headersGiven(this.#answer.headers ?? []) }
  static json(value, init = {}) {
    const headers = new Headers(init.headers ?? {})
    if (!headers.has("content-type")) headers.set("content-type", "application/json")
    return new Response(json(value), { ...init, headers })
  }
  static error() { return responseOf({ status: 0, type: "error" }, noBody) }
  clone() {
    if (this.bodyUsed) throw new TypeError("the body has been read already: clone() before reading it")
    const copy = responseOf(this.#answer, peekBody(this))
    copy.#headers = new Headers(this.headers)
    return copy
  }
}
const noBody = freeze({ text: null, bytes: null, type: null })
const responseOf = (answer, parts) => {
  const response = new Response(fromHost, answer)
  giveBody(response, parts)
  return response
}
/** The Response of the host's answer. A body that is not UTF-8 comes as base64. */
const answered = (answer) => responseOf(answer, typeof answer.body === "string"
  ? { text: answer.body, bytes: null, type: null }
  : { text: null, bytes: null, type: null, coded: answer.bodyBase64 ?? "" })
global("Request", Request)
global("Response", Response)

// --- fetch ---

const rejected = (cause) => new NativePromise((_, reject) => reject(cause))
/** Pairs of names and values, as written. */
const writtenPairs = (headers) => {
  if (headers === undefined || headers === null) return []
  if (headers instanceof Headers) return pairsSorted(headers)
  const pairs = []
  if (typeof headers[Symbol.iterator] === "function") {
    for (const [name, value] of headers) pairs.push([NativeString(name), NativeString(value)])
    return pairs
  }
  const names = keys(headers)
  for (let i = 0; i < names.length; i++) pairs[i] = [names[i], NativeString(headers[names[i]])]
  return pairs
}
const hasContentType = (pairs) => {
  for (let i = 0; i < pairs.length; i++) if (pairs[i][0].toLowerCase() === "content-type") return true
  return false
}
const checkSize = (size) => {
  if (size > limits.fetchBytes) throw new TypeError("fetch sends at most " + limits.fetchBytes + " bytes")
}
/** The request as it is handed over; "bytes" is a body that has still to be coded. */
const written = (url, method, headers, parts, redirect) => {
  if (parts.text !== null || parts.bytes !== null) {
    if (method === "GET" || method === "HEAD") throw new TypeError("a " + method + " request has no body")
    checkSize(parts.text === null ? parts.bytes.length : parts.text.length)
    if (parts.type !== null && !hasContentType(headers)) headers.push(["content-type", parts.type])
  }
  const request = { url, method, headers, body: parts.text }
  if (redirect !== undefined && redirect !== "follow") request.redirect = redirect
  return request
}
const send = (request, bytes) => {
  if (bytes !== null) {
    if (bytes.length >= computedFrom) {
      return base64Computed(bytes).then((text) => { request.bodyBase64 = text; return call("fetch", [request], answered) })
    }
    request.bodyBase64 = base64(bytes)
  }
  return call("fetch", [request], answered)
}
const aborted = (answer, signal) => new NativePromise((resolve, reject) => {
  answer.then(resolve, reject)
  signal.addEventListener("abort", () => reject(signal.reason))
})
const fetchRequest = (request, init) => {
  const { url, method, headers, parts, signal, redirect } = requestForm(request, init)
  signal?.throwIfAborted?.()
  const answer = send(written(url, method, pairsSorted(headers), parts, redirect), parts.bytes)
  return signal === undefined || signal === null ? answer : aborted(answer, signal)
}
const fetchUrl = (url, init) => {
  const { method, signal } = init
  signal?.throwIfAborted?.()
  const parts = bodyOf(init.body)
  const verb = method === undefined ? "GET" : NativeString(method).toUpperCase()
  const answer = send(written(url, verb, writtenPairs(init.headers), parts, init.redirect), parts.bytes)
  return signal === undefined || signal === null ? answer : aborted(answer, signal)
}
global("fetch", (input, init) => {
  try {
    if (typeof input !== "string" && isA(input, Request)) return fetchRequest(input, init ?? {})
    const url = NativeString(input)
    return init === undefined || init === null
      ? call("fetch", [{ url, method: "GET", headers: [], body: null }], answered)
      : fetchUrl(url, init)
  } catch (cause) {
    if (cause === null || isOutOfMemory(cause)) throw cause
    return rejected(cause)
  }
})
