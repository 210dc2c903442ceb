/**
 * `fetch` over the host call of its name. Every fetch passes here, interpreted: the URL and the headers are handed over as
 * the workflow wrote them, since the host checks and normalises them in a hundredth of the time, and the parts of a
 * response are made when they are read.
 */
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
/** The request as it is handed over; "bytes" is a body that has still to be coded. The host checks the options. */
const written = (url, method, headers, parts, { redirect, cache, integrity }) => {
  if (parts.text !== null || parts.bytes !== null) {
    if (method === "GET" || method === "HEAD") throw new TypeError("a " + method + " request has no body")
    checkSize(parts.text === null ? parts.bytes.length : parts.text.length)
    if (parts.type !== null && !hasContentType(headers)) headers.push(["content-type", parts.type])
  }
  const request = { url, method, headers, body: parts.text }
  if (redirect !== undefined && redirect !== "follow") request.redirect = NativeString(redirect)
  if (cache !== undefined && cache !== "default") request.cache = NativeString(cache)
  if (integrity !== undefined && integrity !== "") request.integrity = NativeString(integrity)
  return request
}
const send = (request, bytes, place) => {
  if (bytes !== null) {
    if (bytes.length >= computedFrom) {
      return base64Computed(bytes).then((text) => {
        request.bodyBase64 = text
        return call("fetch", [request], answered, place)
      })
    }
    request.bodyBase64 = base64(bytes)
  }
  return call("fetch", [request], answered, place)
}
const aborted = (answer, signal) =>
  new NativePromise((resolve, reject) => {
    answer.then(resolve, reject)
    signal.addEventListener("abort", () => reject(signal.reason))
  })
const fetchRequest = (request, init, place) => {
  const form = requestForm(request, init)
  const { parts, signal } = form
  signal?.throwIfAborted?.()
  const answer = send(written(form.url, form.method, pairsSorted(form.headers), parts, form), parts.bytes, place)
  return signal === undefined || signal === null ? answer : aborted(answer, signal)
}
const fetchUrl = (url, init, place) => {
  const { method, signal } = init
  signal?.throwIfAborted?.()
  const parts = bodyOf(init.body)
  const verb = method === undefined ? "GET" : NativeString(method).toUpperCase()
  const answer = send(written(url, verb, writtenPairs(init.headers), parts, init), parts.bytes, place)
  return signal === undefined || signal === null ? answer : aborted(answer, signal)
}
/** @param {Place} [place] the step whose calls it makes */
const fetchOf = (place) => (input, init) => {
  try {
    if (typeof input !== "string" && isA(input, Request)) return fetchRequest(input, init ?? {}, place)
    const url = NativeString(input)
    return init === undefined || init === null
      ? call("fetch", [{ url, method: "GET", headers: [], body: null }], answered, place)
      : fetchUrl(url, init, place)
  } catch (cause) {
    if (cause === null || isOutOfMemory(cause)) throw cause
    return rejected(cause)
  }
}
global("fetch", fetchOf())
