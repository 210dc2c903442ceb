/** A key that is narrowed to workflows or environments reaches no others, nor what belongs to them. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { makeKeyOfOtherWorkspace, makeScopedKey } from "../support/keys.js"

let svc: Running
let inside: string
let outside: string
/** A run of each workflow in live, and one of the first in test. */
const runs = { inside: "", outside: "", test: "" }
let workflowKey: string
let testKey: string
let bothKey: string

const code = (value: unknown) => `export default async () => (${JSON.stringify(value)})`

const ask = (key: string, method: string, target: string, body?: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
const askFirst = (method: string, target: string, body?: unknown) => ask(svc.first.key, method, target, body)

const makeWorkflow = async (name: string) => {
  const made = await askFirst("POST", "/workflows", { name, form: "code", code: code(name) })
  assert.strictEqual(made.status, 201, made.text)
  const published = await askFirst("POST", `/workflows/${made.body.data.id}/publish`, {})
  assert.strictEqual(published.status, 200, published.text)
  return String(made.body.data.id)
}

const runOf = async (workflow: string, environment = "live") => {
  const ran = await askFirst("POST", `/workflows/${workflow}/execute`, { environment })
  assert.strictEqual(ran.status, 200, ran.text)
  const id = String(ran.headers["x-svc-execution-id"])
  await eventually(
    () => askFirst("GET", `/executions/${id}`),
    ({ body }) => body.data?.status === "completed"
  )
  return id
}

const idsOf = ({ body, status, text }: Answer): ReadonlyArray<string> => {
  assert.strictEqual(status, 200, text)
  return body.data.map(({ id }: { readonly id: string }) => id)
}

const assertOutOfScope = (answer: Answer, what: string) =>
  assert.deepStrictEqual([answer.status, answer.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], `${what}: ${answer.text}`)

beforeAll(async () => {
  svc = await startShared()
  inside = await makeWorkflow("inside")
  outside = await makeWorkflow("outside")
  runs.inside = await runOf(inside)
  runs.test = await runOf(inside, "test")
  runs.outside = await runOf(outside)
  workflowKey = (await makeScopedKey(svc, { workflow: [inside] })).key
  testKey = (await makeScopedKey(svc, { environment: ["test"] })).key
  bothKey = (await makeScopedKey(svc, { environment: ["test", "live"] })).key
})
afterAll(() => svc.stop())

describe("a key that is narrowed to a workflow", () => {
  it("lists this one, though others are newer, and creates none", async () => {
    const page = await ask(workflowKey, "GET", "/workflows?page_size=1")
    assert.deepStrictEqual([idsOf(page), page.body.page.hasMore], [[inside], false])
    assertOutOfScope(
      await ask(workflowKey, "POST", "/workflows", { name: "new", form: "code", code: code(1) }),
      "create"
    )
  })

  it.each([
    ["GET", ""],
    ["PUT", "", { description: "taken over" }],
    ["DELETE", ""],
    ["POST", "/publish", {}],
    ["POST", "/archive"],
    ["GET", "/versions"],
    ["GET", "/versions/1/diff/1"],
    ["GET", "/diagram.svg"],
    ["POST", "/execute", {}],
    ["POST", "/run", {}]
  ])("may not %s /workflows/:other%s", async (method, below, body?: object) => {
    assertOutOfScope(await ask(workflowKey, method, `/workflows/${outside}${below}`, body), below)
  })

  it("does all that its preset allows with its own", async () => {
    for (const [method, below, body] of [
      ["GET", "", undefined],
      ["PUT", "", { description: "mine" }],
      ["POST", "/publish", {}],
      ["GET", "/versions", undefined],
      ["GET", "/versions/1/diff/1", undefined],
      ["GET", "/diagram.svg", undefined]
    ] as const) {
      const answer = await ask(workflowKey, method, `/workflows/${inside}${below}`, body)
      assert.strictEqual(answer.status, 200, answer.text)
    }
  })

  it("lists the executions of its own, and is refused a filter that names another", async () => {
    const listed = idsOf(await ask(workflowKey, "GET", "/executions"))
    assert.includeMembers([...listed], [runs.inside, runs.test])
    assert.notInclude(listed, runs.outside)
    assert.deepStrictEqual(idsOf(await ask(workflowKey, "GET", `/executions?workflow_id=${inside}`)), listed)
    assertOutOfScope(await ask(workflowKey, "GET", `/executions?workflow_id=${outside}`), "filter")
  })
})

describe.each([
  ["a workflow", () => workflowKey, () => runs.outside],
  ["an environment", () => testKey, () => runs.inside]
])("a key that is narrowed to %s", (_, key, run) => {
  it.each([
    ["GET", ""],
    ["GET", "/logs"],
    ["GET", "/fixtures"],
    ["GET", "/blobs/blob_0"],
    ["POST", "/cancel"],
    ["POST", "/rerun", {}]
  ])("may not %s /executions/:other%s", async (method, below, body?: object) => {
    assertOutOfScope(await ask(key(), method, `/executions/${run()}${below}`, body), below)
  })

  it("repeats a run that is in its scope", async () => {
    const again = await ask(key(), "POST", `/executions/${runs.test}/rerun`, {})
    assert.deepStrictEqual([again.status, again.body.data?.parentId], [202, runs.test], again.text)
  })
})

describe("a key that is narrowed to an environment", () => {
  it("runs workflows there and in no other", async () => {
    assert.strictEqual(
      (await ask(testKey, "POST", `/workflows/${inside}/execute`, { environment: "test" })).status,
      200
    )
    assertOutOfScope(await ask(testKey, "POST", `/workflows/${inside}/execute`, {}), "live")
    assertOutOfScope(await ask(testKey, "POST", `/workflows/${inside}/run`, { environment: "live" }), "live")
  })

  it("lists what runs and is deployed there", async () => {
    const listed = idsOf(await ask(testKey, "GET", "/executions"))
    assert.include(listed, runs.test)
    assert.notIncludeMembers([...listed], [runs.inside, runs.outside])
    const environmentsOf = ({ body }: Answer) =>
      body.data.deployments.map(({ environment }: { readonly environment: string }) => environment)
    assert.deepStrictEqual(environmentsOf(await ask(testKey, "GET", `/workflows/${inside}`)), [])
    assert.deepStrictEqual(environmentsOf(await ask(bothKey, "GET", `/workflows/${inside}`)), ["live"])
  })

  it.each([
    { enabled: false },
    { tier: "long" },
    { timeoutMs: 1_000 },
    { retry: { maxAttempts: 2 } },
    { callbackUrl: "https://example.com/" }
  ])("does not change what holds in others: %o", async (body) => {
    assertOutOfScope(await ask(testKey, "PUT", `/workflows/${inside}`, body), "PUT")
  })

  it("changes the draft, and puts back what it has read", async () => {
    const { body } = await ask(testKey, "GET", `/workflows/${inside}`)
    const { version: _version, ...read } = body.data
    const back = await ask(testKey, "PUT", `/workflows/${inside}`, { ...read, code: code("changed"), description: "d" })
    assert.strictEqual(back.status, 200, back.text)
  })

  it("publishes only where it reaches all that the publication changes", async () => {
    assertOutOfScope(await ask(testKey, "POST", `/workflows/${outside}/publish`, {}), "live deploys by itself")
    const liveKey = (await makeScopedKey(svc, { environment: ["live"] })).key
    assertOutOfScope(await ask(liveKey, "POST", `/workflows/${outside}/publish`, {}), "test runs the latest version")
    const published = await ask(bothKey, "POST", `/workflows/${outside}/publish`, {})
    assert.deepStrictEqual([published.status, published.body.data?.deployedTo], [200, ["live"]], published.text)
  })

  it("archives and deletes nothing", async () => {
    assertOutOfScope(await ask(bothKey, "POST", `/workflows/${outside}/archive`), "archive")
    assertOutOfScope(await ask(bothKey, "DELETE", `/workflows/${outside}`), "delete")
  })
})

describe("a run that is repeated", () => {
  it("reaches what the key that repeats it reaches, and no more", async () => {
    const secret = await askFirst("POST", "/secrets", { name: "MINE", value: "v" })
    const other = await askFirst("POST", "/secrets", { name: "OTHER", value: "v" })
    assert.deepStrictEqual([secret.status, other.status], [201, 201], secret.text)
    const made = await askFirst("POST", "/workflows", {
      name: "secretive",
      form: "code",
      code: "export default async () => { await svc.secrets.get('MINE'); return 'read' }"
    })
    await askFirst("POST", `/workflows/${made.body.data.id}/publish`, {})
    const first = await runOf(made.body.data.id)
    const repeatWith = async (id: string) => {
      const { key } = await makeScopedKey(svc, { secret: [id] })
      const again = await ask(key, "POST", `/executions/${first}/rerun`, { mode: "fresh" })
      assert.strictEqual(again.status, 202, again.text)
      const ended = await eventually(
        () => askFirst("GET", `/executions/${again.body.data.id}`),
        ({ body }) => body.data.finishedAt !== null
      )
      return ended.body.data.status
    }
    assert.strictEqual(await repeatWith(secret.body.data.id), "completed")
    assert.strictEqual(await repeatWith(other.body.data.id), "failed")
  })
})

describe("a key of another workspace", () => {
  it("reads no workflow and no execution of this one", async () => {
    const { key } = await makeKeyOfOtherWorkspace(svc)
    assert.deepStrictEqual(idsOf(await ask(key, "GET", "/workflows")), [])
    assert.deepStrictEqual(idsOf(await ask(key, "GET", "/executions")), [])
    for (const [method, target, body] of [
      ["GET", `/workflows/${inside}`, undefined],
      ["POST", `/workflows/${inside}/execute`, {}],
      ["GET", `/executions/${runs.inside}`, undefined],
      ["GET", `/executions/${runs.inside}/logs`, undefined],
      ["POST", `/executions/${runs.inside}/cancel`, undefined],
      ["POST", `/executions/${runs.inside}/rerun`, {}]
    ] as const)
      assert.strictEqual((await ask(key, method, target, body)).status, 404, target)
  })
})

describe("an installation that a request names", () => {
  it("is used only if all of its workflows are in the scope of the key, also by a re-run", async () => {
    const { customerId } = svc.first
    const installed = async (workflowIds: ReadonlyArray<string>) => {
      const made = await askFirst("POST", "/installations", {
        customerId,
        integration: `of-${workflowIds.length}`,
        workflowIds
      })
      assert.strictEqual(made.status, 201, made.text)
      return String(made.body.data.id)
    }
    const run = (key: string, installation: string) =>
      svc.ask("POST", `/api/v1/workflows/${inside}/execute`, {
        key,
        body: {},
        headers: { "x-end-org-id": customerId, "x-installation-id": installation }
      })
    assert.strictEqual((await run(workflowKey, await installed([inside]))).status, 200)
    const both = await installed([inside, outside])
    assertOutOfScope(await run(workflowKey, both), "execute")
    const ran = await run(svc.first.key, both)
    assert.strictEqual(ran.status, 200, ran.text)
    const id = String(ran.headers["x-svc-execution-id"])
    await eventually(
      () => askFirst("GET", `/executions/${id}`),
      ({ body }) => body.data?.status === "completed"
    )
    assertOutOfScope(await ask(workflowKey, "POST", `/executions/${id}/rerun`, {}), "rerun")
  })
})
