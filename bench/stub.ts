/**
 * The system that workflows of the benches call. It answers after a millisecond, and counts calls by their
 * Idempotency-Key. `/held` never answers; `/large` answers 10 KB; `/contacts` 50 contacts after 20 ms, `/contact/1` one; `/since?at=` records the milliseconds since that Unix time,
 * and `/delays` shows them. Prints its port.
 */
import { createServer } from "node:http"

export interface StubCounts {
  readonly calls: number
  /** The number of different keys. */
  readonly distinct: number
  /** Calls whose key an earlier call had. */
  readonly repeated: number
  /** Repeated calls whose first call had been answered. */
  readonly repeatedAfterAnswer: number
  /** Unix milliseconds of the first call after `/mark`. */
  readonly firstSinceMark: number | null
}

/** For each key, whether a call with it was answered. */
const keys = new Map<string, boolean>()
let calls = 0
let repeated = 0
let repeatedAfterAnswer = 0
let isMarked = false
let firstSinceMark: number | null = null
let delays: Array<number> = []
const contact = (at: number) => ({
  id: at,
  first: `First name ${at}`,
  last: `Last name ${at}`,
  mails: [{ value: `Contact.${at}@Example.com`, kind: "work" }],
  phone: `+49 30 1234${at}`,
  job: at % 3 === 0 ? null : "Clerk",
  street: { line: `Main street ${at}`, town: "Berlin", code: "10115", country: "Germany" },
  tags: ["a", "b"],
  score: at,
  created: 1_700_000_000 + at,
  changed: "2026-01-02T03:04:05Z"
})
/** A page of contacts, of 18 KB. */
const contacts = Buffer.from(JSON.stringify({ items: Array.from({ length: 50 }, (_, at) => contact(at)) }))
const large = { ok: true, text: "x".repeat(10_000) }
const now = () => performance.timeOrigin + performance.now()

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
      isMarked = false
      firstSinceMark = null
      delays = []
      return void json({})
    case "/delays":
      return void json(delays)
    case "/mark":
      isMarked = true
      firstSinceMark = null
      return void json({})
  }
  calls++
  const since = /^\/since\?at=([\d.]+)$/.exec(request.url ?? "")?.[1]
  if (since !== undefined) delays.push(now() - Number(since))
  if (isMarked) firstSinceMark ??= Date.now()
  const key = String(request.headers["idempotency-key"] ?? "")
  const wasAnswered = key === "" ? undefined : keys.get(key)
  if (wasAnswered !== undefined) repeated++
  if (wasAnswered === true) repeatedAfterAnswer++
  if (key !== "") keys.set(key, wasAnswered ?? false)
  request.resume()
  if (request.url === "/held") return
  if (request.url?.startsWith("/contacts?")) {
    const head = { "content-type": "application/json", "content-length": contacts.length }
    return void setTimeout(() => response.writeHead(200, head).end(contacts), 20)
  }
  setTimeout(() => {
    if (!response.destroyed && key !== "") keys.set(key, true)
    json(request.url === "/large" ? large : request.url === "/contact/1" ? contact(1) : { ok: true })
  }, 1)
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(`listening ${typeof address === "object" ? address?.port : ""}`)
})
