/** `svc.diff.compare`: what a run gets, the report that is stored, and who reads it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { eventually } from "../support/eventually.js"
import { type Receiver, startReceiver } from "../support/receiver.js"

let svc: Running
let receiver: Receiver
let names = 0
beforeAll(async () => {
  receiver = await startReceiver()
  svc = await startShared()
})
afterAll(async () => {
  await svc.stop()
  await receiver.close()
})

const api = (method: string, path: string, more: object = {}) =>
  svc.ask(method, `/api/v1${path}`, { key: svc.first.key, ...more })

const workflow = async (code: string): Promise<string> => {
  const body = { name: `diff_${(names += 1)}`, form: "code", code: `export default async (ctx) => { ${code} }` }
  const made = await api("POST", "/workflows", { body })
  assert.strictEqual(made.status, 201, made.text)
  await api("POST", `/workflows/${made.body.data.id}/publish`, { body: {} })
  return made.body.data.id
}
/** Runs the code, and gives its result with the id of the run. */
const run = async (code: string, input: object = {}, more: object = {}) => {
  const answer = await api("POST", `/workflows/${await workflow(code)}/execute`, {
    headers: { "x-end-org-id": svc.first.customerId },
    body: { input, ...more }
  })
  return { ...answer, id: answer.headers["x-svc-execution-id"] ?? "" }
}
const compared = "return await svc.diff.compare({ name: 'people', key: 'id', ...ctx.input })"
const reportsOf = async (id: string, query = "") =>
  (await api("GET", `/executions/${id}/sync-reports${query}`)).body.data

const lists = {
  source: [
    { id: 1, name: "Ada", address: { city: "London", zip: "N1" } },
    { id: 2, name: "Grace", address: { city: "New York" } },
    { id: 3, name: "Mary" },
    { name: "nobody" }
  ],
  target: [
    { id: 1, name: "Ada", address: { city: "Paris", zip: null } },
    { id: 2, name: "Grace", address: { city: "New York" } },
    { id: 9, name: "Old" }
  ]
}

