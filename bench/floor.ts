/**
 * The floors, with which the service is compared: a bare node:http server that writes one row a request with a commit
 * of its own (`single`), one row a request with group commit (`group`), or a group-committed row for each of three
 * calls of the stub (`calls`). Prints its port.
 */
import { createServer } from "node:http"
import { Client, Pool } from "pg"
import { Agent } from "undici"

const [, , mode = "", connectionString = "", stub = ""] = process.argv

const insert = "INSERT INTO floor (id, body) SELECT * FROM unnest($1::text[], $2::json[])"

// --- Group commit: at most two flushes in flight; each writes all rows that wait ---

interface WaitingRow {
  readonly id: string
  readonly body: string
  readonly done: () => void
}
let waitingRows: Array<WaitingRow> = []
let isScheduled = false
const idle: Array<Client> = []

const flush = () => {
  isScheduled = false
  const client = waitingRows.length === 0 ? undefined : idle.pop()
  if (client === undefined) return
  const batch = waitingRows
  waitingRows = []
  void client
    .query({ name: "flush", text: insert, values: [batch.map(({ id }) => id), batch.map(({ body }) => body)] })
    .then(() => {
      idle.push(client)
      for (const { done } of batch) done()
      flush()
    })
}
const commitRow = (id: string, body: string) =>
  new Promise<void>((done) => {
    waitingRows.push({ id, body, done })
    if (isScheduled) return
    isScheduled = true
    setImmediate(flush)
  })

// --- One commit a row ---

const pool = new Pool({ connectionString, max: 16 })
const agent = new Agent({ connections: 128 })

const handlers: Readonly<Record<string, (id: string, body: string) => Promise<unknown>>> = {
  single: (id, body) =>
    pool.query({ name: "single", text: "INSERT INTO floor (id, body) VALUES ($1, $2)", values: [id, body] }),
  group: commitRow,
  calls: async (id, body) => {
    for (let i = 0; i < 3; i++) {
      const answer = await agent.request({ origin: stub, path: "/", method: "POST", body: "{}" })
      await answer.body.text()
      await commitRow(`${id}-${i}`, body)
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
