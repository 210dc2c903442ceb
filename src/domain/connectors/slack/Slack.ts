/** Slack, Web API and Events API. https://docs.slack.dev/reference/methods */
import { defineBuiltIn } from "../../connector/Definition.js"
import { type EventManifest, flag, integer, list, pairs, record, text } from "../SchemaShorthands.js"
import { defineSlackList, defineSlackRead, defineSlackWrite, slackResponse } from "./Methods.js"

const channel = record({ id: text, name: text, is_private: flag, is_archived: flag, num_members: integer }, "id")
const message = record({ type: text, ts: text, user: text, text, thread_ts: text }, "ts")
const user = record({ id: text, name: text, real_name: text, deleted: flag, is_bot: flag, profile: record() }, "id")

const general = { id: "C012AB3CD", name: "general", is_private: false, is_archived: false, num_members: 4 }
const hello = { type: "message", ts: "1795245000.000100", user: "W012A3CDE", text: "Hello" }
const spengler = {
  id: "W012A3CDE",
  name: "spengler",
  real_name: "Egon Spengler",
  deleted: false,
  is_bot: false,
  profile: { email: "spengler@example.com" }
}

const blocks = list(record({ type: text }, "type"))
const content = { text, blocks, attachments: list(record()) }

const readMessage = [
  ...pairs({
    ts: "id",
    channel: "channelId",
    "message.text": "text",
    "message.blocks": "blocks",
    "message.attachments": "attachments",
    "message.thread_ts": "threadId"
  }),
  { from: "ts", to: "sentAt", dateFormat: "unix" as const },
  { from: "message.ts", to: "remoteCreatedAt", dateFormat: "unix" as const }
]
const writtenMessage = pairs({ text: "text", blocks: "blocks", threadId: "thread_ts", attachments: "attachments" })

const event = (id: string, title: string): EventManifest => ({
  id,
  title,
  delivery: "webhook",
  webhook: "events",
  payloadSchema: record({ team_id: text, event_id: text, event_time: integer, event: record({ type: text }, "type") })
})