describe("svc.diff.compare", () => {
  it("answers with what differs, and stores a report of it", async () => {
    const { body, id, status, text } = await run(compared, lists)
    assert.strictEqual(status, 200, text)
    const summary = { added: 1, changed: 1, removed: 1, unchanged: 1, skipped: 1 }
    const fields = [
      { path: "address.city", source: "London", target: "Paris" },
      { path: "address.zip", source: "N1", target: null }
    ]
    assert.match(body.reportId, /^rpt_/)
    assert.deepStrictEqual(
      { ...body, reportId: null },
      {
        reportId: null,
        summary,
        added: [{ id: 3, name: "Mary" }],
        changed: [{ key: "1", fields }],
        removed: [{ id: 9, name: "Old" }]
      }
    )
    const [report, ...others] = await reportsOf(id)
    assert.deepStrictEqual(others, [])
    assert.deepInclude(report, {
      id: body.reportId,
      executionId: id,
      customerId: svc.first.customerId,
      name: "people",
      summary
    })
    const entries = await api("GET", `/sync-reports/${report.id}/entries`)
    assert.deepStrictEqual(entries.body.data, [
      { op: "added", key: "3", record: { id: 3, name: "Mary" }, fields: [], list: null, reason: null },
      { op: "changed", key: "1", record: null, fields, list: null, reason: null },
      { op: "removed", key: "9", record: { id: 9, name: "Old" }, fields: [], list: null, reason: null },
      { op: "skipped", key: null, record: { name: "nobody" }, fields: [], list: "source", reason: "NO_KEY" }
    ])
    const changed = await api("GET", `/sync-reports/${report.id}/entries?op=changed`)
    assert.deepStrictEqual(changed.body.data, [entries.body.data[1]])
    assert.deepStrictEqual(changed.body.page.nextCursor, null)
  })

  it("plans what is to be written to the target", async () => {
    const { body } = await run(compared, { ...lists, mode: "plan" })
    assert.deepStrictEqual(body.plan, [
      { op: "create", key: "3", changes: { id: 3, name: "Mary" } },
      { op: "update", key: "1", changes: { address: { city: "London", zip: "N1" } } },
      { op: "delete", key: "9", changes: null }
    ])
  })

  it("shows how many records were compared in the trace, and none of them", async () => {
    const { id } = await run(compared, lists)
    const { body } = await eventually(
      () => api("GET", `/executions/${id}`),
      (found) => found.body.data.steps?.length > 0
    )
    const [step] = body.data.steps
    assert.deepStrictEqual(step.input, [{ name: "people", key: "id", source: "4 records", target: "3 records" }])
    assert.deepStrictEqual(Object.keys(step.output), ["reportId", "summary"])
  })

  it("pages through thousands of entries: each once, of one kind or of all", async () => {
    const code = `const list = (from, to) => Array.from({ length: to - from }, (_, n) => ({ id: from + n, text: "x".repeat(n % 7 === 0 ? 20_000 : 10) }))
      const { reportId, summary } = await svc.diff.compare({ name: "many", source: list(0, 700), target: list(500, 900), key: "id" })
      return { reportId, summary }`
    const { body, status, text } = await run(code)
    assert.strictEqual(status, 200, text)
    assert.isDefined(body.summary, text)
    assert.deepStrictEqual([body.summary.added, body.summary.removed], [500, 200])
    const all = async (query: string) => {
      const keys: Array<string> = []
      let cursor: string | null = ""
      let pages = 0
      while (cursor !== null) {
        const page = await api("GET", `/sync-reports/${body.reportId}/entries?page_size=130${query}&cursor=${cursor}`)
        assert.strictEqual(page.status, 200, page.text)
        assert.isAtMost(page.text.length, 2_000_000)
        keys.push(...page.body.data.map(({ key, op }: { key: string; op: string }) => `${op} ${key}`))
        cursor = page.body.page.nextCursor
        assert.isBelow((pages += 1), 100)
      }
      return keys
    }
    const total = body.summary.added + body.summary.changed + body.summary.removed
    const every = await all("")
    assert.deepStrictEqual([every.length, new Set(every).size], [total, total])
    for (const op of ["added", "changed", "removed", "skipped"])
      assert.deepStrictEqual(
        await all(`&op=${op}`),
        every.filter((key) => key.startsWith(op))
      )
  })

  it("stores nothing in a run that makes no real calls", async () => {
    const answer = await run(compared, lists, { mock: "full" })
    const result = answer.status === 200 ? answer.body : undefined
    assert.deepStrictEqual([result?.reportId, result?.summary.added], [null, 1], answer.text)
    assert.deepStrictEqual(await reportsOf(answer.id), [])
  })

  it("stores no secret that the run has read", async () => {
    await api("POST", "/secrets", { body: { name: "DIFF_SECRET", value: "canary-of-a-report" } })
    const { body } = await run(
      "const token = await svc.secrets.get('DIFF_SECRET'); return (await svc.diff.compare({ name: `n ${token}`, source: [{ id: 1, token, password: 'p4ss' }], target: [], key: 'id' })).reportId"
    )
    const { text } = await api("GET", `/sync-reports/${body}/entries`)
    assert.include(text, '"key":"1"')
    assert.notInclude(text, "canary-of-a-report")
    assert.notInclude(text, "p4ss")
  })

  it.each([
    ["no object", "'x'", "write compare("],
    ["an unknown member", "{ name: 'a', source: [], target: [], key: 'id', ignored: [] }", "there is no ignored"],
    ["no name", "{ source: [], target: [], key: 'id' }", "name is a text"],
    ["no list", "{ name: 'a', source: {}, target: [], key: 'id' }", "are lists of records"],
    ["no key", "{ name: 'a', source: [], target: [] }", "key takes paths"],
    ["a key that is no path", "{ name: 'a', source: [], target: [], key: 'a[' }", "key takes paths"],
    [
      "a path with an index",
      "{ name: 'a', source: [], target: [], key: 'id', ignore: ['lines[0]'] }",
      "without an index"
    ],
    ["fields that are no list", "{ name: 'a', source: [], target: [], key: 'id', fields: 'a' }", "fields is a list"],
    ["another mode", "{ name: 'a', source: [], target: [], key: 'id', mode: 'write' }", "mode is report or plan"],
    [
      "too many records",
      "{ name: 'a', source: Array(100001).fill(0), target: [], key: 'id' }",
      "at most 100000 records"
    ],
    [
      "far more to report than the lists have",
      "((of) => ({ name: 'a', key: 'id', source: [of(1)], target: [of(2)] }))((value) => ({ id: 1, ['x'.repeat(1e6)]: { a: value, b: value, c: value } }))",
      "compare fewer records, or name fields"
    ]
  ])("refuses %s, and says what to write", async (_, argument, says) => {
    const { body } = await run(
      `return await svc.diff.compare(${argument}).catch((error) => [error.name, error.message])`
    )
    assert.include(String(body[1]), says)
  })

  it("makes at most 100 reports in a run", async () => {
    const { body, id } = await run(
      "let n = 0; try { for (;;) { await svc.diff.compare({ name: 'r', source: [], target: [], key: 'id' }); n += 1 } } catch (error) { return [n, error.code] }"
    )
    assert.deepStrictEqual(body, [100, "TOO_MANY_REPORTS"])
    const first = await api("GET", `/executions/${id}/sync-reports?page_size=70`)
    const rest = await reportsOf(id, `?page_size=70&cursor=${first.body.page.nextCursor}`)
    const ids = [...first.body.data, ...rest].map((report) => report.id)
    assert.deepStrictEqual([ids.length, new Set(ids).size], [100, 100])
    assert.deepStrictEqual(ids, ids.toSorted())
  })
})

describe("a report", () => {
  it("is told of to the endpoints that listen, without its records", async () => {
    const url = `${receiver.url}/reports`
    const made = await api("POST", "/webhook-endpoints", { body: { url, events: ["sync_report.created"] } })
    assert.strictEqual(made.status, 201, made.text)
    const { body } = await run(compared, lists)
    // Events of the reports before may come, too.
    const message = await eventually(
      async () => receiver.at("/reports").find((received) => received.body.includes(body.reportId))?.body,
      (found) => found !== undefined
    )
    const { data, type } = JSON.parse(message ?? "")
    assert.strictEqual(type, "sync_report.created")
    assert.deepInclude(data, { name: "people", summary: body.summary, reportId: body.reportId })
    assert.notInclude(message, "Ada")
  })

  it.each(["rpt_01arz3ndektsv4rrffq69g5fav", "x", "rpt_%00"])("that does not exist is not found: %s", async (id) => {
    const answer = await api("GET", `/sync-reports/${id}/entries`)
    assert.strictEqual(answer.status, 404, answer.text)
  })

  it("has cursors of its own", async () => {
    const { body } = await run(compared, lists)
    const answer = await api("GET", `/sync-reports/${body.reportId}/entries?cursor=x`)
    assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_CURSOR"])
  })
})
