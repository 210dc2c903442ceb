/** A client that sends many requests from a process of its own, so that its work is not measured as the service's. */
import { spawn } from "node:child_process"

export interface Flood {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly count: number
  readonly atOnce: number
}

const program = `
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

/** The status of each answer, in the order in which they came. */
export const flood = (options: Flood): Promise<ReadonlyArray<number>> =>
  new Promise((resolve, reject) => {
    const args = ["--input-type=module", "-e", program, JSON.stringify(options)]
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`the flood ended with ${code}: ${output}`))
    )
  })
