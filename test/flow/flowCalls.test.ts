/** A flow is called by its name on surface B: which version runs, what its caller is answered, and in which form it fails. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { customAuthGuesses as guesses } from "../../src/domain/flow/CustomAuth.js"
import { reservedNames } from "../../src/domain/workflow/Workflow.js"
import { surfaceA, surfaceAStart, surfaceB, surfaceC, surfaceCStart } from "../../src/http/operations/Surfaces.js"
import {
  connect,
  execution,
  getStep,
  publishConnector,
  publishSaved,
  scripts,
  startCalls,
  stopCalls,
  svc
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

const slug = "called-crm"
const key = () => svc.first.key
const space = (apiKey = key()) => ({ "x-svc-api-key": apiKey, "x-svc-space-id": svc.first.spaceId })

/** Calls the flow of this name for the first customer. */
const call = (name: string, input: object = {}, headers: { readonly [name: string]: string } = {}) =>
  svc.ask("POST", `/api/v1/${name}`, {
    headers: { ...space(), "x-svc-space-tenantid": svc.first.customerId, ...headers },
    body: { input }
  })

const save = (name: string, body: object, more: object = {}) =>
  svc.ask("POST", "/api/v1/workflows", { key: key(), body: { name, ...body, ...more } })

const publish = async (name: string, body: object, more: object = {}): Promise<string> =>
  publishSaved(await save(name, body, more))
const code = (body: string) => ({ form: "code", code: `export default async (ctx) => { ${body} }` })
const steps = (list: ReadonlyArray<object>, more: object = {}) => ({ form: "steps", spec: { steps: list, ...more } })
const computed = (body: string, name = "compute") => ({ name, type: "action", config: { code: body } })
const get = (id: string, more: object = {}) => getStep(slug)("send", id, more)
const members = { isCustomAuthError: false, datasourceDebug: null }

beforeAll(async () => {
  await startCalls()
  await publishConnector(slug)
  await connect(slug, "key-of-calls-canary")
})
afterAll(stopCalls)

describe("A flow's name", () => {
  it("is none of the first segments of other paths, in any case", async () => {
    const segments = [
      ...surfaceAStart,
      ...surfaceA,
      ...surfaceB,
      ...surfaceC,
      ...surfaceCStart,
      { path: "/api/v1/clients/:c/x" }
    ]
      .map(({ path }) => path.split("/")[3] ?? "")
      .concat("embed", "callbacks", "openapi", "health", "mcp", "login")
      .filter((segment) => /^[A-Za-z]\w*$/.test(segment))
    assert.isAbove(segments.length, 30)
    assert.deepStrictEqual(
      segments.filter((segment) => !reservedNames.has(segment)),
      []
    )
    for (const name of ["sessions", "Models", "WATCH"])
      assert.deepStrictEqual((await save(name, code("return 1"))).body.code, "RESERVED_NAME")
  })

  it("runs both forms, the tenant's own flow before the organisation's", async () => {
    await publish("greet", code("return { by: 'organisation', ...ctx.input }"))
    assert.deepStrictEqual((await call("greet", { n: 1 })).body, { by: "organisation", n: 1 })
    await publish("greet", steps([computed("export default async () => ({ by: 'tenant' })")]), {
      customerId: svc.first.customerId
    })
    const own = await call("greet", { n: 1 })
    assert.deepStrictEqual([own.status, own.body], [200, { by: "tenant" }])
    const others = await svc.ask("POST", "/api/v1/greet", { headers: space(), body: { input: {} } })
    assert.deepStrictEqual(others.body, { by: "organisation" })
    assert.deepStrictEqual((await execution(own.headers["x-svc-execution-id"])).customerId, svc.first.customerId)
  })

  it("that no flow has, or with other letters, is not found", async () => {
    for (const name of ["nobody", "Greet"]) {
      const answer = await call(name)
      assert.deepStrictEqual([answer.status, answer.body.code], [404, "NOT_FOUND"])
      assert.deepInclude(answer.body, { ...members, step: "" })
    }
  })
})

