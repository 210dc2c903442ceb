/**
 * The other side of a workflow's calls: answers after a millisecond, and counts what it was asked under which
 * Idempotency-Key. `/held` never answers. Prints its port.
 */
import { createServer } from "node:http"

export interface StubCounts {
  readonly calls: number
  /** Different keys. */
  readonly distinct: number
  /** Calls under a key that was there before. */
  readonly repeated: number
  /** Of these, the ones whose first call had been answered. */
  readonly repeatedAfterAnswer: number
  /** Unix milliseconds of the first call since the mark. */
  readonly firstSinceMark: number | null
}

/** Whether the call under the key was answered. */
const keys = new Map<string, boolean>()
let calls = 0
let repeated = 0
let repeatedAfterAnswer = 0
let marked = false
let firstSinceMark: number | null = null

const server = createServer((request, response) => {
  const json = (value: unknown) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
  switch (request.url) {
    case "/counts": {
      const counts: StubCounts = { calls, distinct: keys.size, repeated, repeatedAfterAnswer, firstSinceMark }
      return void json(counts)
    }
    case "/reset":
      keys.clear()
      calls = repeated = repeatedAfterAnswer = 0
      marked = false
      firstSinceMark = null
      return void json({})
    case "/mark":
      marked = true
      firstSinceMark = null
      return void json({})
  }
  calls++
  if (marked) firstSinceMark ??= Date.now()
  const key = String(request.headers["idempotency-key"] ?? "")
  const before = key === "" ? undefined : keys.get(key)
  if (before !== undefined) repeated++
  if (before === true) repeatedAfterAnswer++
  if (key !== "") keys.set(key, before ?? false)
  request.resume()
  if (request.url === "/held") return
  setTimeout(() => {
    if (!response.destroyed && key !== "") keys.set(key, true)
    json({ ok: true })
  }, 1)
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(`listening ${typeof address === "object" ? address?.port : ""}`)
})
