/** `Request` and `Response`, whose bodies are complete values. */
/** @type {(target: Body, parts: BodyParts) => void} */
let giveBody
/** @type {(target: Body) => BodyParts} */
let peekBody

/**
 * A body as text or as bytes, whichever it is already, and its media type when the caller gave none.
 * @returns {BodyParts}
 */
const bodyOf = (body) => {
  if (body === undefined || body === null) return { text: null, bytes: null, type: null }
  if (body instanceof URLSearchParams) {
    return { text: body.toString(), bytes: null, type: "application/x-www-form-urlencoded;charset=UTF-8" }
  }
  if (body instanceof NativeArrayBuffer || NativeArrayBuffer.isView(body))
    return { text: null, bytes: bytesOf(body).slice(), type: null }
  return { text: NativeString(body), bytes: null, type: "text/plain;charset=UTF-8" }
}
/** Base64 text from this length on is coded by the runner: a call of its own costs as much as this many characters. */
const computedFrom = 1024
/**
 * The bytes of a body, decoded when they are read first.
 * @param {BodyParts} parts
 */
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
    giveBody = (target, parts) => {
      target.#parts = parts
    }
    peekBody = (target) => target.#parts
  }
  get bodyUsed() {
    return this.#used
  }
  get body() {
    return null
  }
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
  async json() {
    return parse(await this.text())
  }
  async bytes() {
    const parts = this.#take()
    const bytes = await decodedBytes(parts)
    return bytes !== null ? bytes.slice() : utf8(parts.text ?? "")
  }
  async arrayBuffer() {
    return (await this.bytes()).buffer
  }
  async blob() {
    throw new TypeError("Blob does not exist in a workflow: use bytes() or arrayBuffer()")
  }
  async formData() {
    throw new TypeError("FormData does not exist in a workflow: use text() and URLSearchParams")
  }
}

/** A URL that its own parser would print as it stands, but for the slash of an empty path: most are. */
const plainUrl =
  /^(https?):\/\/(?:(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*|(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9]))(?::([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}))?(\/[!$%&(-;=@A-Z_a-z~]*(?:\?[!$%&(-;=?@A-Z_a-z~[\]^|{}]*)?)?$/
const hrefOf = (input) => {
  const text = NativeString(input)
  if (text.length < 2048 && indexOf(text, "/.") < 0 && indexOf(text, "%2e") < 0 && indexOf(text, "%2E") < 0) {
    const found = plainUrl.exec(text)
    if (found !== null && found[2] !== "80" && found[2] !== "443") return found[3] === undefined ? text + "/" : text
  }
  return new URL(text).href
}

/** The options that decide which answer a fetch gets. */
const answerOptions = (init, inherited) => ({
  redirect: init.redirect ?? inherited.redirect ?? "follow",
  cache: init.cache ?? inherited.cache ?? "default",
  integrity: init.integrity ?? inherited.integrity ?? ""
})

/** What a request and a fetch are made of. */
const requestForm = (input, init) => {
  const from = input instanceof Request ? input : undefined
  const inherited = from ?? { __proto__: null }
  const url = from === undefined ? hrefOf(input) : from.url
  const method = NativeString(init.method ?? inherited.method ?? "GET").toUpperCase()
  const headers = new Headers(init.headers ?? inherited.headers)
  const parts = init.body === undefined && from !== undefined ? peekBody(from) : bodyOf(init.body)
  if ((parts.text !== null || parts.bytes !== null) && (method === "GET" || method === "HEAD")) {
    throw new TypeError("a " + method + " request has no body")
  }
  if (parts.type !== null && !headers.has("content-type")) setUnchecked(headers, "content-type", parts.type)
  return {
    url,
    method,
    headers,
    parts,
    signal: init.signal === undefined ? inherited.signal : init.signal,
    ...answerOptions(init, inherited)
  }
}

class Request extends Body {
  constructor(input, init = {}) {
    super()
    const { url, method, headers, parts, signal, redirect, cache, integrity } = requestForm(input, init)
    this.url = url
    this.method = method
    this.headers = headers
    this.signal = signal ?? new AbortSignal()
    this.redirect = redirect
    this.cache = cache
    this.integrity = integrity
    giveBody(this, parts)
  }
  clone() {
    return new Request(this)
  }
}

/** The body of a Response that is the host's answer; workflows cannot reach it. */
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
  get status() {
    return this.#answer.status
  }
  get statusText() {
    return this.#answer.statusText ?? ""
  }
  get ok() {
    return this.#answer.status >= 200 && this.#answer.status <= 299
  }
  get url() {
    return this.#answer.url ?? ""
  }
  get redirected() {
    return this.#answer.redirected === true
  }
  get type() {
    return this.#answer.type ?? "basic"
  }
  get headers() {
    return (this.#headers ??= headersGiven(this.#answer.headers ?? []))
  }
  static json(value, init = {}) {
    const headers = new Headers(init.headers ?? {})
    if (!headers.has("content-type")) headers.set("content-type", "application/json")
    return new Response(json(value), { ...init, headers })
  }
  static error() {
    return responseOf({ status: 0, type: "error" }, noBody)
  }
  clone() {
    if (this.bodyUsed) throw new TypeError("the body has been read already: clone() before reading it")
    const copy = responseOf(this.#answer, peekBody(this))
    copy.#headers = new Headers(this.headers)
    return copy
  }
}
/** @type {BodyParts} */
const noBody = freeze({ text: null, bytes: null, type: null })
/** @param {BodyParts} parts */
const responseOf = (answer, parts) => {
  const response = new Response(fromHost, answer)
  giveBody(response, parts)
  return response
}
/** The Response of the host's answer. A body that is not UTF-8 comes as base64. */
const answered = (answer) =>
  responseOf(
    answer,
    typeof answer.body === "string"
      ? { text: answer.body, bytes: null, type: null }
      : { text: null, bytes: null, type: null, coded: answer.bodyBase64 ?? "" }
  )
global("Request", Request)
global("Response", Response)
