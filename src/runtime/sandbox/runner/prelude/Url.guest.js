const defaultPorts = { __proto__: null, "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" }
const isSpecial = (scheme) => defaultPorts[scheme] !== undefined
const invalidUrl = (text) => {
  const error = new TypeError("Invalid URL")
  error.code = "ERR_INVALID_URL"
  error.input = text
  return error
}

// --- Percent encoding ---

const encodeSet = (characters) => (text) => {
  let result = ""
  for (const character of text.toWellFormed()) {
    const code = character.charCodeAt(0)
    if (code > 0x1f && code < 0x7f && !characters.includes(character)) { result += character; continue }
    const binary = utf8Binary(character)
    for (let i = 0; i < binary.length; i++) result += "%" + hex(binary.charCodeAt(i), 2).toUpperCase()
  }
  return result
}
const encodeFragment = encodeSet(' "<>\x60')
const encodeQuery = encodeSet(' "#<>')
const encodeSpecialQuery = encodeSet(" \"#<>'")
const encodePath = encodeSet(' "#<>?\x60{}')
const encodeUser = encodeSet(' "#<>?^\x60{}/:;=@[\\]|')
const encodeOpaque = encodeSet("")
const unpercent = (text) => {
  if (!text.includes("%")) return text
  const binary = utf8Binary(text).replace(/%([0-9a-fA-F]{2})/g, (_, digits) => fromCharCode(parseInt(digits, 16)))
  return decodeUtf8(bytesOfBinary(binary), false)
}

// --- Hosts ---

/** Punycode of one label, RFC 3492. */
const punycode = (label) => {
  const points = [...label].map((character) => character.codePointAt(0))
  let output = points.filter((point) => point < 0x80).map((point) => fromCharCode(point)).join("")
  let handled = output.length
  const basic = handled
  if (basic > 0) output += "-"
  let n = 128, delta = 0, bias = 72
  const digit = (value) => fromCharCode(value < 26 ? value + 97 : value + 22)
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= n))
    delta += (next - n) * (handled + 1)
    n = next
    for (const point of points) {
      if (point < n) delta++
      if (point !== n) continue
      let q = delta
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
        if (q < t) break
        output += digit(t + ((q - t) % (36 - t)))
        q = Math.floor((q - t) / (36 - t))
      }
      output += digit(q)
      let step = handled === basic ? Math.floor(delta / 700) : delta >> 1
      step += Math.floor(step / (handled + 1))
      let k = 0
      for (; step > 455; k += 36) step = Math.floor(step / 35)
      bias = k + Math.floor((36 * step) / (step + 38))
      delta = 0
      handled++
    }
    delta++
    n++
  }
  return "xn--" + output
}

const ipv4Part = (text) => {
  if (/^0[xX][0-9a-fA-F]*$/.test(text)) return text.length === 2 ? 0 : parseInt(text, 16)
  if (/^0[0-7]+$/.test(text)) return parseInt(text, 8)
  return /^(0|[1-9][0-9]*)$/.test(text) ? +text : NaN
}
/** An address in any of its spellings, or undefined when the host is a name. */
const ipv4 = (host, bad) => {
  const parts = host.split(".")
  if (parts.length > 1 && parts.at(-1) === "") parts.pop()
  if (!/^([0-9]+|0[xX][0-9a-fA-F]*)$/.test(parts.at(-1))) return undefined
  const numbers = parts.map(ipv4Part)
  const last = numbers.pop()
  if (parts.length > 4 || numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length))) throw bad
  let address = last
  numbers.forEach((n, i) => { address += n * 256 ** (3 - i) })
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".")
}

const ipv6 = (text, bad) => {
  let source = text
  const embedded = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(source)
  if (embedded !== null) {
    const four = embedded.slice(2)
    if (four.some((n) => +n > 255 || (n.length > 1 && n[0] === "0"))) throw bad
    source = embedded[1] + hex(+four[0] * 256 + +four[1], 4) + ":" + hex(+four[2] * 256 + +four[3], 4)
  }
  const halves = source.split("::")
  if (halves.length > 2) throw bad
  const pieces = (half) => half === "" ? [] : half.split(":").map((piece) => {
    if (!/^[0-9a-fA-F]{1,4}$/.test(piece)) throw bad
    return parseInt(piece, 16)
  })
  const before = pieces(halves[0])
  const after = halves.length === 2 ? pieces(halves[1]) : []
  const missing = 8 - before.length - after.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) throw bad
  const all = [...before, ...new Array(halves.length === 2 ? missing : 0).fill(0), ...after]
  let best = -1, length = 1
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && all[end] === 0) end++
    if (end - i > length) { best = i; length = end - i }
  }
  const print = (list) => list.map((n) => toHex(n, 16)).join(":")
  return "[" + (best < 0 ? print(all) : print(all.slice(0, best)) + "::" + print(all.slice(best + length))) + "]"
}

