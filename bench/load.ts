/**
 * The load generator, in a process of its own. Each connection sends one request at a time, the next as soon as it has
 * the answer. It uses raw sockets, because a client library would take a core from the measured service. Prints
 * `measuring`, later `measured`, then one line of JSON.
 */
import { connect } from "node:net"
import { sentAt } from "./support/SentAt.js"

export interface LoadOrder {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Default: POST. */
  readonly method?: "GET" | "POST"
  readonly connections: number
  readonly warmupMillis: number
  readonly millis: number
  /** Ends after this many requests instead of after `millis`, and measures all of them. */
  readonly count?: number
  /** Sends at this rate, whenever answers come. */
  readonly perSecond?: number
  /** A message of the RPC that is sent over WebSockets instead of requests; `path` is where they are opened. */
  readonly message?: string
}

export interface LoadResult {
  readonly count: number
  readonly errors: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** CPU time of the generator itself during the measurement. */
  readonly cpuMillis: number
}

const [, , text = "{}"] = process.argv
const order: LoadOrder = JSON.parse(text)

const head = Object.entries({
  host: "127.0.0.1",
  ...(order.method === "GET" ? {} : { "content-length": String(Buffer.byteLength(order.body)) }),
  ...order.headers
})
const requestText = `${order.method ?? "POST"} ${order.path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${order.method === "GET" ? "" : order.body}`
const fixedRequest = Buffer.from(requestText)
const makeRequest = (): Buffer =>
  order.body.includes(sentAt)
    ? Buffer.from(requestText.replaceAll(sentAt, (performance.timeOrigin + performance.now()).toFixed(3)))
    : fixedRequest

const times: Array<number> = []
let errors = 0
let firstError = ""
let isMeasuring = false
let isOver = false

/** Requests that may still be sent. */
let left = order.count ?? Infinity
const idle: Array<() => void> = []
let onCounted: () => void = () => undefined

const countError = (what: string) => {
  errors++
  firstError ||= what
}

const open = () => {
  const socket = connect({ port: order.port, host: "127.0.0.1", noDelay: true })
  let sent = 0
  let received = ""
  const send = () => {
    if (isOver || left <= 0) return void socket.end()
    left--
    sent = performance.now()
    socket.write(makeRequest())
  }
  const sendNext = () => {
    if (order.perSecond === undefined) send()
    else idle.push(send)
  }
  socket.setEncoding("latin1")
  socket.on("connect", sendNext)
  socket.on("data", (chunk: string) => {
    received = received === "" ? chunk : received + chunk
    const end = received.indexOf("\r\n\r\n")
    if (end < 0) return
    const length = /content-length: (\d+)/i.exec(received)?.[1]
    if (length === undefined ? !received.endsWith("\r\n0\r\n\r\n") : received.length < end + 4 + Number(length)) return
    if (isMeasuring) {
      if (received.startsWith("20", 9)) times.push(performance.now() - sent)
      else countError(received)
    }
    received = ""
    if (times.length + errors >= (order.count ?? Infinity)) onCounted()
    sendNext()
  })
  socket.on("error", (error) => countError(String(error)))
  socket.on("close", () => {
    if (!isOver && left > 0) setTimeout(open, 10)
  })
}

// --- Messages over WebSockets ---

/** Of the mask zeros, which leaves the text as it is. */
const frameOf = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const head =
    payload.length < 126
      ? Buffer.from([0x81, 0x80 | payload.length])
      : Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 255])
  return Buffer.concat([head, Buffer.alloc(4), payload])
}

/** The whole frame of a server at the beginning of the bytes, with its length; `undefined`: a part has not come. */
const frameIn = (bytes: Buffer): { readonly text: string; readonly length: number } | undefined => {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 127
  const head = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < head) return undefined
  const size = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  return bytes.length < head + size
    ? undefined
    : { text: bytes.subarray(head, head + size).toString("latin1"), length: head + size }
}

const openMessages = (message: string) => {
  const frame = frameOf(message)
  const socket = connect({ port: order.port, host: "127.0.0.1", noDelay: true })
  let sent = 0
  let received: Buffer = Buffer.alloc(0)
  let isOpen = false
  const send = () => {
    if (isOver) return void socket.destroy()
    sent = performance.now()
    socket.write(frame)
  }
  socket.on("connect", () => {
    const lines = { ...Object.fromEntries(head), upgrade: "websocket", connection: "Upgrade" }
    delete (lines as { "content-length"?: string })["content-length"]
    const names = Object.entries({
      ...lines,
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version": "13"
    })
    socket.write(`GET ${order.path} HTTP/1.1\r\n${names.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`)
  })
  socket.on("data", (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    if (!isOpen) {
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) return
      if (!received.toString("latin1").startsWith("HTTP/1.1 101")) return countError(received.toString())
      isOpen = true
      received = received.subarray(end + 4)
      return send()
    }
    for (let found = frameIn(received); found !== undefined; found = frameIn(received)) {
      received = received.subarray(found.length)
      if (!found.text.includes('"_tag":"Exit"')) continue
      if (isMeasuring) {
        if (found.text.includes('"_tag":"Success"')) times.push(performance.now() - sent)
        else countError(found.text)
      }
      send()
    }
  })
  socket.on("error", (error) => countError(String(error)))
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
if (order.count !== undefined) isMeasuring = true
for (let i = 0; i < order.connections; i++)
  if (order.message === undefined) open()
  else openMessages(order.message)
if (order.perSecond !== undefined) {
  const rate = order.perSecond
  const began = performance.now()
  let due = 0
  setInterval(() => {
    for (; due < ((performance.now() - began) * rate) / 1_000; due++) idle.shift()?.()
  }, 1)
}
await pause(order.warmupMillis)
isMeasuring = true
const started = performance.now()
const cpuBefore = process.cpuUsage()
console.log("measuring")
await (order.count === undefined ? pause(order.millis) : new Promise<void>((resolve) => (onCounted = resolve)))
isMeasuring = false
const seconds = (performance.now() - started) / 1000
const cpu = process.cpuUsage(cpuBefore)
console.log("measured")
isOver = true
times.sort((a, b) => a - b)
const percentile = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN
if (errors > 0) console.error(firstError.slice(0, 600))
const result: LoadResult = {
  count: times.length,
  errors,
  perSecond: times.length / seconds,
  p50: percentile(0.5),
  p99: percentile(0.99),
  cpuMillis: (cpu.user + cpu.system) / 1000
}
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
