/**
 * The load generator, in a process of its own. Each connection sends one request at a time, the next as soon as it has
 * the answer. It uses raw sockets, because a client library would take a core from the measured service. Prints
 * `measuring`, later `measured`, then one line of JSON.
 */
import { connect } from "node:net"

export interface LoadOrder {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly connections: number
  readonly warmupMillis: number
  readonly millis: number
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
const request = Buffer.from(
  `POST ${order.path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${order.body}`
)

const times: Array<number> = []
let errors = 0
let firstError = ""
let isMeasuring = false
let isOver = false

const countError = (what: string) => {
  errors++
  firstError ||= what
}

const open = () => {
  const socket = connect({ port: order.port, host: "127.0.0.1", noDelay: true })
  let sent = 0
  let received = ""
  const send = () => {
    if (isOver) return void socket.end()
    sent = performance.now()
    socket.write(request)
  }
  socket.setEncoding("latin1")
  socket.on("connect", send)
  socket.on("data", (chunk: string) => {
    received = received === "" ? chunk : received + chunk
    const end = received.indexOf("\r\n\r\n")
    if (end < 0) return
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
    if (received.length < end + 4 + length) return
    if (isMeasuring) {
      if (received.startsWith("200", 9)) times.push(performance.now() - sent)
      else countError(received)
    }
    received = ""
    send()
  })
  socket.on("error", (error) => countError(String(error)))
  socket.on("close", () => {
    if (!isOver) setTimeout(open, 10)
  })
}
for (let i = 0; i < order.connections; i++) open()

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))
await pause(order.warmupMillis)
isMeasuring = true
const started = performance.now()
const cpuBefore = process.cpuUsage()
console.log("measuring")
await pause(order.millis)
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
