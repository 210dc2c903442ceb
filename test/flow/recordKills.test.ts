/**
 * A record is created once, or its creation is said to be uncertain, wherever the process is killed: before the provider is
 * asked, while it answers, and before and after its answer is committed; in runs and under an Idempotency-Key of the API.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { api, type Api } from "../support/api.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { readEveryRow } from "../support/everyRow.js"
import { eventually } from "../support/eventually.js"
import { sampled } from "../support/longForm.js"
import { promised } from "../support/promises.js"
import { proofs } from "../support/proofs.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { plainCrm, type PlainCrm, startPlainCrm } from "../support/unified/PlainCrm.js"

const place = makeDataDirectory()
const { dataDir } = place
/** The credential of the connections, which nothing may show. */
const canary = randomBytes(16).toString("hex")
/** Occurs in the name of every record that is created. */
const value = `Rec${randomBytes(8).toString("hex")}`

/** Whether the provider recognises a repetition by its key. */
const providers = [
  ["forgetful", false],
  ["recognising", true]
] as const

let service: Service
let client: Api
let workflow = ""
let output = ""
let names = 0
const crms = new Map<string, PlainCrm>()

const crmOf = (provider: string): PlainCrm => crms.get(provider) ?? assert.fail(provider)
const recordsOf = (provider: string, name: string) =>
  [...crmOf(provider).contacts.values()].filter(({ last }) => last === name)

const start = async (kill?: string) => {
  service = startService({
    dataDir,
    env: { SVC_EGRESS_ALLOW: "127.0.0.1/32" },
    ...(kill === undefined ? {} : { kill })
  })
  await service.ready
  client = api(dataDir)
}
/** Starts the service again, after it was killed or to be killed. */
const restart = async (kill?: string) => {
  service.kill(kill === undefined ? "SIGKILL" : "SIGTERM")
  await service.ended
  output += service.output()
  await start(kill)
}
const done = async (...args: Parameters<Api["call"]>) => {
  const answer = await client.call(...args)
  assert.oneOf(answer.status, [200, 201], JSON.stringify(answer.body))
  return answer.body.data
}

/** Where a process dies. `asked`: the requests that reach the provider before. */
type Death = { readonly name: string; readonly asked: number } & (
  | { readonly point: string }
  | { readonly at: "arrived" | "answering" }
)
const deaths: ReadonlyArray<Death> = [
  { name: "before the provider is asked", asked: 0, point: "beforeEffect:1" },
  { name: "when the provider has got the request and has done nothing", asked: 1, at: "arrived" },
  { name: "when the provider has created it and has not answered", asked: 1, at: "answering" },
  { name: "when the provider has answered", asked: 1, point: "effected:1" }
]
const deathsOfRuns: ReadonlyArray<Death> = [
  ...deaths,
  { name: "before the answer is committed", asked: 1, point: "beforeAppend:1" },
  { name: "when the run has ended", asked: 1, point: "terminal:1" }
]

/** Lets the process die there while `act` runs, and starts it again. */
const dying = async (death: Death, provider: string, act: () => Promise<unknown>) => {
  const crm = crmOf(provider)
  const before = crm.requests.length
  if ("point" in death) await restart(death.point)
  else {
    // What the provider does with the request of a process that is dead: nothing, or all of it.
    crm.gate[death.at] = async () => {
      delete crm.gate[death.at]
      if (death.at === "arrived") crm.replies.push({ status: 500 })
      service.kill("SIGKILL")
      await service.ended
    }
  }
  const acting = act().catch(() => undefined)
  await service.ended
  await acting
  assert.strictEqual(crm.requests.length - before, death.asked, "it died there")
  await restart()
}

const nextName = () => `${value}${(names += 1)}`

/** One record, or the word that it is uncertain; certain where the provider recognises the repetition. */
const assertOnce = (provider: string, isRecognising: boolean, name: string, code: string | null) => {
  const { length } = recordsOf(provider, name)
  promised("a record is lost or doubled", () =>
    code === null ? assert.strictEqual(length, 1, "it was created once") : assert.isAtMost(length, 1)
  )
  if (code === null) return
  assert.strictEqual(code, "UNCERTAIN_WRITE")
  assert.isFalse(isRecognising, "a provider that recognises a repetition leaves no doubt")
}

