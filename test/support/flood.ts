/**
 * Clients that send many requests, each in a process of its own, so that their CPU time is not measured as the
 * service's.
 */
import { spawn } from "node:child_process"

export interface Flood {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly count: number
  readonly atOnce: number
}

const flooding = `
import { Agent, get } from "node:http"
const { url, headers, count, atOnce } = JSON.parse(process.argv[1])
const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
const statuses = []
let sent = 0
const ask = () =>
  new Promise((resolve, reject) =>
    get(url, { agent, headers }, (response) => {
      statuses.push(response.statusCode)
      response.resume().on("end", resolve)
    }).on("error", reject)
  )
const client = async () => {
  while (sent++ < count) await ask()
}
await Promise.all(Array.from({ length: atOnce }, client))
process.stdout.write(JSON.stringify(statuses))
agent.destroy()
`

const holding = `
import { request } from "node:http"
const { url, headers, count, bytes, millis } = JSON.parse(process.argv[1])
const part = Buffer.alloc(bytes, 32)
const open = Array.from({ length: count }, () => {
  const asking = request(url, { method: "POST", headers })
  asking.on("error", () => undefined)
  asking.write(part)
  return asking
})
await new Promise((resolve) => setTimeout(resolve, millis))
for (const one of open) one.destroy()
process.stdout.write(JSON.stringify(open.length))
`

const ask = (script: string, options: object): Promise<string> =>
  new Promise((resolve, reject) => {
    const args = ["--input-type=module", "-e", script, JSON.stringify(options)]
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`the client ended with ${code}: ${output}`))
    )
  })

/** The status of each answer, in the order of arrival. */
export const sendFlood = async (options: Flood): Promise<ReadonlyArray<number>> =>
  JSON.parse(await ask(flooding, options))

export interface HeldBodies {
  readonly url: string
  readonly headers: Readonly<Record<string, string | number>>
  readonly count: number
  /** The part of the body that each connection sends at once. */
  readonly bytes: number
  /** How long the connections stay open. */
  readonly millis: number
}

/** Opens connections, sends a part of a body on each, and closes them. Returns the number of connections. */
export const holdBodies = async (options: HeldBodies): Promise<number> => JSON.parse(await ask(holding, options))

const unread = `
import { connect } from "node:net"
const { host, port, path, count, pipelined, millis } = JSON.parse(process.argv[1])
const request = ("GET " + path + " HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n").repeat(pipelined)
const open = Array.from({ length: count }, () => {
  const socket = connect(port, host, () => socket.write(request))
  socket.on("error", () => undefined)
  socket.pause()
  return socket
})
await new Promise((resolve) => setTimeout(resolve, millis))
for (const one of open) one.destroy()
process.stdout.write(JSON.stringify(open.length))
`

export interface UnreadAnswers {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly count: number
  /** Requests that each connection sends at once. */
  readonly pipelined: number
  readonly millis: number
}

/** Opens connections that request and never read, and closes them. Returns the number of connections. */
export const leaveUnread = async (options: UnreadAnswers): Promise<number> => JSON.parse(await ask(unread, options))
