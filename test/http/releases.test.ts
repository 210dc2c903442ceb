/**
 * Environments and releases: versions of several workflows are deployed together or not at all, a rollback restores exactly
 * what was there before, a review cannot be bypassed, and a customer's deployments are for that customer only.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Answer, type Running, start } from "../support/InProcess.js"
import { acme } from "../support/oauthProvider.js"
import { codeOf, done, pin, releaseClient } from "../support/releaseClient.js"

let svc: Running
let key: string
let customer: string
let other: string
const { ask, askB, environment, made, newKey, publish, runs, unique, workflow } = releaseClient(() => svc)

beforeAll(async () => {
  svc = await start()
  key = svc.first.key
  customer = svc.first.customerId
  other = (await made("/customers", { name: "Other" })).id
})
afterAll(() => svc.stop())

interface Shown {
  readonly id: string
  readonly customerId: string | null
  readonly slug: string
}
const environmentsIn = async (answer: Promise<Answer>): Promise<ReadonlyArray<Shown>> => done(await answer)
const allEnvironments = "/environments?page_size=200"
const builtin = async (slug: string) =>
  (await environmentsIn(ask("GET", allEnvironments))).find((one) => one.slug === slug && one.customerId === null) ??
  assert.fail(slug)

describe("an environment", () => {
  it("is created, read, listed, changed and deleted, and may be put back as it was read", async () => {
    const one = await environment({ autoDeploy: true })
    const path = `/environments/${one.id}`
    const read = done(await ask("GET", path))
    assert.deepInclude(read, { customerId: null, type: "custom", protected: false, requiresReview: false, version: 1 })
    const changed = done(await ask("PUT", path, { ...read, name: "Another" }))
    assert.deepInclude(changed, { name: "Another", slug: one.slug, autoDeploy: true, version: 2 })
    assert.deepStrictEqual(codeOf(await ask("PUT", path, { slug: "x" })), [422, "IMMUTABLE_FIELD"])
    assert.deepStrictEqual(codeOf(await ask("PUT", path, { name: "x", version: 1 })), [409, "VERSION_MISMATCH"])
    const slugs = (await ask("GET", "/environments")).body.data.map(({ slug }: { slug: string }) => slug)
    assert.includeMembers(slugs, [one.slug, "test", "live"])
    assert.deepStrictEqual(codeOf(await ask("POST", "/environments", { name: "x", slug: one.slug })), [409, "CONFLICT"])
    assert.strictEqual((await ask("DELETE", path)).status, 204)
    assert.strictEqual((await ask("GET", path)).status, 404)
  })

  it("that is built in cannot be deleted or made again, and test has no settings that would not hold", async () => {
    for (const slug of ["test", "live"]) {
      const { id } = await builtin(slug)
      assert.deepStrictEqual(codeOf(await ask("DELETE", `/environments/${id}`)), [409, "INVALID_STATE"])
      const again = await ask("POST", "/environments", { name: slug, slug })
      assert.deepStrictEqual(codeOf(again), [422, "RESERVED_NAME"])
    }
    const { id } = await builtin("test")
    assert.strictEqual((await ask("PUT", `/environments/${id}`, { requiresReview: true })).status, 422)
  })

  it("with autoDeploy gets what is published; live does not without it", async () => {
    const auto = await environment({ autoDeploy: true })
    const manual = await environment()
    const id = await workflow(1)
    assert.deepStrictEqual([await runs(id, auto.slug), await runs(id, manual.slug)], [1, "WORKFLOW_NOT_DEPLOYED"])
    const live = await builtin("live")
    done(await ask("PUT", `/environments/${live.id}`, { autoDeploy: false }))
    assert.deepStrictEqual((await publish(id, 2)).deployedTo, [auto.slug])
    assert.deepStrictEqual([await runs(id, "live"), await runs(id, auto.slug), await runs(id, "test")], [1, 2, 2])
    done(await ask("PUT", `/environments/${live.id}`, { autoDeploy: true }))
    assert.sameMembers((await publish(id, 3)).deployedTo, ["live", auto.slug])
  })

  it("of a customer alone, with autoDeploy, gets the organisation's publications for that customer", async () => {
    const { slug } = await environment({ autoDeploy: true, customerId: customer })
    const id = await workflow(1)
    assert.deepStrictEqual((await publish(id, 2)).deployedTo.includes(slug), false)
    assert.deepStrictEqual(await runs(id, "live"), 2)
  })

  it("that a trigger names, or the organisation, is not deleted", async () => {
    const { id, slug } = await environment()
    const routes = [{ workflowId: await workflow(1), environment: slug }]
    const trigger = await made("/triggers", { type: "webhook", name: unique(), routes })
    assert.deepStrictEqual(codeOf(await ask("DELETE", `/environments/${id}`)), [409, "CONFLICT"])
    assert.strictEqual((await ask("DELETE", `/triggers/${trigger.id}`)).status, 204)
    assert.strictEqual((await ask("DELETE", `/environments/${id}`)).status, 204)
  })
})

describe("a release", () => {
  it("has by default all published workflows; named ones must exist, each once", async () => {
    const a = await workflow("a")
    const all = await made("/releases", {})
    assert.isTrue(all.workflows.some((one: object) => JSON.stringify(one) === JSON.stringify(pin(a, 1))))
    assert.deepInclude(all, { status: "created", environment: null, environments: [], deployedAt: null })
    const next = await made("/releases", { workflows: [{ workflowId: a }] })
    assert.deepStrictEqual([next.version, next.name], [all.version + 1, `Release ${all.version + 1}`])
    assert.deepStrictEqual(next.workflows, [pin(a, 1)])
    for (const [workflows, path] of [
      [[pin(a, 2)], "workflows[0].version"],
      [[pin(a, 1), pin("wf_000000000000", 1)], "workflows[1].workflowId"],
      [[pin(a, 1), pin(a, 1)], "workflows[1].workflowId"]
    ] as const) {
      const refused = await ask("POST", "/releases", { workflows })
      assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, path])
    }
    const semver = unique()
    assert.strictEqual((await ask("POST", "/releases", { version: semver })).status, 422)
    assert.strictEqual((await made("/releases", { version: "2.0.1" })).version, "2.0.1")
    assert.deepStrictEqual(codeOf(await ask("POST", "/releases", { version: "2.0.1" })), [409, "CONFLICT"])
  })

  it("is deployed whole, promoted to another environment, and replaced there by the next", async () => {
    const [staging, production] = [await environment(), await environment({ protected: true })]
    const [a, b] = [await workflow("a1"), await workflow("b1")]
    const one = await made("/releases", { workflows: [pin(a, 1), pin(b, 1)], environment: staging.slug })
    assert.deepInclude(one, { status: "deployed", environment: staging.slug, environments: [staging.slug] })
    assert.deepStrictEqual([await runs(a, staging.slug), await runs(b, staging.slug)], ["a1", "b1"])
    assert.strictEqual(await runs(a, production.slug), "WORKFLOW_NOT_DEPLOYED")
    const promoted = done(await ask("POST", `/releases/${one.id}/deploy`, { environment: production.slug }))
    assert.deepStrictEqual(promoted.environments, [staging.slug, production.slug])
    assert.deepStrictEqual([await runs(a, production.slug), await runs(b, production.slug)], ["a1", "b1"])
    await publish(a, "a2")
    const two = await made("/releases", { workflows: [pin(a, 2)] })
    for (const { slug } of [staging, production]) {
      done(await ask("POST", `/releases/${two.id}/deploy`, { environment: slug }))
      assert.deepStrictEqual([await runs(a, slug), await runs(b, slug)], ["a2", "b1"])
      const status = done(await ask("GET", `/releases/${one.id}`)).status
      assert.strictEqual(status, slug === staging.slug ? "deployed" : "superseded")
    }
    const there = (await ask("GET", `/releases?environment=${production.slug}`)).body.data
    assert.deepStrictEqual(
      there.map(({ id }: { id: string }) => id),
      [two.id]
    )
    const stale = await ask("POST", `/releases/${two.id}/deploy`, { environment: staging.slug }, key, {
      "if-match": '"1"'
    })
    assert.deepStrictEqual(codeOf(stale), [409, "VERSION_MISMATCH"])
  })

  it("with one workflow that cannot be deployed deploys none, and is not created", async () => {
    const { slug } = await environment()
    const [a, b] = [await workflow("a"), await workflow("b")]
    const ready = await made("/releases", { workflows: [pin(a, 1), pin(b, 1)] })
    done(await ask("POST", `/workflows/${b}/archive`))
    const refused = await ask("POST", `/releases/${ready.id}/deploy`, { environment: slug })
    assert.deepStrictEqual(codeOf(refused), [409, "WORKFLOW_ARCHIVED"])
    const count = async () => (await ask("GET", "/releases?page_size=200")).body.data.length
    const before = await count()
    const named = { workflows: [pin(a, 1), pin(b, 1)], environment: slug }
    assert.deepStrictEqual(codeOf(await ask("POST", "/releases", named)), [409, "WORKFLOW_ARCHIVED"])
    assert.strictEqual(await count(), before)
    assert.strictEqual(await runs(a, slug), "WORKFLOW_NOT_DEPLOYED")
    assert.strictEqual((await ask("POST", `/releases/${ready.id}/deploy`, { environment: "nowhere" })).status, 422)
  })

  it("whose actions cannot be called any more is refused", async () => {
    const connector = `c-${unique()}`
    await ask("POST", "/connectors", acme({ slug: connector }))
    done(await ask("POST", `/connectors/${connector}/publish`, {}))
    const action = acme().actions[0]?.name ?? assert.fail("no action")
    const code = `export default async () => svc.connector["${connector}"].${action}({})`
    const { id } = await made("/workflows", { name: unique(), form: "code", code })
    done(await ask("POST", `/workflows/${id}/publish`, {}))
    const { slug } = await environment()
    const release = await made("/releases", { workflows: [pin(id, 1)], environment: slug })
    assert.strictEqual((await ask("DELETE", `/connectors/${connector}`)).status, 204)
    const refused = await ask("POST", `/releases/${release.id}/deploy`, { environment: slug })
    assert.deepStrictEqual([...codeOf(refused), refused.body.details[0].code], [409, "CONFLICT", "ACTION_NOT_CALLABLE"])
  })

  it("needs the permission of its environment", async () => {
    const [open, closed] = [await environment(), await environment({ protected: true })]
    const a = await workflow("a")
    const body = { workflows: [pin(a, 1)] }
    const operator = await newKey({ preset: "operator" })
    const released = await made("/releases", { ...body, environment: open.slug }, operator.key)
    for (const slug of [closed.slug, "live"]) {
      const refused = await ask("POST", `/releases/${released.id}/deploy`, { environment: slug }, operator.key)
      assert.deepStrictEqual([refused.status, refused.body.details[0].code], [403, "workflows:deploy_prod"])
    }
    done(await ask("POST", `/releases/${released.id}/deploy`, { environment: "test" }, operator.key))
    const settings = { preset: "custom", permissions: { settings: ["read", "update"], workflows: ["deploy_test"] } }
    const changer = await newKey(settings)
    const unprotected = await ask("PUT", `/environments/${closed.id}`, { protected: false }, changer.key)
    assert.deepStrictEqual([unprotected.status, unprotected.body.details[0].code], [403, "workflows:deploy_prod"])
  })
})

describe("a rollback", () => {
  it("restores exactly what the environment had before: versions, and what was not there", async () => {
    const { slug } = await environment()
    const [a, b, c, d] = [await workflow("a1"), await workflow("b1"), await workflow("c1"), await workflow("d1")]
    await publish(a, "a2")
    const all = async () => [await runs(a, slug), await runs(b, slug), await runs(c, slug), await runs(d, slug)]
    const one = await made("/releases", { workflows: [pin(a, 2), pin(b, 1), pin(d, 1)], environment: slug })
    const before = await all()
    await publish(a, "a3")
    const two = await made("/releases", { workflows: [pin(a, 3), pin(c, 1)], environment: slug })
    const after = await all()
    assert.deepStrictEqual(after, ["a3", "b1", "c1", "d1"])
    // A repetition keeps what was there before.
    done(await ask("POST", `/releases/${two.id}/deploy`, { environment: slug }))
    const wrong = await ask("POST", `/releases/${one.id}/rollback`, { environment: slug })
    assert.deepStrictEqual(codeOf(wrong), [409, "INVALID_STATE"])
    const answer = await ask("POST", `/releases/${two.id}/rollback`, { environment: slug })
    const back = done(answer)
    assert.strictEqual(answer.headers["location"], `/api/v1/releases/${back.id}`)
    assert.deepStrictEqual([answer.status, back.rollbackOf, back.status], [201, two.id, "deployed"])
    assert.deepStrictEqual(await all(), before)
    assert.strictEqual(done(await ask("GET", `/releases/${two.id}`)).status, "superseded")
    const again = done(await ask("POST", `/releases/${back.id}/rollback`, { environment: slug }))
    assert.deepStrictEqual([again.rollbackOf, await all()], [back.id, after])
    done(await ask("POST", `/workflows/${c}/archive`))
    const last = done(await ask("POST", `/releases/${again.id}/rollback`, { environment: slug }))
    assert.sameDeepMembers(last.workflows, [pin(a, 2), pin(b, 1), pin(d, 1)])
  })
})

describe("a review", () => {
  it("is by another caller than the creator, or whoever made or rotated either key", async () => {
    const { slug } = await environment({ requiresReview: true, autoDeploy: true })
    const author = await newKey()
    const child = await newKey({}, author.key)
    const grandchild = await newKey({}, child.key)
    const reviewer = await newKey()
    const a = await workflow("a")
    assert.strictEqual(await runs(a, slug), "WORKFLOW_NOT_DEPLOYED", "publishing deploys nothing there")
    const release = await made("/releases", { workflows: [pin(a, 1)] }, author.key)
    const deploy = (as: string) => ask("POST", `/releases/${release.id}/deploy`, { environment: slug }, as)
    for (const same of [author, child, grandchild, { key }])
      assert.deepStrictEqual(codeOf(await deploy(same.key)), [403, "REVIEW_REQUIRED"])
    const onB = await askB("POST", "/releases", { workflows: [pin(a, 1)], environment: slug }, author.key)
    assert.deepStrictEqual([onB.status, onB.body.code, onB.body.details[0].code], [403, "FORBIDDEN", "REVIEW_REQUIRED"])
    const victim = await newKey()
    const stolen = done(await ask("POST", `/api-keys/${victim.id}/rotate`, {}, author.key)).key
    assert.deepStrictEqual(codeOf(await deploy(stolen)), [403, "REVIEW_REQUIRED"])
    assert.strictEqual(await runs(a, slug), "WORKFLOW_NOT_DEPLOYED")
    assert.strictEqual(done(await deploy(reviewer.key)).deployedBy, reviewer.id)
    assert.strictEqual(await runs(a, slug), "a")
    const roll = (as: string) => ask("POST", `/releases/${release.id}/rollback`, { environment: slug }, as)
    assert.deepStrictEqual(codeOf(await roll(child.key)), [403, "REVIEW_REQUIRED"])
    assert.strictEqual((await roll(reviewer.key)).status, 201)
  })

  it("is not taken away by who would profit, and not by deleting, shadowing or publishing", async () => {
    const { id, slug } = await environment({ requiresReview: true })
    const [author, waiver, friend] = [await newKey(), await newKey(), await newKey()]
    const a = await workflow("a1")
    const release = (as: string) => made("/releases", { workflows: [pin(a, 1)] }, as)
    const deploy = (one: { id: string }, as: string) =>
      ask("POST", `/releases/${one.id}/deploy`, { environment: slug }, as)
    const pending = await release(author.key)
    const change = (body: object, as: string) => ask("PUT", `/environments/${id}`, body, as)
    assert.deepStrictEqual(codeOf(await change({ requiresReview: false }, author.key)), [403, "REVIEW_REQUIRED"])
    assert.deepStrictEqual(codeOf(await ask("DELETE", `/environments/${id}`, undefined, author.key)), [
      409,
      "INVALID_STATE"
    ])
    const shadow = { workflows: [pin(a, 1)], environment: slug }
    done(await askB("POST", "/environments", { name: "Shadow", slug }, author.key))
    assert.strictEqual((await askB("POST", "/releases", shadow, author.key)).status, 403)
    // Who takes it away has reviewed what others do, and nothing of its own.
    done(await change({ requiresReview: false, autoDeploy: true }, waiver.key))
    const own = await release(waiver.key)
    assert.deepStrictEqual(codeOf(await deploy(own, waiver.key)), [403, "REVIEW_REQUIRED"])
    await publish(a, "a2", waiver.key)
    assert.strictEqual(await runs(a, slug), "WORKFLOW_NOT_DEPLOYED")
    assert.deepStrictEqual(codeOf(await ask("DELETE", `/environments/${id}`, undefined, waiver.key)), [
      403,
      "REVIEW_REQUIRED"
    ])
    done(await deploy(pending, author.key))
    assert.strictEqual(await runs(a, slug), "a1")
    done(await deploy(own, friend.key))
    await publish(a, "a3", friend.key)
    assert.strictEqual(await runs(a, slug), "a3")
  })
})

describe("a customer's", () => {
  it("release is deployed for that customer only, over publications, until it is rolled back", async () => {
    const a = await workflow("a1")
    const answer = await askB("POST", "/releases", { workflows: [pin(a, 1)], environment: "live" })
    assert.deepInclude(done(answer), { customerId: customer, status: "deployed" })
    await publish(a, "a2")
    assert.deepStrictEqual(
      [await runs(a, "live"), await runs(a, "live", other), await runs(a, "live", customer)],
      ["a2", "a2", "a1"]
    )
    const { id } = answer.body.data
    const back = await askB("POST", `/releases/${id}/rollback`, { environment: "live" })
    assert.strictEqual(back.headers["location"], `/api/v1/tenants/${customer}/releases/${done(back).id}`)
    assert.strictEqual(await runs(a, "live", customer), "a2")
  })

  it("environment replaces the organisation's of that slug, for that customer", async () => {
    const { slug } = await environment({ autoDeploy: true })
    const a = await workflow("a1")
    const own = done(await askB("POST", "/environments", { name: "Own", slug }))
    assert.deepInclude(own, { customerId: customer, type: "custom" })
    const seen = async () => [await runs(a, slug), await runs(a, slug, other), await runs(a, slug, customer)]
    assert.deepStrictEqual(await seen(), ["a1", "a1", "WORKFLOW_NOT_DEPLOYED"])
    done(await askB("POST", "/releases", { workflows: [pin(a, 1)], environment: slug }))
    await publish(a, "a2")
    assert.deepStrictEqual(await seen(), ["a2", "a2", "a1"])
    done(await askB("PUT", `/environments/${own.id}`, { autoDeploy: true }))
    await publish(a, "a3")
    assert.deepStrictEqual(await seen(), ["a3", "a3", "a3"])
    const shown = (await environmentsIn(askB("GET", allEnvironments)))
      .filter((one) => one.slug === slug)
      .map((one) => one.customerId)
    assert.sameMembers(shown, [customer, null])
    assert.isFalse(
      (await environmentsIn(askB("GET", allEnvironments, undefined, key, other))).some(
        ({ customerId }) => customerId === customer
      )
    )
    assert.strictEqual((await askB("DELETE", `/environments/${own.id}`, undefined, key, other)).status, 404)
    assert.strictEqual((await askB("DELETE", `/environments/${own.id}`)).status, 204)
    await publish(a, "a4")
    assert.deepStrictEqual(await seen(), ["a4", "a4", "a4"])
  })

  it("own workflow is in its releases, not in the organisation's; the organisation's records are read only", async () => {
    const mine = await workflow("mine", { customerId: customer })
    const { id, slug } = await environment()
    const named = { workflows: [pin(mine, 1)], environment: slug }
    assert.strictEqual((await ask("POST", "/releases", named)).status, 422)
    assert.strictEqual((await askB("POST", "/releases", named, key, other)).status, 400)
    done(await askB("POST", "/releases", named))
    assert.strictEqual(await runs(mine, slug, customer), "mine")
    const shared = await made("/releases", { workflows: [pin(await workflow(1), 1)] })
    assert.strictEqual((await askB("GET", `/releases/${shared.id}`)).status, 200)
    const refusals = [
      await askB("PUT", `/environments/${id}`, { name: "x" }),
      await askB("DELETE", `/environments/${id}`),
      await askB("POST", `/releases/${shared.id}/deploy`, { environment: slug })
    ]
    for (const { body, status } of refusals) assert.deepStrictEqual([status, body.code], [403, "FORBIDDEN"])
    const narrow = await newKey({ customers: { mode: "subset", ids: [customer] } })
    assert.strictEqual((await ask("PUT", `/environments/${id}`, { name: "x" }, narrow.key)).status, 403)
    assert.strictEqual(
      (await ask("POST", "/releases", { workflows: shared.workflows, environment: slug }, narrow.key)).status,
      403
    )
    assert.strictEqual((await askB("GET", "/releases", undefined, narrow.key)).status, 200)
    assert.strictEqual((await askB("GET", "/releases", undefined, narrow.key, other)).status, 404)
  })
})

describe("a release of 200 workflows", () => {
  it("is deployed, replaced and rolled back", async () => {
    const { slug } = await environment()
    const model = await workflow("many")
    await svc.sql(`INSERT INTO workflows (id, org, space, name, slug, form, tier, retry, status, content_hash, published_version, created_by)
      SELECT 'wf_' || lpad(to_hex(n), 12, '0'), w.org, w.space, 'many' || n, 'many' || n, w.form, w.tier, w.retry, w.status,
        w.content_hash, 2, w.created_by FROM workflows w, generate_series(1, 200) n WHERE w.id = '${model}'`)
    await svc.sql(`INSERT INTO workflow_versions (org, workflow_id, number, form, source, script, content_hash, bindings, published_by)
      SELECT v.org, 'wf_' || lpad(to_hex(n), 12, '0'), number.number, v.form, v.source, v.script, v.content_hash, v.bindings, v.published_by
      FROM workflow_versions v, generate_series(1, 200) n, generate_series(1, 2) number WHERE v.workflow_id = '${model}'`)
    const pins = (version: number) =>
      Array.from({ length: 200 }, (_, n) => pin(`wf_${(n + 1).toString(16).padStart(12, "0")}`, version))
    const release = (body: object, target = "/releases") => made(target, { ...body, environment: slug })
    const one = await release({ workflows: pins(1) })
    assert.lengthOf(one.workflows, 200)
    const two = await release({ workflows: pins(2) })
    const back = await release({}, `/releases/${two.id}/rollback`)
    assert.deepStrictEqual(back.workflows, one.workflows)
    const [found] = await svc.sql<{ readonly n: number; readonly events: number }>(
      `SELECT count(*)::int AS n, (SELECT count(*)::int FROM domain_events) AS events FROM deployments WHERE environment = '${slug}' AND number = 1`
    )
    assert.strictEqual(found?.n, 200)
  })
})