describe("The header stage", () => {
  it("chooses the version, and x-svc-env does not", async () => {
    const id = await publish("staged", code("return 1"))
    await svc.ask("PUT", `/api/v1/workflows/${id}`, {
      key: key(),
      body: { code: "export default async () => 2" }
    })
    const answers = []
    for (const stage of [{}, { stage: "live" }, { stage: "Draft" }, { stage: "TEST" }, { "x-svc-env": "nowhere" }])
      answers.push((await call("staged", {}, stage)).body)
    assert.deepStrictEqual(answers, [1, 1, 2, 1, 1])
    for (const stage of ["nowhere", "not a slug"])
      assert.deepStrictEqual((await call("staged", {}, { stage })).status, 404, stage)
    await save("unpublished", code("return 1"))
    const unpublished = await call("unpublished")
    assert.deepStrictEqual([unpublished.status, unpublished.body.code], [404, "NOT_FOUND"])
  })
})

describe("A call", () => {
  it("needs key and workspace, a body that the flow takes, and the permission for drafts", async () => {
    await publish("asked", steps([computed("export default async (input, ctx) => ctx.input")]), {
      inputContract: { type: "object", required: ["a"], properties: { a: { type: "string" } } }
    })
    const refusals = [
      await svc.ask("POST", "/api/v1/asked", { body: {} }),
      await svc.ask("POST", "/api/v1/asked", { headers: { "x-svc-api-key": key() }, body: {} }),
      await svc.ask("POST", "/api/v1/asked", {
        headers: { ...space(), authorization: `Bearer ${key()}`, "x-svc-api-key": "svk_live_nothing" },
        body: {}
      }),
      await call("asked", { a: 1 }),
      await svc.ask("POST", "/api/v1/asked", { headers: space(), body: { draft: true } }),
      await svc.ask("POST", "/api/v1/asked", { headers: space(), raw: "{" })
    ]
    assert.deepStrictEqual(
      refusals.map(({ body, status }) => [status, body.code, body.details[0]?.code]),
      [
        [401, "UNAUTHORIZED", undefined],
        [400, "INVALID_REQUEST", "MISSING_SPACE_ID"],
        [401, "UNAUTHORIZED", undefined],
        [400, "INVALID_REQUEST", "INPUT_CONTRACT_VIOLATION"],
        [400, "INVALID_REQUEST", "UNKNOWN_FIELD"],
        [400, "INVALID_REQUEST", undefined]
      ]
    )
    for (const { body } of refusals) assert.deepInclude(body, { ...members, step: "" })
  })

  it("starts once for an Idempotency-Key, and is answered as the first time", async () => {
    await publish(
      "once",
      steps([computed("export default async () => Math.random()")], { response: { success: { status: 203 } } })
    )
    const headers = { "idempotency-key": "b-once" }
    const [first, again] = [await call("once", {}, headers), await call("once", {}, headers)]
    assert.deepStrictEqual([again.status, again.body], [203, first.body])
    assert.strictEqual(again.headers["idempotent-replayed"], "true")
  })

  it("of a Standard flow is accepted", async () => {
    await publish("slow", code("return 1"), { tier: "standard" })
    const answer = await call("slow")
    assert.deepStrictEqual([answer.status, answer.body.status], [202, "pending"])
  })
})

