/** The guide of events is correct: its examples are sent in their order. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { blocksOf } from "../support/guide.js"

let flow: string
let base: string
beforeAll(async () => {
  await startSharedCalls()
  base = (await svc.listen()).baseUrl
  flow = await workflow("return ctx.input")
})
afterAll(() => stopCalls())

const blocks = blocksOf("docs/events.md").filter(({ what }) => what !== "")
/** The webhook of the last trigger that the guide created. */
let webhook: { readonly url: string; readonly accessKey: string }

const send = async (body: string) => {
  const answer = await fetch(`${base}${new URL(webhook.url).pathname}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-svc-access-key": webhook.accessKey }
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

describe("docs/events.md", () => {
  it("has examples", () => assert.isAbove(blocks.length, 6))

  it.each(blocks)("$place", async ({ text, what }) => {
    const [method = "", path = ""] = what.split(" ")
    const sent = text.replaceAll("wf_000000000000", flow)
    if (method === "WEBHOOK") {
      const first = await send(sent)
      assert.deepStrictEqual([first.status, first.body.status], [202, "accepted"])
      const second = await send(sent)
      assert.deepStrictEqual([second.status, second.body], [200, { eventId: first.body.eventId, status: "duplicate" }])
      return
    }
    const { body, status, text: answer } = await svc.ask(method, path, { key: svc.first.key, body: JSON.parse(sent) })
    assert.oneOf(status, [200, 201], answer)
    if (typeof body.data.webhook?.url === "string" && typeof body.data.accessKey === "string")
      webhook = { url: body.data.webhook.url, accessKey: body.data.accessKey }
  })
})