const hostOf = (text, special, bad) => {
  if (text[0] === "[") {
    if (!text.endsWith("]")) throw bad
    return ipv6(text.slice(1, -1), bad)
  }
  if (!special) {
    if (/[\x00\t\n\r #/:<>?@[\\\]^|]/.test(text)) throw bad
    return encodeOpaque(text)
  }
  const name = unpercent(text).normalize("NFKC").toLowerCase().replace(/[\u3002\uff0e\uff61]/g, ".").replace(/\u00ad/g, "")
  const ascii = name.split(".").map((label) => /[^\x00-\x7f]/.test(label) ? punycode(label) : label).join(".")
  if (ascii === "" || /[\x00-\x20"#%/:<>?@[\\\]^\x60{|}\x7f]/.test(ascii)) throw bad
  return ipv4(ascii, bad) ?? ascii
}

// --- Parsing ---

const pathOf = (text, special, base, scheme) => {
  const drive = (segment) => scheme === "file:" && /^[a-zA-Z][:|]$/.test(segment)
  const result = base
  const segments = text.split(special ? /[/\\]/ : "/")
  segments.forEach((segment, i) => {
    const isLast = i === segments.length - 1
    if (/^(\.|%2e){2}$/i.test(segment)) {
      if (!(result.length === 1 && drive(result[0]))) result.pop()
      if (isLast) result.push("")
    } else if (/^(\.|%2e)$/i.test(segment)) {
      if (isLast) result.push("")
    } else {
      result.push(drive(segment) && result.length === 0 ? segment[0] + ":" : encodePath(segment))
    }
  })
  return result
}
const portOf = (text, scheme, bad) => {
  if (text === "") return ""
  if (!/^[0-9]+$/.test(text) || +text > 65535) throw bad
  const port = NativeString(+text)
  return port === defaultPorts[scheme] ? "" : port
}

/** Sets user, host and port from what stands between "//" and the path. */
const readAuthority = (record, text, special, bad) => {
  const at = text.lastIndexOf("@")
  if (at >= 0) {
    const colon = text.slice(0, at).indexOf(":")
    record.username = encodeUser(text.slice(0, colon < 0 ? at : colon))
    record.password = colon < 0 ? "" : encodeUser(text.slice(colon + 1, at))
  }
  const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(text.slice(at + 1)) ?? [undefined, undefined]
  if (host === undefined || (host === "" && (special || at >= 0 || port !== ""))) throw bad
  record.host = host === "" ? "" : hostOf(host, special, bad)
  record.port = portOf(port, record.scheme, bad)
}

const parseUrl = (input, base) => {
  const bad = invalidUrl(input)
  const source = input.toWellFormed().replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "").replace(/[\t\n\r]/g, "")
  const hash = source.indexOf("#")
  const record = { scheme: "", username: "", password: "", host: null, port: "", path: [], query: null, fragment: null }
  if (hash >= 0) record.fragment = encodeFragment(source.slice(hash + 1))
  let rest = hash < 0 ? source : source.slice(0, hash)
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(rest)
  if (scheme !== null) {
    record.scheme = scheme[1].toLowerCase() + ":"
    rest = rest.slice(scheme[0].length)
  } else if (base === undefined) throw bad
  else record.scheme = base.scheme
  const special = isSpecial(record.scheme)
  const slashes = special ? /^[/\\]{2}/ : /^\/\//
  const relative = scheme === null || (special && base !== undefined && base.scheme === record.scheme && !slashes.test(rest))
  if (relative && typeof base.path === "string" && (rest !== "" || hash < 0)) throw bad
  const question = rest.indexOf("?")
  if (question >= 0) {
    record.query = (special ? encodeSpecialQuery : encodeQuery)(rest.slice(question + 1))
    rest = rest.slice(0, question)
  }
  const hasAuthority = slashes.test(rest) || (special && record.scheme !== "file:" && !relative)
  if (hasAuthority) {
    const after = special && record.scheme !== "file:" ? rest.replace(/^[/\\]*/, "") : rest.slice(2)
    const end = after.search(special ? /[/\\]/ : /\//)
    const authority = end < 0 ? after : after.slice(0, end)
    rest = end < 0 ? "" : after.slice(end)
    if (record.scheme !== "file:") readAuthority(record, authority, special, bad)
    else if (/^[a-zA-Z][:|]$/.test(authority)) { record.host = ""; rest = "/" + authority + rest }
    else {
      record.host = authority === "" ? "" : hostOf(authority, true, bad)
      if (record.host === "localhost") record.host = ""
    }
  } else if (relative) {
    record.username = base.username
    record.password = base.password
    record.host = base.host
    record.port = base.port
    if (rest === "") {
      record.path = isArray(base.path) ? [...base.path] : base.path
      if (record.query === null) record.query = base.query
      return record
    }
    if (!(special ? /^[/\\]/ : /^\//).test(rest)) {
      record.path = pathOf(rest, special, base.path.slice(0, -1), record.scheme)
      return record
    }
  } else if (record.scheme === "file:") record.host = ""
  else if (rest[0] !== "/") {
    record.path = encodeOpaque(rest)
    return record
  }
  if (rest !== "") record.path = pathOf(rest.slice(1), special, [], record.scheme)
  else if (special) record.path = [""]
  return record
}
const pathText = (record) => isArray(record.path) ? record.path.map((segment) => "/" + segment).join("") : record.path
const hostText = (record) => (record.host ?? "") + (record.port === "" ? "" : ":" + record.port)
const printUrl = (record) => {
  let authority = ""
  if (record.host !== null) {
    const user = record.username + (record.password === "" ? "" : ":" + record.password)
    authority = "//" + (user === "" ? "" : user + "@") + hostText(record)
  } else if (isArray(record.path) && record.path.length > 1 && record.path[0] === "") authority = "/."
  return record.scheme + authority + pathText(record) + (record.query === null ? "" : "?" + record.query) +
    (record.fragment === null ? "" : "#" + record.fragment)
}

// --- URLSearchParams ---

const formEncode = (text) => encodeURIComponent(text.toWellFormed()).replace(/%20/g, "+")
  .replace(/[!'()~]/g, (character) => "%" + hex(character.charCodeAt(0), 2).toUpperCase())
const formDecode = (text) => unpercent(text.replace(/\+/g, " "))
const pairsOf = (text) => text.split("&").filter((part) => part !== "").map((part) => {
  const equals = part.indexOf("=")
  return equals < 0 ? [formDecode(part), ""] : [formDecode(part.slice(0, equals)), formDecode(part.slice(equals + 1))]
})
/** Lets a URL see the changes of its own parameters. */
let attach
let replacePairs
class URLSearchParams {
  #pairs = []
  #changed = () => {}
  static {
    attach = (params, changed) => { params.#changed = changed }
    replacePairs = (params, query) => { params.#pairs = pairsOf(query) }
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
  get size() { return this.#pairs.length }
  append(name, value) { this.#pairs.push([NativeString(name), NativeString(value)]); this.#changed() }
  delete(name, value) {
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== NativeString(name) || (value !== undefined && pair[1] !== NativeString(value)))
    this.#changed()
  }
  get(name) { return this.#pairs.find((pair) => pair[0] === NativeString(name))?.[1] ?? null }
  getAll(name) { return this.#pairs.filter((pair) => pair[0] === NativeString(name)).map((pair) => pair[1]) }
  has(name, value) {
    return this.#pairs.some((pair) => pair[0] === NativeString(name) && (value === undefined || pair[1] === NativeString(value)))
  }
  set(name, value) {
    const first = this.#pairs.find((pair) => pair[0] === NativeString(name))
    if (first === undefined) return this.append(name, value)
    first[1] = NativeString(value)
    this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== first[0])
    this.#changed()
  }
  sort() { this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#changed() }
  forEach(visit, self) { for (const [name, value] of this.#pairs) apply(visit, self, [value, name, this]) }
  *entries() { for (const pair of this.#pairs) yield [pair[0], pair[1]] }
  *keys() { for (const pair of this.#pairs) yield pair[0] }
  *values() { for (const pair of this.#pairs) yield pair[1] }
  [Symbol.iterator]() { return this.entries() }
  toString() { return this.#pairs.map((pair) => formEncode(pair[0]) + "=" + formEncode(pair[1])).join("&") }
}
global("URLSearchParams", URLSearchParams)

// --- URL ---

const tryParse = (text, base) => { try { return parseUrl(text, base) } catch { return undefined } }
const parseWith = (text, base) => parseUrl(NativeString(text), base === undefined ? undefined : parseUrl(NativeString(base)))
class URL {
  #record
  #params
  constructor(text, base) { this.#record = parseWith(text, base) }
  static canParse(text, base) { try { parseWith(text, base); return true } catch { return false } }
  static parse(text, base) { try { return new URL(text, base) } catch { return null } }
  get href() { return printUrl(this.#record) }
  set href(text) { this.#record = parseUrl(NativeString(text)); this.#refresh() }
  get origin() {
    const { scheme } = this.#record
    if (scheme === "blob:") return tryParse(this.pathname)?.scheme.startsWith("http") ? new URL(this.pathname).origin : "null"
    return isSpecial(scheme) && scheme !== "file:" ? scheme + "//" + this.host : "null"
  }
  get protocol() { return this.#record.scheme }
  get username() { return this.#record.username }
  get password() { return this.#record.password }
  get host() { return hostText(this.#record) }
  get hostname() { return this.#record.host ?? "" }
  get port() { return this.#record.port }
  get pathname() { return pathText(this.#record) }
  get search() { return this.#record.query ? "?" + this.#record.query : "" }
  get hash() { return this.#record.fragment ? "#" + this.#record.fragment : "" }
  get searchParams() {
    if (this.#params === undefined) {
      this.#params = new URLSearchParams(this.#record.query ?? "")
      attach(this.#params, () => { this.#record.query = this.#params.toString() || null })
    }
    return this.#params
  }
  set protocol(text) {
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):?/.exec(text)?.[1].toLowerCase() + ":"
    if (scheme === "undefined:" || isSpecial(scheme) !== isSpecial(this.#record.scheme)) return
    this.#record.scheme = scheme
    if (this.#record.port === defaultPorts[scheme]) this.#record.port = ""
  }
  set username(text) { if (this.#record.host) this.#record.username = encodeUser(NativeString(text)) }
  set password(text) { if (this.#record.host) this.#record.password = encodeUser(NativeString(text)) }
  set host(text) {
    const changed = { ...this.#record, port: "" }
    try { readAuthority(changed, /^[^/?#]*/.exec(text)[0].replace(/@/g, "%40"), isSpecial(changed.scheme), new TypeError()) } catch { return }
    if (!/:\d/.test(NativeString(text).replace(/^\[[^\]]*\]/, ""))) changed.port = this.#record.port
    this.#record = changed
  }
  set hostname(text) {
    try { this.#record.host = hostOf(NativeString(text), isSpecial(this.#record.scheme), new TypeError()) } catch {}
  }
  set port(text) {
    const digits = /^[0-9]*/.exec(text)[0]
    if (digits === "" && text !== "") return
    try { this.#record.port = portOf(digits, this.#record.scheme, new TypeError()) } catch {}
  }
  set pathname(text) {
    if (!isArray(this.#record.path)) return
    const special = isSpecial(this.#record.scheme)
    this.#record.path = pathOf(NativeString(text).replace(special ? /^[/\\]/ : /^\//, ""), special, [], this.#record.scheme)
  }
  set search(text) {
    const query = NativeString(text).replace(/^\?/, "")
    this.#record.query = query === "" ? null : (isSpecial(this.#record.scheme) ? encodeSpecialQuery : encodeQuery)(query)
    this.#refresh()
  }
  set hash(text) {
    const fragment = NativeString(text).replace(/^#/, "")
    this.#record.fragment = fragment === "" ? null : encodeFragment(fragment)
  }
  #refresh() { if (this.#params !== undefined) replacePairs(this.#params, this.#record.query ?? "") }
  toString() { return this.href }
  toJSON() { return this.href }
}
global("URL", URL)