export const slack = defineBuiltIn({
  svcConnector: 1,
  slug: "slack",
  name: "Slack",
  description: "Channels, messages, reactions and people of a Slack workspace.",
  kind: "chat",
  version: "1.1.0",
  domain: "slack.com",
  baseUrl: "https://slack.com/api",
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Slack app",
      default: true,
      pkce: false,
      authorizationUrl: "https://slack.com/oauth/v2/authorize",
      tokenUrl: "https://slack.com/api/oauth.v2.access",
      scopes: [
        "app_mentions:read",
        "channels:history",
        "channels:join",
        "channels:manage",
        "channels:read",
        "chat:write",
        "groups:history",
        "groups:read",
        "groups:write",
        "im:history",
        "im:write",
        "mpim:write",
        "reactions:read",
        "reactions:write",
        "users:read",
        "users:read.email"
      ],
      scopeSeparator: ",",
      clientAuth: "body",
      // With token rotation, tokens expire after twelve hours and refresh tokens are used once. Without it, none expires.
      refresh: { rotates: true },
      tokenConfig: { teamId: "$.team.id", botUserId: "$.bot_user_id" }
    },
    {
      id: "token",
      type: "api_key",
      title: "Bot or user token",
      fields: [{ name: "apiKey", title: "Token", secret: true, pattern: "^xox[a-z]" }]
    }
  ],
  test: { action: "testAuth", accountLabel: "$.team", config: { teamId: "$.team_id" } },
  // Slack counts per method and workspace (20 to 100 a minute) and sends only Retry-After. Apps sold outside its
  // marketplace can read histories and replies once a minute, 15 messages at a time.
  rateLimit: { scope: "connection", headers: { retryAfter: "retry-after" } },
  actions: [
    defineSlackRead({
      name: "testAuth",
      title: "Tell whose token it is",
      method: "auth.test",
      output: { team: text, team_id: text, user: text, user_id: text, url: text },
      mock: { team: "Acme", team_id: "T12345678", user: "svc", user_id: "W12345678", url: "https://acme.slack.com/" }
    }),
    defineSlackList({
      name: "listConversations",
      title: "List channels",
      method: "conversations.list",
      input: { types: text, exclude_archived: flag, team_id: text },
      items: "channels",
      item: channel,
      most: 200,
      mock: general
    }),
    defineSlackRead({
      name: "getConversation",
      title: "Get a channel",
      method: "conversations.info",
      input: { channel: text, include_num_members: flag },
      required: ["channel"],
      output: { channel },
      mock: { channel: general }
    }),
    defineSlackWrite({
      name: "createConversation",
      title: "Create a channel",
      method: "conversations.create",
      input: { name: text, is_private: flag, team_id: text },
      required: ["name"],
      output: { channel },
      mock: { channel: general }
    }),
    defineSlackWrite({
      name: "joinConversation",
      title: "Join a channel",
      method: "conversations.join",
      input: { channel: text },
      required: ["channel"],
      output: { channel },
      mock: { channel: general }
    }),
    defineSlackWrite({
      name: "inviteToConversation",
      title: "Invite people to a channel",
      description: "users: ids with commas between them.",
      method: "conversations.invite",
      input: { channel: text, users: text },
      required: ["channel", "users"],
      output: { channel },
      mock: { channel: general }
    }),
    defineSlackWrite({
      name: "archiveConversation",
      title: "Archive a channel",
      method: "conversations.archive",
      input: { channel: text },
      required: ["channel"],
      output: {},
      mock: {}
    }),
    defineSlackWrite({
      name: "openConversation",
      title: "Open a direct message",
      method: "conversations.open",
      input: { channel: text, users: text, return_im: flag },
      output: { channel: record({ id: text }, "id") },
      mock: { channel: { id: "D069C7QFK" } }
    }),
    defineSlackList({
      name: "listConversationMembers",
      title: "List a channel's members",
      method: "conversations.members",
      input: { channel: text },
      required: ["channel"],
      items: "members",
      item: text,
      most: 200,
      mock: "W012A3CDE"
    }),
    defineSlackList({
      name: "listMessages",
      title: "List a channel's messages",
      method: "conversations.history",
      input: { channel: text, oldest: text, latest: text, inclusive: flag },
      required: ["channel"],
      items: "messages",
      item: message,
      most: 100,
      mock: hello
    }),
    defineSlackList({
      name: "listReplies",
      title: "List a thread's messages",
      method: "conversations.replies",
      input: { channel: text, ts: text, oldest: text, latest: text },
      required: ["channel", "ts"],
      items: "messages",
      item: message,
      most: 100,
      mock: hello
    }),
    defineSlackWrite({
      name: "postMessage",
      title: "Post a message",
      method: "chat.postMessage",
      input: {
        channel: text,
        ...content,
        thread_ts: text,
        reply_broadcast: flag,
        mrkdwn: flag,
        unfurl_links: flag,
        unfurl_media: flag,
        metadata: record()
      },
      required: ["channel"],
      output: { channel: text, ts: text, message },
      mock: { channel: "C012AB3CD", ts: hello.ts, message: hello }
    }),
    defineSlackWrite({
      name: "postEphemeral",
      title: "Post a message that one person sees",
      method: "chat.postEphemeral",
      input: { channel: text, user: text, ...content, thread_ts: text },
      required: ["channel", "user"],
      output: { message_ts: text },
      mock: { message_ts: hello.ts }
    }),
    defineSlackWrite({
      name: "scheduleMessage",
      title: "Schedule a message",
      method: "chat.scheduleMessage",
      input: { channel: text, post_at: integer, ...content, thread_ts: text },
      required: ["channel", "post_at"],
      output: { channel: text, scheduled_message_id: text, post_at: integer },
      mock: { channel: "C012AB3CD", scheduled_message_id: "Q1298393284", post_at: 1795245000 }
    }),
    defineSlackWrite({
      name: "updateMessage",
      title: "Change a message",
      method: "chat.update",
      input: { channel: text, ts: text, ...content },
      required: ["channel", "ts"],
      output: { channel: text, ts: text, text },
      mock: { channel: "C012AB3CD", ts: hello.ts, text: "Hello" }
    }),
    defineSlackWrite({
      name: "deleteMessage",
      title: "Delete a message",
      method: "chat.delete",
      input: { channel: text, ts: text },
      required: ["channel", "ts"],
      output: { channel: text, ts: text },
      mock: { channel: "C012AB3CD", ts: hello.ts }
    }),
    defineSlackWrite({
      name: "addReaction",
      title: "React to a message",
      method: "reactions.add",
      input: { channel: text, timestamp: text, name: text },
      required: ["channel", "timestamp", "name"],
      output: {},
      mock: {}
    }),
    defineSlackList({
      name: "listUsers",
      title: "List people",
      method: "users.list",
      input: { include_locale: flag, team_id: text },
      items: "members",
      item: user,
      most: 200,
      mock: spengler
    }),
    defineSlackRead({
      name: "getUser",
      title: "Get a person",
      method: "users.info",
      input: { user: text },
      required: ["user"],
      output: { user },
      mock: { user: spengler }
    }),
    defineSlackRead({
      name: "findUserByEmail",
      title: "Find a person by e-mail address",
      method: "users.lookupByEmail",
      input: { email: text },
      required: ["email"],
      output: { user },
      mock: { user: spengler }
    }),
    {
      ...defineSlackRead({
        name: "lookUpRecipient",
        title: "Find a person by e-mail address, if there is one",
        method: "users.lookupByEmail",
        input: { email: text },
        output: { user },
        mock: { user: spengler }
      }),
      // Slack's word for a missing address.
      response: {
        ...slackResponse,
        errorWhen: {
          all: [
            { path: "ok", op: "eq", value: false },
            { path: "error", op: "neq", value: "invalid_arguments" }
          ]
        }
      }
    },
    defineSlackRead({
      name: "getPermalink",
      title: "Get a message's permanent link",
      method: "chat.getPermalink",
      input: { channel: text, message_ts: text },
      required: ["channel", "message_ts"],
      output: { channel: text, permalink: text },
      mock: { channel: "C012AB3CD", permalink: "https://acme.slack.com/archives/C012AB3CD/p1795245000000100" }
    })
  ],
  events: [
    event("message", "Message posted or changed"),
    event("app_mention", "App mentioned"),
    event("reaction_added", "Reaction added"),
    event("reaction_removed", "Reaction removed"),
    event("channel_created", "Channel created"),
    event("channel_rename", "Channel renamed"),
    event("member_joined_channel", "Somebody joined a channel"),
    event("member_left_channel", "Somebody left a channel"),
    event("team_join", "Somebody joined the workspace"),
    event("app_uninstalled", "App removed from the workspace")
  ],
  webhooks: [
    {
      id: "events",
      type: "app",
      eventKey: "$.event.type",
      account: { payload: "$.team_id", connection: "$.config.teamId" },
      verify: { preset: "slack", secretName: "SLACK_SIGNING_SECRET" },
      challenge: { when: { path: "type", op: "eq", value: "url_verification" }, respond: "$.challenge" }
    }
  ],
  entities: [
    {
      name: "message",
      unified: "messaging/channel-message",
      create: "postMessage",
      unifiedFields: readMessage,
      unifiedFieldsOut: [
        // Slack takes a name as well as an id.
        { from: "channelId", to: "channel", transforms: [{ fn: "COALESCE", args: ["channelName"] }] },
        ...writtenMessage
      ]
    },
    {
      name: "directMessage",
      unified: "messaging/direct-message",
      create: ["lookUpRecipient", "openConversation", "postMessage"],
      args: {
        create: [
          { email: "{{record.email}}" },
          { users: "{{record.user ?? results[0].user.id}}" },
          { channel: "{{results[1].channel.id}}" }
        ]
      },
      unifiedFields: readMessage.filter(({ to }) => to !== "channelId"),
      unifiedFieldsOut: [...pairs({ userId: "user", email: "email" }), ...writtenMessage]
    }
  ]
})
