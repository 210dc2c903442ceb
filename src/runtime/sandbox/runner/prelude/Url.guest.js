/** `URL` and `URLSearchParams` after the WHATWG standard. */
// --- URLSearchParams ---

const formEncode = (text) =>
  encodeURIComponent(text.toWellFormed())
    .replace(/%20/g, "+")
    .replace(/[!'()~]/g, (character) => "%" + hex(character.charCodeAt(0), 2).toUpperCase())
const formDecode = (text) => unpercent(text.replace(/\+/g, " "))
const pairsOf = (text) =>
  text
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const equals = part.indexOf("=")
      return equals < 0
        ? [formDecode(part), ""]
        : [formDecode(part.slice(0, equals)), formDecode(part.slice(equals + 1))]
    })
/** Lets a URL see the changes of its own parameters. */
let attach
let replacePairs
class URLSearchParams {
  #pairs = []
  #changed = () => {}
  static {
    attach = (params, changed) => {
      params.#changed = changed
    }
    replacePairs = (params, query) => {
      params.#pairs = pairsOf(query)
    }
  }
  constructor(init = "") {
    if (isObject(init)) {
      const entries = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init)
      this.#pairs = entries.map((pair) => {
        const [name, value, ...more] = pair
        if (value === undefined || more.length > 0) throw new TypeError("each parameter is a pair of name and value")
        return [NativeString(name), NativeString(value)]
      })
    } else this.#pairs = pairsOf(NativeString(init).replace(/^\?/, ""))
  }
  get size() {
    return this.#pairs.length
  }
  append(name, value) {
    this.#pairs.push([NativeString(name), NativeString(value)])
    this.#changed()
  }
  delete(name, value) {
    this.#pairs = this.#pairs.filter(
      (pair) => pair[0] !== NativeString(name) || (value !== undefined && pair[1] !== NativeString(value))
    )
    this.#changed()
  }
  get(name) {
    return this.#pairs.find((pair) => pair[0] === NativeString(name))?.[1] ?? null
  }
  getAll(name) {
    return this.#pairs.filter((pair) => pair[0] === NativeString(name)).map((pair) => pair[1])
  }
  has(name, value) {
    return this.#pairs.some(
      (pair) => pair[0] === NativeString(name) && (value === undefined || pair[1] === NativeString(value))
    )
  }
  set(name, value) {
    const first = this.#pairs.find((pair) => pair[0] === NativeString(name))
    if (first === undefined) return this.append(name, value)
    first[1] = NativeString(value)
    this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== first[0])
    this.#changed()
  }
  sort() {
    this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))
    this.#changed()
  }
  forEach(visit, self) {
    for (const [name, value] of this.#pairs) apply(visit, self, [value, name, this])
  }
  *entries() {
    for (const pair of this.#pairs) yield [pair[0], pair[1]]
  }
  *keys() {
    for (const pair of this.#pairs) yield pair[0]
  }
  *values() {
    for (const pair of this.#pairs) yield pair[1]
  }
  [Symbol.iterator]() {
    return this.entries()
  }
  toString() {
    return this.#pairs.map((pair) => formEncode(pair[0]) + "=" + formEncode(pair[1])).join("&")
  }
}
global("URLSearchParams", URLSearchParams)

// --- URL ---

const tryParse = (text, base) => {
  try {
    return parseUrl(text, base)
  } catch {
    return undefined
  }
}
const parseWith = (text, base) =>
  parseUrl(NativeString(text), base === undefined ? undefined : parseUrl(NativeString(base)))
class URL {
  #record
  #params
  constructor(text, base) {
    this.#record = parseWith(text, base)
  }
  static canParse(text, base) {
    try {
      parseWith(text, base)
      return true
    } catch {
      return false
    }
  }
  static parse(text, base) {
    try {
      return new URL(text, base)
    } catch {
      return null
    }
  }
  get href() {
    return printUrl(this.#record)
  }
  set href(text) {
    this.#record = parseUrl(NativeString(text))
    this.#refresh()
  }
  get origin() {
    const { scheme } = this.#record
    if (scheme === "blob:")
      return tryParse(this.pathname)?.scheme.startsWith("http") ? new URL(this.pathname).origin : "null"
    return isSpecial(scheme) && scheme !== "file:" ? scheme + "//" + this.host : "null"
  }
  get protocol() {
    return this.#record.scheme
  }
  get username() {
    return this.#record.username
  }
  get password() {
    return this.#record.password
  }
  get host() {
    return hostText(this.#record)
  }
  get hostname() {
    return this.#record.host ?? ""
  }
  get port() {
    return this.#record.port
  }
  get pathname() {
    return pathText(this.#record)
  }
  get search() {
    return this.#record.query ? "?" + this.#record.query : ""
  }
  get hash() {
    return this.#record.fragment ? "#" + this.#record.fragment : ""
  }
  get searchParams() {
    if (this.#params === undefined) {
      this.#params = new URLSearchParams(this.#record.query ?? "")
      attach(this.#params, () => {
        this.#record.query = this.#params.toString() || null
      })
    }
    return this.#params
  }
  set protocol(text) {
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):?/.exec(text)?.[1].toLowerCase() + ":"
    if (scheme === "undefined:" || isSpecial(scheme) !== isSpecial(this.#record.scheme)) return
    this.#record.scheme = scheme
    if (this.#record.port === defaultPorts[scheme]) this.#record.port = ""
  }
  set username(text) {
    if (this.#record.host) this.#record.username = encodeUser(NativeString(text))
  }
  set password(text) {
    if (this.#record.host) this.#record.password = encodeUser(NativeString(text))
  }
  set host(text) {
    const changed = { ...this.#record, port: "" }
    try {
      readAuthority(
        changed,
        (/^[^/?#]*/.exec(text)?.[0] ?? "").replace(/@/g, "%40"),
        isSpecial(changed.scheme),
        new TypeError()
      )
    } catch {
      return
    }
    if (!/:\d/.test(NativeString(text).replace(/^\[[^\]]*\]/, ""))) changed.port = this.#record.port
    this.#record = changed
  }
  set hostname(text) {
    try {
      this.#record.host = hostOf(NativeString(text), isSpecial(this.#record.scheme), new TypeError())
    } catch {}
  }
  set port(text) {
    const digits = /^[0-9]*/.exec(text)?.[0] ?? ""
    if (digits === "" && text !== "") return
    try {
      this.#record.port = portOf(digits, this.#record.scheme, new TypeError())
    } catch {}
  }
  set pathname(text) {
    if (!isArray(this.#record.path)) return
    const special = isSpecial(this.#record.scheme)
    this.#record.path = pathOf(
      NativeString(text).replace(special ? /^[/\\]/ : /^\//, ""),
      special,
      [],
      this.#record.scheme
    )
  }
  set search(text) {
    const query = NativeString(text).replace(/^\?/, "")
    this.#record.query =
      query === "" ? null : (isSpecial(this.#record.scheme) ? encodeSpecialQuery : encodeQuery)(query)
    this.#refresh()
  }
  set hash(text) {
    const fragment = NativeString(text).replace(/^#/, "")
    this.#record.fragment = fragment === "" ? null : encodeFragment(fragment)
  }
  #refresh() {
    if (this.#params !== undefined) replacePairs(this.#params, this.#record.query ?? "")
  }
  toString() {
    return this.href
  }
  toJSON() {
    return this.href
  }
}
global("URL", URL)
