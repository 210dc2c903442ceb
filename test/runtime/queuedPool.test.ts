/** A connection of the pool that breaks fails its statement, whatever it is used for, and does not end the process. */
import { assert, describe, it } from "@effect/vitest"
import { EventEmitter } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import type { Client } from "pg"
import { QueuedPool } from "../../src/runtime/postgres/database/pool/QueuedPool.js"

type Done = (error?: Error | null, result?: unknown) => void

let made = 0

/** A connection whose statements are answered by the test. */
class ScriptedClient extends EventEmitter {
  readonly processID = (made += 1)
  readonly _queryable = true
  readonly statements: Array<{ readonly text: string; readonly done: Done }> = []

  connect(done: Done): void {
    queueMicrotask(() => done())
  }
  query(text: string, _: unknown, done: Done): void {
    this.statements.push({ text, done })
  }
  end(done: Done): void {
    done()
  }
  ref(): void {}
  unref(): void {}
}

const opened: Array<ScriptedClient> = []
const makePool = () =>
  new QueuedPool({
    Client: class extends ScriptedClient {
      constructor() {
        super()
        opened.push(this)
      }
    } as unknown as typeof Client
  })

const checkOut = (pool: QueuedPool) =>
  new Promise<() => void>((resolve, reject) => {
    pool.connect((error, client, release) =>
      client === undefined ? reject(error ?? new Error("none")) : resolve(release)
    )
  })

describe("a connection", () => {
  it("that breaks while it cancels a statement of another one fails the cancellation only", async () => {
    const pool = makePool()
    pool.on("error", () => undefined)
    const release = await checkOut(pool)
    const [busy] = opened
    let isCancelled = false
    const cancel: (text: string, done: () => void) => void = pool.query.bind(pool)
    cancel(`SELECT pg_cancel_backend(${busy?.processID})`, () => {
      isCancelled = true
    })
    await new Promise(setImmediate)
    const cancelling = opened[1] ?? assert.fail("nothing is cancelled")
    // As `pg` does for a session that the server ends: for its last message, and for the end of the connection.
    const ended = new Error("Connection terminated unexpectedly")
    cancelling.emit("error", ended)
    cancelling.emit("error", ended)
    cancelling.statements[0]?.done(ended)
    assert.isTrue(isCancelled)
    release()
    const again = await checkOut(pool)
    assert.lengthOf(opened, 2, "the connection that did not break is used again")
    again()
  })
})

it("every connection that the program opens has a listener for its errors: without one they end the process", () => {
  const texts = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file, text: readFileSync(`src/${file}`, "utf8") }))
  const count = (text: string, part: string) => text.split(part).length - 1
  const opening = texts.filter(({ text }) => text.includes("new Client("))
  assert.isAbove(opening.length, 6)
  assert.deepStrictEqual(
    opening.flatMap(({ file, text }) => (count(text, '.on("error"') < count(text, "new Client(") ? [file] : [])),
    []
  )
})
