/** Parses and prints URLs after the WHATWG standard, split by hand instead of by the standard's state machine. */
const defaultPorts = {
  __proto__: null,
  "http:": "80",
  "https:": "443",
  "ws:": "80",
  "wss:": "443",
  "ftp:": "21",
  "file:": ""
}
const isSpecial = (scheme) => defaultPorts[scheme] !== undefined
const invalidUrl = (text) => {
  const error = new TypeError("Invalid URL")
  return Object.assign(error, { code: "ERR_INVALID_URL", input: text })
}

/** The segments of a path's text, appended to those of `base`. */
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

/**
 * Sets user, host and port from the text between "//" and the path.
 * @param {UrlRecord} record
 * @param {string} text
 * @param {boolean} special
 * @param {TypeError} bad
 */
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

/** Sets user, host and port from the text behind the scheme, and returns the path that follows them. */
const takeAuthority = (record, text, special, bad) => {
  const isFile = record.scheme === "file:"
  const after = special && !isFile ? text.replace(/^[/\\]*/, "") : text.slice(2)
  const end = after.search(special ? /[/\\]/ : /\//)
  const authority = end < 0 ? after : after.slice(0, end)
  const path = end < 0 ? "" : after.slice(end)
  if (!isFile) readAuthority(record, authority, special, bad)
  else if (/^[a-zA-Z][:|]$/.test(authority)) {
    record.host = ""
    return "/" + authority + path
  } else {
    record.host = authority === "" ? "" : hostOf(authority, true, bad)
    if (record.host === "localhost") record.host = ""
  }
  return path
}

/** Takes over from the base what a relative URL leaves out, and returns whether that includes a part of the path. */
const completeFrom = (base, record, path, special) => {
  record.username = base.username
  record.password = base.password
  record.host = base.host
  record.port = base.port
  if (path === "") {
    record.path = isArray(base.path) ? [...base.path] : base.path
    if (record.query === null) record.query = base.query
    return true
  }
  if ((special ? /^[/\\]/ : /^\//).test(path)) return false
  record.path = pathOf(path, special, base.path.slice(0, -1), record.scheme)
  return true
}

/** The text before a mark and that after it; undefined without the mark. */
const cutAt = (text, mark) => {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
const slashesOf = (special) => (special ? /^[/\\]{2}/ : /^\/\//)

/** Sets all that follows the scheme, but for the fragment. `base`: that of a relative URL. */
const readRest = (record, text, base, bad) => {
  const special = isSpecial(record.scheme)
  const [rest, query] = cutAt(text, "?")
  if (query !== undefined) record.query = (special ? encodeSpecialQuery : encodeQuery)(query)
  let path = rest
  if (slashesOf(special).test(rest) || (special && record.scheme !== "file:" && base === undefined)) {
    path = takeAuthority(record, rest, special, bad)
  } else if (base !== undefined) {
    if (completeFrom(base, record, rest, special)) return
  } else if (record.scheme === "file:") record.host = ""
  else if (rest[0] !== "/") {
    record.path = encodeOpaque(rest)
    return
  }
  if (path !== "") record.path = pathOf(path.slice(1), special, [], record.scheme)
  else if (special) record.path = [""]
}

/**
 * @param {string} input
 * @param {UrlRecord} [base]
 */
const parseUrl = (input, base) => {
  const bad = invalidUrl(input)
  const source = input
    .toWellFormed()
    .replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "")
    .replace(/[\t\n\r]/g, "")
  const [whole, fragment] = cutAt(source, "#")
  /** @type {UrlRecord} */
  const record = { scheme: "", username: "", password: "", host: null, port: "", path: [], query: null, fragment: null }
  if (fragment !== undefined) record.fragment = encodeFragment(fragment)
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(whole)
  if (scheme !== null) record.scheme = scheme[1].toLowerCase() + ":"
  else if (base === undefined) throw bad
  else record.scheme = base.scheme
  const special = isSpecial(record.scheme)
  const rest = scheme === null ? whole : whole.slice(scheme[0].length)
  const isRelative = scheme === null || (special && base?.scheme === record.scheme && !slashesOf(special).test(rest))
  const from = isRelative ? base : undefined
  if (typeof from?.path === "string" && (rest !== "" || fragment === undefined)) throw bad
  readRest(record, rest, from, bad)
  return record
}
/** @param {UrlRecord} record */
const pathText = (record) => (isArray(record.path) ? record.path.map((segment) => "/" + segment).join("") : record.path)
/** @param {UrlRecord} record */
const hostText = (record) => (record.host ?? "") + (record.port === "" ? "" : ":" + record.port)
/** @param {UrlRecord} record */
const printUrl = (record) => {
  let authority = ""
  if (record.host !== null) {
    const user = record.username + (record.password === "" ? "" : ":" + record.password)
    authority = "//" + (user === "" ? "" : user + "@") + hostText(record)
  } else if (isArray(record.path) && record.path.length > 1 && record.path[0] === "") authority = "/."
  return (
    record.scheme +
    authority +
    pathText(record) +
    (record.query === null ? "" : "?" + record.query) +
    (record.fragment === null ? "" : "#" + record.fragment)
  )
}