beforeAll(async () => {
  await prepareData(dataDir)
  await start()
  for (const [slug, isRecognising] of providers) {
    const crm = await startPlainCrm()
    crms.set(slug, crm)
    const body = plainCrm(slug, { isRecognising })
    await done("POST", "/api/v1/connectors", body)
    await done("POST", `/api/v1/connectors/${slug}/publish`, {})
    await done("POST", "/api/v1/connections", {
      connector: slug,
      customerId: client.dev.customerId,
      credential: { apiKey: canary },
      config: { base: crm.url }
    })
  }
  workflow = await client.workflow(
    "creates",
    "standard",
    `export default async (ctx) => {
      const { name, provider } = ctx.input
      const made = await svc.unified.crm.contact.create({ lastName: name }, { provider })
        .catch((error) => ({ code: error.code }))
      return { code: made.code ?? null, name: made.data?.lastName ?? null }
    }`
  )
})
afterAll(async () => {
  await proofs(service)
  for (const crm of crms.values()) await crm.stop()
  place.remove()
})

/** Creates a contact by the API, always under the same key. */
const post = (provider: string, name: string) =>
  client.call(
    "POST",
    `/api/v1/unified/crm/contact?provider=${provider}`,
    { lastName: name },
    { "x-end-org-id": client.dev.customerId, "idempotency-key": `post-${name}` }
  )

describe.each(providers)("A creation at a %s provider", (provider, isRecognising) => {
  it.each(sampled(deathsOfRuns, 2, isRecognising ? 1 : 0))("of a run that is killed $name", async (death) => {
    const name = nextName()
    const key = `run-${name}`
    const headers = { "x-end-org-id": client.dev.customerId, "idempotency-key": key }
    let id: string | undefined
    await dying(death, provider, async () => {
      id = (await client.run(workflow, { name, provider }, headers)).body?.executionId
      await service.ended
    })
    id ??= (await client.run(workflow, { name, provider }, headers)).body.executionId
    const ended = await client.ended(id ?? assert.fail("no run"), 60_000)
    assert.strictEqual(ended.status, "completed", JSON.stringify(ended))
    assertOnce(provider, isRecognising, name, ended.output.code)
  })

  it.each(sampled(deaths, 2, isRecognising ? 0 : 1))(
    "under an Idempotency-Key of the API that is killed $name",
    async (death) => {
      const name = nextName()
      const create = () => post(provider, name)
      await dying(death, provider, create)
      assert.strictEqual((await create()).body.code, "IDEMPOTENCY_IN_PROGRESS")
      const database = await connectEmbedded(dataDir)
      await database.query(
        "UPDATE idempotent_replies SET expires_at = now() - interval '1 second' WHERE length(sealed) = 0"
      )
      await database.end()
      for (let repetition = 0; repetition < 2; repetition += 1) {
        const answer = await create()
        assert.oneOf(answer.status, [201, 409], JSON.stringify(answer.body))
        assertOnce(provider, isRecognising, name, answer.status === 201 ? null : answer.body.code)
      }
    }
  )

  it("whose reply is stored and lost gets the reply again, also after a kill", async () => {
    const name = nextName()
    const create = () => post(provider, name)
    const first = await create()
    assert.strictEqual(first.status, 201, JSON.stringify(first.body))
    await restart()
    const again = await create()
    promised("a record is doubled", () => assert.lengthOf(recordsOf(provider, name), 1))
    assert.deepStrictEqual([again.status, again.body.data.id], [201, first.body.data.id])
  })
})

it("shows the credential nowhere, and no value of a record in the audit trail and the log", async () => {
  await eventually(
    async () => (await client.call("GET", "/api/v1/audit/verify")).body?.data,
    (body) => body?.ok === true && body.unsealed === 0
  )
  const rows = await readEveryRow(dataDir)
  const log = output + service.output()
  assert.isAbove(log.length, 0)
  const { body } = await client.call("GET", "/api/v1/audit?page_size=200")
  promised("a credential or a value is in the clear", () => {
    for (const [table, text] of rows) {
      assert.isFalse(text.includes(canary) || text.includes(Buffer.from(canary).toString("hex")), table)
      if (table.includes("audit")) assert.notInclude(text, value, table)
    }
    assert.notInclude(log, canary)
    assert.notInclude(log, value)
    assert.notInclude(JSON.stringify(body), value)
  })
  assert.include(JSON.stringify(body), "unified")
})