describe("A flow that fails", () => {
  it("answers what it says for that case, and after a step that may fail what it says for success", async () => {
    const error = { status: 418, body: { sorry: "{{error.message}}" } }
    await publish(
      "sorry",
      steps([computed("export default async () => { throw new Error('no tea') }")], { response: { error } })
    )
    const answer = await call("sorry")
    assert.deepStrictEqual([answer.status, answer.body], [418, { sorry: "no tea" }])
    assert.strictEqual(answer.headers["x-svc-execution-status"], "failed")
    const failing = { ...computed("export default async () => { throw new Error('x') }"), onError: "continue" }
    await publish("lenient", steps([failing, computed("export default async () => 7", "last")]))
    const lenient = await call("lenient")
    assert.deepStrictEqual([lenient.status, lenient.body], [200, 7])
  })

  it("because of a system answers step and the system's body, without the credential", async () => {
    scripts.set(`/${slug}/get/bad`, ({ headers }) => ({
      status: 403,
      body: { ok: false, error: "channel_not_found", echo: headers["x-acme-key"] }
    }))
    await publish("refused", steps([get("bad")]))
    await publish("refused_code", code(`await svc.connectors["${slug}"].get({ id: "bad" })`))
    for (const [name, step] of [
      ["refused", "send"],
      ["refused_code", `connector.${slug}.get#1`]
    ] as const) {
      const answer = await call(name)
      assert.deepStrictEqual([answer.status, answer.body.code], [400, "DATASOURCE_CONNECTION_ERROR"], answer.text)
      assert.deepInclude(answer.body, { isCustomAuthError: false, step, retryable: false })
      assert.strictEqual(answer.body.datasourceDebug.name, "get")
      assert.deepInclude(answer.body.datasourceDebug.jsonObject, { ok: false, error: "channel_not_found" })
      assert.notInclude(answer.text, "canary")
      assert.strictEqual(answer.body.executionId, answer.headers["x-svc-execution-id"])
      assert.notInclude(JSON.stringify(await execution(answer.body.executionId)), "canary")
    }
  })

  it("for another reason answers 500 with step, execution and the error's code, which is not worth a retry", async () => {
    await publish(
      "broken",
      steps([computed("export default async () => { throw Object.assign(new Error('no'), { code: 'E_NO' }) }")])
    )
    const answer = await call("broken")
    assert.deepStrictEqual([answer.status, answer.body.code, answer.body.retryable], [500, "INTERNAL_ERROR", false])
    assert.deepInclude(answer.body, { ...members, step: "compute", executionId: answer.headers["x-svc-execution-id"] })
    assert.deepStrictEqual(answer.body.details, [{ path: "compute", code: "E_NO", message: answer.body.message }])
  })

  it("is answered 408 when it is late by its own time, which may be longer than other Instant runs have", async () => {
    await publish("late", code("await new Promise((done) => setTimeout(done, 3_600_000))"), { timeoutMs: 300 })
    const late = await call("late")
    assert.deepStrictEqual([late.status, late.body.code, late.body.retryable], [408, "TIMED_OUT", true])
    assert.deepInclude(late.body, { ...members, step: "", executionId: late.headers["x-svc-execution-id"] })
    await publish("long_wait", code("return 1"), { timeoutMs: 3_600_000 })
    await publish("usual", code("return 1"))
    const ceilings = []
    for (const name of ["long_wait", "usual"]) {
      const id = (await call(name)).headers["x-svc-execution-id"]
      const [row] = await svc.sql<{ ceiling: number }>(
        `SELECT (record->>'ceilingMillis')::int AS ceiling FROM executions WHERE id = '${id}'`
      )
      ceilings.push(row?.ceiling)
    }
    assert.deepStrictEqual(ceilings, [120_000, 60_000])
  })

  it("because it was cancelled is answered 409", async () => {
    const asked = `await svc.connectors["${slug}"].get({ id: "one" });`
    await publish("cancelled", code(`${asked} ${asked} await new Promise((done) => setTimeout(done, 20_000))`))
    const waiting = call("cancelled")
    const { body: listed } = await eventually(
      () => svc.ask("GET", "/api/v1/executions?status=running", { key: key() }),
      ({ body }) => body.data.length === 1
    )
    const running = listed.data[0].id
    await svc.ask("POST", `/api/v1/executions/${running}/cancel`, { key: key(), body: {} })
    const answer = await waiting
    assert.deepStrictEqual([answer.status, answer.body.code], [409, "CONFLICT"])
    assert.strictEqual(answer.headers["x-svc-execution-id"], running)
  })
})

