/** The operations on embed tokens and their sessions. Specification: Embed. */
import { HttpApiSchema } from "@effect/platform"
import { Effect, Schema } from "effect"
import { EmbeddedConnections } from "../../../actors/management/embed/EmbeddedConnections.js"
import { EmbedSessionControl, EmbedSessionList } from "../../../actors/management/embed/EmbedSessionControl.js"
import { EmbedToken, EmbedTokens } from "../../../actors/management/embed/EmbedTokens.js"
import { MintToken } from "../../../actors/management/embed/MintedSession.js"
import { EmbedSession } from "../../../domain/access/EmbedSession.js"
import { EmbeddedSession } from "../../../domain/access/EmbeddedSession.js"
import { ConnectProgress } from "../../../domain/connection/ConnectSession.js"
import { auditAction } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"
import { bareValue, empty, page, record } from "../../operation/Output.js"
import { strictPayload } from "../../PayloadSchema.js"

/** Who opens sessions may connect accounts and see widgets, as the sessions may. */
const permit = { all: ["widgets:read", "connections:create"] } as const

const ofEmbedTokens = operationsOf({
  with: EmbedTokens,
  resource: "embed_session",
  sharing: "customers",
  permit,
  noStore: true
})

const ofEmbedSessions = operationsOf({
  parameters: { ems: "The id of the embed session." },
  with: EmbedSessionControl,
  resource: "embed_session",
  sharing: "customers"
})

const RefreshToken = Schema.Struct({
  token: Schema.optional(
    Schema.String.pipe(Schema.maxLength(200)).annotations({
      description: "the embed token to refresh, if the request is sent with an API key"
    })
  )
}).annotations({ identifier: "RefreshToken" })

const token = bareValue(EmbedToken)
const progress = record(ConnectProgress)

/** The operations of the group `embed`, in the order of the documents. */
export const embedOperations = [
  ofEmbedTokens({
    name: "embed.mint",
    summary: "Mint an embed token",
    description:
      "Opens a session for a person of a customer and answers with its first token, with which a page calls this API. The key must reach chosen customers, not all. The session may do what an end user may, the request asks for and the key may.",
    answers: { 201: "The session is opened. `token` is its first token." },
    example: {
      endOrgId: "cus_01k0000000000000000000000a",
      userId: "user-17",
      allowedOrigins: ["https://app.example.com"],
      expiresIn: 900
    },
    route: "POST /api/v1/embed/token",
    body: strictPayload(MintToken),
    output: bareValue(EmbedToken.annotations(HttpApiSchema.annotations({ status: 201 }))),
    audit: auditAction("embed.token.mint"),
    scoped: { widget: "record", connector: "record" },
    use: (tokens, { context, body }) =>
      Effect.tap(tokens.mint(context, body), ({ sessionId }) =>
        Effect.sync(() => {
          context.replyHeaders["location"] = `/api/v1/embed/sessions/${sessionId}`
        })
      )
  }),
  ofEmbedTokens({
    name: "embed.refresh",
    summary: "Refresh an embed token",
    description:
      "Answers with the next token of the session; the one before is valid for 60 seconds more. A token can be refreshed until five minutes after it expired, and until its session ends. Send the token as the bearer, or an API key and the token in the body.",
    answers: { 200: "The newer token." },
    example: { token: "emb_0000000000000000000000000000000000000000000" },
    route: "POST /api/v1/embed/token/refresh",
    body: strictPayload(RefreshToken),
    output: token,
    audit: auditAction("embed.token.refresh"),
    scoped: {},
    use: (tokens, { context, body }) => tokens.refresh(context, body.token),
    sessions: {
      permit: "anyCaller",
      refreshesTokens: true,
      with: EmbedTokens,
      output: token,
      use: (tokens, { context }) => tokens.refreshOwn(context)
    }
  }),
  ofEmbedSessions({
    name: "embed.sessions",
    summary: "List embed sessions",
    description: "Lists the sessions of customers that the key reaches, newest first, without their tokens.",
    answers: { 200: "A page of sessions." },
    parameters: { user_id: "Only records of this person.", widget_id: "Only sessions of this widget." },
    route: "GET /api/v1/embed/sessions",
    query: EmbedSessionList,
    output: page(EmbedSession.View),
    permit: "widgets:read",
    scoped: { widget: "list" },
    use: (sessions, { context, query }) => sessions.list(context, query)
  }),
  ofEmbedSessions({
    name: "embed.session",
    summary: "Read an embed session",
    description: "Reads a session: for whom it is, what it may do and when it ends.",
    answers: { 200: "The session." },
    route: "GET /api/v1/embed/sessions/:ems",
    output: record(EmbedSession.View),
    permit: "widgets:read",
    scoped: { widget: "record" },
    use: (sessions, { context, path }) => sessions.get(context, path.ems),
    sessions: {
      permit: "anyCaller",
      with: EmbedSessionControl,
      output: record(EmbeddedSession),
      use: (sessions, { context, path }) => sessions.getOwn(context, path.ems)
    }
  }),
  ofEmbedSessions({
    name: "embed.end",
    summary: "End an embed session",
    description: "Ends a session: within a second none of its tokens is accepted any more.",
    answers: { 204: "The session has ended." },
    route: "DELETE /api/v1/embed/sessions/:ems",
    output: empty,
    permit,
    scoped: { widget: "record" },
    use: (sessions, { context, path }) => sessions.end(context, path.ems)
  }),
  operationsOf({ with: EmbeddedConnections, resource: "connection", sharing: "customers" })({
    name: "embed.connectSession",
    summary: "Follow a connect session",
    description:
      "Tells how far a connect session has come, whose link a person has opened: a page that opened the link in a window asks until it has completed.",
    answers: { 200: "The status of the connect session." },
    parameters: { cs: "The id of the connect session." },
    route: "GET /api/v1/embed/connect-sessions/:cs",
    output: progress,
    permit: "connections:read",
    scoped: { connection: "record", connector: "record" },
    use: (connections, { context, path }) => connections.progress(context, path.cs),
    sessions: {
      with: EmbeddedConnections,
      output: progress,
      use: (connections, { context, path }) => connections.progress(context, path.cs)
    }
  })
] as const
