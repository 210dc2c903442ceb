/**
 * Where a draft may run: in `test`; in another environment by who may deploy there, wherever it is asked for, and nowhere that
 * deployments are reviewed. A run whose calls are all mocked sees no secret.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Answer, type Running, start } from "../support/InProcess.js"
import { codeOf, done, releaseClient } from "../support/releaseClient.js"

let svc: Running
const { ask, environment, made, newKey, unique } = releaseClient(() => svc)
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const read = (name: string) => `export default async () => ({ got: await svc.secrets.get("${name}") })`
const stepOf = (code: string) => ({ steps: [{ name: "a", type: "action", config: { code } }] })
const secret = (more: object) => made("/secrets", { name: `SEC_${unique().toUpperCase()}`, ...more })

/** Each way to run the code of a draft in an environment. `id`: a workflow of one step that is a draft. */
const ways: Readonly<Record<string, (id: string, slug: string, key: string) => Promise<Answer>>> = {
  "POST /execute": (id, slug, key) => ask("POST", `/workflows/${id}/execute`, { draft: true, environment: slug }, key),
  "POST /run": (id, slug, key) =>
    ask("POST", `/workflows/${id}/run`, { draft: true }, key, { "x-svc-env": slug.toUpperCase() }),
  "a test of a step": (id, slug, key) =>
    ask("POST", `/workflows/${id}/steps/a/test`, { mock: "none" }, key, { "x-svc-env": slug }),
  "a re-run": async (id, slug, key) => {
    const ran = await ask("POST", `/workflows/${id}/execute`, { draft: true, environment: slug })
    return await ask("POST", `/executions/${ran.headers["x-svc-execution-id"]}/rerun`, {}, key)
  }
}

describe.each(Object.entries(ways))("A draft by %s", (_, run) => {
  const draft = async () => (await made("/workflows", { name: unique(), form: "steps", spec: stepOf(read("NONE")) })).id
  const keyWith = async (...more: ReadonlyArray<string>) => {
    const workflows = ["create", "read", "update", "execute", ...more]
    const permissions = { workflows, executions: ["create", "read"] }
    return (await newKey({ preset: "custom", permissions })).key
  }

  it("runs in test by who may change it, elsewhere by who may deploy there", async () => {
    const id = await draft()
    const custom = await environment()
    const safe = await environment({ protected: true })
    const [author, tester, releaser] = [await keyWith(), await keyWith("deploy_test"), await keyWith("deploy_prod")]
    const allowed = async (slug: string) => {
      const answers = []
      for (const key of [author, tester, releaser]) answers.push((await run(id, slug, key)).status < 300)
      return answers
    }
    assert.deepStrictEqual(await allowed("test"), [true, true, true])
    assert.deepStrictEqual(await allowed(custom.slug), [false, true, false])
    assert.deepStrictEqual(await allowed(safe.slug), [false, false, true])
    assert.deepStrictEqual(await allowed("live"), [false, false, true])
    const refused = await run(id, "live", author)
    assert.deepStrictEqual(codeOf(refused), [403, "FORBIDDEN"])
    assert.include(refused.text, "workflows:deploy_prod")
  })
})

describe("A draft", () => {
  it("runs nowhere that deployments are reviewed", async () => {
    const { slug } = await environment({ requiresReview: true })
    const { id } = await made("/workflows", { name: unique(), form: "code", code: read("NONE") })
    const answer = await ask("POST", `/workflows/${id}/execute`, { draft: true, environment: slug })
    assert.deepStrictEqual(codeOf(answer), [403, "REVIEW_REQUIRED"])
  })

  it("runs in no environment that does not exist", async () => {
    const { id } = await made("/workflows", { name: unique(), form: "code", code: read("NONE") })
    const answer = await ask("POST", `/workflows/${id}/execute`, { draft: true, environment: "nowhere" })
    assert.deepStrictEqual(codeOf(answer), [404, "NOT_FOUND"])
  })

  it("runs in test where nobody names another, by its id and by its name", async () => {
    const { name } = await secret({ type: "text", value: "of-test", environment: "test" })
    const flow = unique()
    const { id } = await made("/workflows", { name: flow, form: "code", code: read(name) })
    assert.deepStrictEqual((await ask("POST", `/workflows/${id}/execute`, { draft: true })).body, { got: "of-test" })
    const named = await svc.ask("POST", `/api/v1/${flow}`, {
      headers: { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId, stage: "DRAFT" },
      body: {}
    })
    assert.deepStrictEqual([named.status, named.body.got], [200, "of-test"], named.text)
  })
})

describe("A run whose calls are all mocked", () => {
  it("gets made-up secrets of the same form, and no value marked secret", async () => {
    const text = await secret({ type: "text", value: "canary-of-secrets" })
    const json = await secret({ type: "json", value: { user: "canary-user", ports: [1], on: true, none: null } })
    for (const [key, value] of [
      ["env.API_KEY", "canary-of-config"],
      ["env.REGION", "eu"]
    ])
      done(await ask("PUT", "/config", { level: "saas", key, value }))
    const code = `export default async () => ({
      text: [...await svc.secrets.get("${text.name}")].join(" "), json: await svc.secrets.get("${json.name}"),
      key: await svc.envConfig.get("API_KEY"), region: await svc.envConfig.get("REGION") })`
    const { id } = await made("/workflows", { name: unique(), form: "code", code })
    const madeUp = (name: string) => `mock-${name}`
    const mocked = await ask("POST", `/workflows/${id}/execute`, { draft: true, mock: "full" })
    assert.deepStrictEqual(mocked.body, {
      text: [...madeUp(text.name)].join(" "),
      json: { user: madeUp(json.name), ports: [0], on: false, none: null },
      key: madeUp("API_KEY"),
      region: "eu"
    })
    const real = await ask("POST", `/workflows/${id}/execute`, { draft: true })
    assert.strictEqual(real.body.text, [..."canary-of-secrets"].join(" "))
  })
})
