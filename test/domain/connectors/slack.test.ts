import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { slack as builtIn } from "../../../src/domain/connectors/slack/Slack.js"
import { makeCaller, type Caller, hasItems, callEveryAction, hasMembers } from "../../support/ConnectorCaller.js"
import { makeEntityCaller } from "../../support/EntityCaller.js"
import type { Fake } from "../../support/fakes/Fake.js"
import { slackFake } from "../../support/fakes/slack.js"

const slack = builtIn.definition()

let api: Fake
let acme: Caller

beforeAll(async () => {
  api = await slackFake()
  acme = makeCaller(slack, api.origin, { method: "token", credential: { apiKey: "xoxb-fake" } })
})
afterAll(() => api.close())

const ok = hasMembers({ ok: true })

describe("Slack", () => {
  it("answers every action", () =>
    callEveryAction(slack, acme, {
      testAuth: [{}, hasMembers({ team: "Acme", team_id: "T1" })],
      listConversations: [{ types: "public_channel", exclude_archived: true }, hasItems("channels", 5)],
      getConversation: [{ channel: "C1" }, ok],
      createConversation: [{ name: "new" }, hasMembers({ channel: { id: "C9", name: "new" } })],
      joinConversation: [{ channel: "C1" }, ok],
      inviteToConversation: [{ channel: "C1", users: "U1,U2" }, ok],
      archiveConversation: [{ channel: "C1" }, ok],
      openConversation: [{ users: "U1" }, hasMembers({ channel: { id: "D1" } })],
      listConversationMembers: [{ channel: "C1" }, hasItems("members", 3)],
      listMessages: [{ channel: "C1", limit: 2 }, hasItems("messages", 2)],
      listReplies: [{ channel: "C1", ts: "1.0" }, hasItems("messages", 1)],
      postMessage: [{ channel: "C1", text: "Hi", blocks: [{ type: "divider" }] }, hasMembers({ ts: "9.0" })],
      postEphemeral: [{ channel: "C1", user: "U1", text: "Psst" }, hasMembers({ message_ts: "9.1" })],
      scheduleMessage: [{ channel: "C1", post_at: 1795245000, text: "Later" }, hasMembers({ post_at: 1795245000 })],
      updateMessage: [{ channel: "C1", ts: "1.0", text: "Other" }, hasMembers({ text: "Other" })],
      deleteMessage: [{ channel: "C1", ts: "1.0" }, hasMembers({ ts: "1.0" })],
      addReaction: [{ channel: "C1", timestamp: "1.0", name: "wave" }, ok],
      listUsers: [{}, hasItems("members", 3)],
      getUser: [{ user: "U2" }, ok],
      findUserByEmail: [{ email: "u2@example.com" }, ok],
      lookUpRecipient: [{}, hasMembers({ ok: false })],
      getPermalink: [{ channel: "C0", message_ts: "1.0" }, ok]
    }))

  it("goes on by the cursor until it is empty", async () => {
    const pages = await acme.pages("listConversations", { limit: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [2, 2, 1]
    )
  })

  it("takes a 200 with ok: false for the failure that it is", async () => {
    const refused = await acme.failure("postMessage", { channel: "C404", text: "Hi" })
    assert.deepInclude(refused, {
      category: "provider",
      status: 200,
      code: "channel_not_found",
      message: "channel_not_found"
    })
    api.plan({ json: { ok: false, error: "internal_error" } })
    assert.deepInclude(await acme.failure("listUsers"), { category: "transient", code: "internal_error" })
    api.plan({ json: { ok: false, error: "org_login_required" } })
    assert.deepInclude(await acme.failure("listUsers"), { category: "transient", code: "org_login_required" })
  })

  it("tells a refused token as a failure of the credential, though it is a 200", async () => {
    const stranger = makeCaller(slack, api.origin, { method: "oauth", credential: { accessToken: "no" } })
    assert.deepInclude(await stranger.failure("testAuth"), { category: "auth", status: 200, code: "invalid_auth" })
  })

  it("waits as long as Slack says", async () => {
    api.plan({ status: 429, headers: { "retry-after": "30" }, json: { ok: false, error: "ratelimited" } })
    assert.deepInclude(await acme.failure("listUsers"), { category: "transient", retryAfterMillis: 30_000 })
  })
})

describe("Slack's messages as common ones", () => {
  const entity = (name: string) => makeEntityCaller(slack, acme, name)
  const message = { text: "Hi", blocks: [{ type: "divider" }], threadId: "1795245000.000100" }

  it("go to a channel by its id", async () => {
    const made = await entity("message").create({ ...message, channelId: "C1" })
    assert.deepInclude(made.record, { ...message, channelId: "C1", id: "9.0" })
    assert.isEmpty(made.warnings)
  })

  it("go to a person by id or by e-mail address", async () => {
    const byId = await entity("directMessage").create({ ...message, userId: "U2" })
    assert.deepInclude(byId.record, { ...message, id: "9.0" })
    await entity("directMessage").create({ text: "Ho", email: "u3@example.com" })
    const [opened, posted] = api.asked.slice(-2).map((asked) => asked.json())
    assert.deepStrictEqual(opened, { users: "U3" })
    assert.deepStrictEqual(posted, { channel: "D1", text: "Ho" })
    const refused = await entity("directMessage")
      .create({ text: "Ho", email: "nobody@example.com" })
      .then(
        () => "sent",
        (error: unknown) => String(error)
      )
    assert.include(refused, "users_not_found")
  })
})