describe("A flow's own authentication", () => {
  const guarded = async (name: string, customAuth: object) => {
    const told = computed("export default async (input, ctx) => ({ input, names: Object.keys(ctx.headers) })")
    await publish(name, steps([told], { customAuth, requestSchema: { type: "object", required: ["n"] } }))
    return (authorization?: string, more: object = {}, input: object = { n: 1 }) =>
      call(name, input, {
        "x-svc-custom-auth": "true",
        ...(authorization === undefined ? {} : { authorization }),
        ...more
      })
  }
  const stored = (name: string, value: string, more: object = {}) =>
    svc.ask("POST", "/api/v1/secrets", { key: key(), body: { name, type: "text", value, ...more } })
  const assertRefused = ({ body, status, text }: Awaited<ReturnType<typeof call>>, message: RegExp) => {
    assert.deepStrictEqual([status, body.code, body.isCustomAuthError], [401, "UNAUTHORIZED", true], text)
    assert.match(body.message, message)
  }
  const guessed = { type: "bearer", secretName: "GUESSED_TOKEN" }
  const startedRuns = async () => (await svc.sql<{ n: number }>("SELECT count(*)::int AS n FROM executions"))[0]?.n ?? 0

  it("starts it with the bearer token that its secret holds, the most specific one, and for no other", async () => {
    await stored("FLOW_TOKEN", "of-all")
    const ask = await guarded("bearer_flow", { type: "bearer", secretName: "FLOW_TOKEN" })
    const accepted = await ask("bearer  of-all")
    assert.deepStrictEqual([accepted.status, accepted.body.input], [200, {}], accepted.text)
    assert.notInclude(accepted.body.names, "authorization")
    await stored("FLOW_TOKEN", "of-the-tenant", { customerId: svc.first.customerId })
    const before = await startedRuns()
    for (const forged of ["Bearer of-all", "Bearer of-the-tenant2", "Bearer ", "of-the-tenant", "Basic of-the-tenant"])
      assertRefused(await ask(forged), /token/)
    assertRefused(await ask(), /Bearer TOKEN/)
    assertRefused(await ask("Bearer of-the-tenant", { "x-svc-custom-auth": "false" }), /x-svc-custom-auth: true/)
    // Who is refused does not learn what the flow takes.
    assertRefused(await ask("Bearer no", {}, {}), /token/)
    assert.strictEqual(await startedRuns(), before)
    assert.strictEqual((await ask("Bearer of-the-tenant")).status, 200)
  })

  it("takes the whole header, and refuses while its secret does not exist", async () => {
    const ask = await guarded("header_flow", { type: "header", secretName: "WHOLE_HEADER" })
    assertRefused(await ask("Token abc"), /no secret WHOLE_HEADER/)
    await stored("WHOLE_HEADER", "Token abc")
    assertRefused(await ask("abc"), /not accept/)
    assert.strictEqual((await ask("Token abc")).status, 200)
  })

  it("asks a workflow, and only allow: true within 5 s accepts", async () => {
    const checker = await publish(
      "checker",
      code(`const { token, headers } = ctx.input
        if (token === "slow") await new Promise((done) => setTimeout(done, 3_600_000))
        if (token === "broken") throw new Error("no")
        if (token === "says") return { allow: "true" }
        return { allow: token === "good" && headers.authorization === undefined && headers["x-from"] === "partner" }`)
    )
    const ask = await guarded("asking_flow", { type: "workflow", workflowId: checker })
    const from = { "x-from": "partner" }
    assert.strictEqual((await ask("Bearer good", from)).status, 200)
    assert.strictEqual((await ask("good", from)).status, 200)
    for (const token of ["good2", "says"]) assertRefused(await ask(`Bearer ${token}`, from), /not accept/)
    assertRefused(await ask("Bearer good"), /not accept/)
    assertRefused(await ask("Bearer broken", from), /did not complete/)
    assertRefused(await ask("Bearer slow", from), /did not complete within 5 s/)
    const runs = await svc.ask("GET", `/api/v1/executions?workflow_id=${checker}`, { key: key() })
    assert.lengthOf(runs.body.data, 7)
    const shown = await execution(runs.body.data[0].id)
    assert.strictEqual(shown.input.token, "[redacted]")
  })

  it("refuses where the workflow cannot be asked", async () => {
    const slow = await publish("not_instant", code("return { allow: true }"), { tier: "standard" })
    const gone = await publish("deleted_later", code("return { allow: true }"))
    const unpublished = (await save("never_published", code("return { allow: true }"))).body.data.id
    const asked: ReadonlyArray<readonly [string, RegExp]> = [
      [slow, /not Instant/],
      [unpublished, /never been published/],
      [gone, /no workflow/]
    ]
    for (const [index, [workflowId, message]] of asked.entries()) {
      const ask = await guarded(`unasked_${index}`, { type: "workflow", workflowId })
      // One that is gone is refused by name when the flow is published: this one goes later.
      if (workflowId === gone) await svc.ask("DELETE", `/api/v1/workflows/${gone}`, { key: key() })
      assertRefused(await ask("Bearer any"), message)
    }
  })

  it("is guessed ten times a minute by an address, also by many tries at once; then even the right token is refused there", async () => {
    await stored("GUESSED_TOKEN", "right")
    await publish("guessed_flow", steps([computed("export default async () => 1")], { customAuth: guessed }))
    const send = (token: string, from: string) =>
      svc.ask("POST", "/api/v1/guessed_flow", {
        from,
        headers: { ...space(), "x-svc-custom-auth": "true", authorization: `Bearer ${token}` },
        body: { input: {} }
      })
    /** In one minute, at most half of those that are looked at in two. */
    const assertLimited = (answers: ReadonlyArray<Awaited<ReturnType<typeof send>>>) => {
      const looked = answers.filter(({ status }) => status === 401)
      assert.isAtLeast(looked.length, guesses)
      assert.isAtMost(looked.length, 2 * guesses)
      for (const { body, headers, status } of answers.filter((one) => !looked.includes(one))) {
        assert.deepStrictEqual([status, body.code, body.isCustomAuthError], [429, "RATE_LIMITED", false])
        assert.isAtLeast(Number(headers["retry-after"]), 1)
      }
    }
    assertLimited(await Promise.all(Array.from({ length: 4 * guesses }, (_, at) => send(`wrong-${at}`, "192.0.2.40"))))
    const oneByOne = []
    for (let at = 0; at < 3 * guesses; at++) oneByOne.push(await send(`wrong-${at}`, "192.0.2.41"))
    assertLimited(oneByOne)
    // The minute may change before the right token is sent.
    await eventually(
      async () => {
        for (let at = 0; at < guesses; at++) await send("wrong", "192.0.2.42")
        return send("right", "192.0.2.42")
      },
      ({ status }) => status === 429
    )
    const elsewhere = await send("right", "192.0.2.43")
    assert.strictEqual(elsewhere.status, 200, elsewhere.text)
    for (let at = 0; at < 2 * guesses; at++) assert.strictEqual((await send("right", "192.0.2.44")).status, 200)
  })

  it("belongs to calls by name: execute takes the caller's key alone", async () => {
    const id = await publish(
      "keyed",
      steps([computed("export default async () => 1")], { customAuth: { type: "bearer", secretName: "NONE" } })
    )
    assertRefused(await call("keyed"), /x-svc-custom-auth: true/)
    const executed = await svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key: key(), body: { input: {} } })
    assert.strictEqual(executed.status, 200, executed.text)
  })
})
