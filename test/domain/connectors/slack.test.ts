import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { slack as builtIn } from "../../../src/domain/connectors/slack/Slack.js"
import { makeCaller, type Caller, hasItems, callEveryAction, hasMembers } from "../../support/ConnectorCaller.js"
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
