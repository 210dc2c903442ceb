/** Percent encoding and hosts of URLs. Names that need Unicode normalisation beyond lower case are punycoded without it. */
// --- Percent encoding ---

const encodeSet = (characters) => (text) => {
  let result = ""
  for (const character of text.toWellFormed()) {
    const code = character.charCodeAt(0)
    if (code > 0x1f && code < 0x7f && !characters.includes(character)) {
      result += character
      continue
    }
    const binary = utf8Binary(character)
    for (let i = 0; i < binary.length; i++) result += "%" + hex(binary.charCodeAt(i), 2).toUpperCase()
  }
  return result
}
const encodeFragment = encodeSet(' "<>`')
const encodeQuery = encodeSet(' "#<>')
const encodeSpecialQuery = encodeSet(" \"#<>'")
const encodePath = encodeSet(' "#<>?`{}')
const encodeUser = encodeSet(' "#<>?^`{}/:;=@[\\]|')
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
  let output = points
    .filter((point) => point < 0x80)
    .map((point) => fromCharCode(point))
    .join("")
  let handled = output.length
  const basic = handled
  if (basic > 0) output += "-"
  let n = 128,
    delta = 0,
    bias = 72
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
  numbers.forEach((n, i) => {
    address += n * 256 ** (3 - i)
  })
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
  const pieces = (half) =>
    half === ""
      ? []
      : half.split(":").map((piece) => {
          if (!/^[0-9a-fA-F]{1,4}$/.test(piece)) throw bad
          return parseInt(piece, 16)
        })
  const before = pieces(halves[0])
  const after = halves.length === 2 ? pieces(halves[1]) : []
  const missing = 8 - before.length - after.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) throw bad
  const all = [...before, ...(halves.length === 2 ? "0".repeat(missing).split("").map(Number) : []), ...after]
  let best = -1,
    length = 1
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && all[end] === 0) end++
    if (end - i > length) {
      best = i
      length = end - i
    }
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
  const name = unpercent(text)
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u3002\uff0e\uff61]/g, ".")
    .replace(/\u00ad/g, "")
  const ascii = name
    .split(".")
    .map((label) => (/[^\x00-\x7f]/.test(label) ? punycode(label) : label))
    .join(".")
  if (ascii === "" || /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(ascii)) throw bad
  return ipv4(ascii, bad) ?? ascii
}
