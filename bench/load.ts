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
  readonly connections: number
  readonly warmupMillis: number
  readonly millis: number
  /** Ends after this many requests instead of after `millis`, and measures all of them. */
  readonly count?: number
  /** Sends at this rate, whenever answers come. */
  readonly perSecond?: number
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
  "content-length": String(Buffer.byteLength(order.body)),
  ...order.headers
})
const requestText = `POST ${order.path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${order.body}`
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
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
    if (received.length < end + 4 + length) return
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
const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
if (order.count !== undefined) isMeasuring = true
for (let i = 0; i < order.connections; i++) open()
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
