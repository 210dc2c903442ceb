/** Slack's Web API: every answer has status 200, also a refusal; the last page has an empty cursor. */
import { type FakeRequest, startFake, type Fake, type Reply, slice } from "./Fake.js"

const ok = (members: Record<string, unknown> = {}): Reply => ({ json: { ok: true, ...members } })
const no = (error: string, more: Record<string, unknown> = {}): Reply => ({ json: { ok: false, error, ...more } })

const channels = ["general", "random", "dev", "sales", "help"].map((name, n) => ({
  id: `C${n}`,
  name,
  is_archived: false
}))
const users = [1, 2, 3].map((n) => ({ id: `U${n}`, name: `u${n}`, profile: { email: `u${n}@example.com` } }))
const messages = [1, 2, 3].map((n) => ({ type: "message", ts: `${n}.0`, user: "U1", text: `Message ${n}` }))

const page = (asked: FakeRequest, member: string, items: ReadonlyArray<unknown>): Reply => {
  const cursor = asked.query.get("cursor") ?? ""
  const from = cursor === "" ? 0 : Number(Buffer.from(cursor, "base64").toString().replace("next:", ""))
  const size = Number(asked.query.get("limit") ?? 100)
  const { more, page } = slice(items, from, size)
  const next_cursor = more ? Buffer.from(`next:${from + size}`).toString("base64") : ""
  return ok({ [member]: page, response_metadata: { next_cursor } })
}

/** A write with a JSON body to an existing channel. */
const write =
  (answer: (sent: Record<string, unknown>) => Record<string, unknown>) =>
  (asked: FakeRequest): Reply => {
    if (asked.headers["content-type"] !== "application/json; charset=utf-8") {
      return no("invalid_post_type")
    }
    const sent = asked.json()
    const { channel } = sent
    const known =
      channel === undefined || channel === "D1" || channels.some(({ id, name }) => id === channel || name === channel)
    return known ? ok(answer(sent)) : no("channel_not_found")
  }

const channel = channels[0]

export const slackFake = (): Promise<Fake> =>
  startFake({
    guard: (asked) => (asked.headers.authorization === "Bearer xoxb-fake" ? null : no("invalid_auth")),
    routes: {
      "GET /api/auth.test": () => ok({ team: "Acme", team_id: "T1", user: "svc", user_id: "U9", url: "https://a/" }),
      "GET /api/conversations.list": (asked) => page(asked, "channels", channels),
      "GET /api/conversations.info": (asked) => {
        const found = channels.find(({ id }) => id === asked.query.get("channel"))
        return found === undefined ? no("channel_not_found") : ok({ channel: found })
      },
      "GET /api/conversations.members": (asked) => page(asked, "members", ["U1", "U2", "U3"]),
      "GET /api/conversations.history": (asked) => page(asked, "messages", messages),
      "GET /api/conversations.replies": (asked) => page(asked, "messages", messages.slice(0, 1)),
      "POST /api/conversations.create": write((sent) => ({ channel: { id: "C9", name: sent["name"] } })),
      "POST /api/conversations.join": write(() => ({ channel })),
      "POST /api/conversations.invite": write(() => ({ channel })),
      "POST /api/conversations.archive": write(() => ({})),
      "POST /api/conversations.open": (asked) =>
        users.some(({ id }) => id === asked.json()["users"]) ? ok({ channel: { id: "D1" } }) : no("user_not_found"),
      "POST /api/chat.postMessage": write((sent) => ({
        channel: sent["channel"],
        ts: "9.0",
        message: {
          type: "message",
          ts: "9.0",
          text: sent["text"],
          ...Object.fromEntries(
            ["blocks", "attachments", "thread_ts"].flatMap((name) => (name in sent ? [[name, sent[name]]] : []))
          )
        }
      })),
      "POST /api/chat.postEphemeral": write(() => ({ message_ts: "9.1" })),
      "POST /api/chat.scheduleMessage": write((sent) => ({ scheduled_message_id: "Q1", post_at: sent["post_at"] })),
      "POST /api/chat.update": write((sent) => ({ ts: sent["ts"], text: sent["text"] })),
      "POST /api/chat.delete": write((sent) => ({ ts: sent["ts"] })),
      "POST /api/reactions.add": write(() => ({})),
      "GET /api/users.list": (asked) => page(asked, "members", users),
      "GET /api/users.info": (asked) => {
        const user = users.find(({ id }) => id === asked.query.get("user"))
        return user === undefined ? no("user_not_found") : ok({ user })
      },
      "GET /api/users.lookupByEmail": (asked) => {
        if (!asked.query.has("email")) return no("invalid_arguments")
        const user = users.find(({ profile }) => profile.email === asked.query.get("email"))
        return user === undefined ? no("users_not_found") : ok({ user })
      },
      "GET /api/chat.getPermalink": () => ok({ channel: "C0", permalink: "https://acme.slack.com/archives/C0/p10" })
    }
  })
