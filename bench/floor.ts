/**
 * The floors: a bare node:http server that writes one row a request, each with its own commit (`single`), with group
 * commit (`group`), or after three calls of the stub, with a group-committed row a call (`calls`). Prints its port.
 */
import { createServer } from "node:http"
import { Client, Pool } from "pg"
import { Agent } from "undici"

const [, , mode = "", connectionString = "", stub = ""] = process.argv

const insert = "INSERT INTO floor (id, body) SELECT * FROM unnest($1::text[], $2::json[])"

// --- Group commit: two flushes in flight, each takes all that waits ---

interface Waiting {
  readonly id: string
  readonly body: string
  readonly done: () => void
}
let waiting: Array<Waiting> = []
let scheduled = false
const idle: Array<Client> = []

const flush = () => {
  scheduled = false
  const client = waiting.length === 0 ? undefined : idle.pop()
  if (client === undefined) return
  const batch = waiting
  waiting = []
  void client
    .query({ name: "flush", text: insert, values: [batch.map(({ id }) => id), batch.map(({ body }) => body)] })
    .then(() => {
      idle.push(client)
      for (const { done } of batch) done()
      flush()
    })
}
const committed = (id: string, body: string) =>
  new Promise<void>((done) => {
    waiting.push({ id, body, done })
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  })

// --- One commit a row ---

const pool = new Pool({ connectionString, max: 16 })
const agent = new Agent({ connections: 128 })

const handlers: Readonly<Record<string, (id: string, body: string) => Promise<unknown>>> = {
  single: (id, body) =>
    pool.query({ name: "single", text: "INSERT INTO floor (id, body) VALUES ($1, $2)", values: [id, body] }),
  group: committed,
  calls: async (id, body) => {
    for (let i = 0; i < 3; i++) {
      const answer = await agent.request({ origin: stub, path: "/", method: "POST", body: "{}" })
      await answer.body.text()
      await committed(`${id}-${i}`, body)
    }
  }
}
const handle = handlers[mode]
if (handle === undefined) throw new Error(`there is no floor ${mode}`)

for (let i = 0; i < 2; i++) {
  const client = new Client({ connectionString })
  await client.connect()
  idle.push(client)
}
let requests = 0
const run = `${process.pid}-${Date.now()}`
const server = createServer((request, response) => {
  let body = ""
  request.on("data", (chunk: Buffer) => (body += chunk.toString()))
  request.on("end", () => {
    void handle(`${run}-${requests++}`, body).then(() => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "15" }).end(`{"hello":"you"}`)
    })
  })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(`listening ${typeof address === "object" ? address?.port : ""}`)
})
