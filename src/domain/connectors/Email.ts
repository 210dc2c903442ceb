/** E-mail through any SMTP server. `connector/MailMessage.ts` builds the message from the request's body. */
import { type ConnectorManifest, defineBuiltIn } from "../connector/Definition.js"
import type { JsonObject } from "../Json.js"
import {
  type ActionManifest,
  args,
  withDescription,
  fromArgs,
  list,
  pairs,
  record,
  text,
  texts
} from "./SchemaShorthands.js"

const one: JsonObject = { anyOf: [text, args({ name: text, address: text }, "address")] }
const several: JsonObject = { anyOf: [text, args({ name: text, address: text }, "address"), list(one)] }

const mail = {
  from: withDescription("ada@example.com, Ada Byron <ada@example.com>, or name and address", one),
  to: several,
  cc: several,
  bcc: several,
  replyTo: several,
  subject: text,
  text,
  html: text,
  headers: { type: "object", additionalProperties: text },
  attachments: list(args({ filename: text, contentType: text, base64: text }, "filename", "base64"))
}

/** The connection's transport security, which the transport reads. */
const security = { security: "{{connection.config.security}}" }
/** SMTP reply codes of temporary refusals. */
const response = { transientCodes: ["421", "450", "451", "452", "454", "455"] }

const sendEmail = {
  name: "sendEmail",
  title: "Send an e-mail",
  request: { method: "SEND", path: "/", headers: security, body: fromArgs(...Object.keys(mail)) },
  response,
  // It becomes a part of the Message-ID, by which clients and many servers recognise repetitions.
  idempotency: { header: "Message-Key", maxLength: 64 },
  inputSchema: { ...args(mail, "from", "to"), anyOf: [{ required: ["text"] }, { required: ["html"] }] },
  outputSchema: record({ messageId: text, accepted: texts, rejected: texts, response: text }, "messageId", "accepted"),
  timeoutMs: 60_000,
  mocks: [
    {
      name: "sent",
      output: {
        messageId: "<0123456789abcdef@example.com>",
        accepted: ["bob@example.com"],
        rejected: [],
        response: "250 2.0.0 Ok: queued"
      }
    }
  ]
} satisfies ActionManifest

const manifest: ConnectorManifest = {
  svcConnector: 1,
  slug: "email",
  name: "E-mail (SMTP)",
  description: "Sends e-mail through an SMTP server.",
  kind: "email",
  version: "1.1.0",
  transport: "smtp",
  baseUrl: "smtp://{{connection.config.host}}:{{connection.config.port ?? 587}}",
  connectionConfig: {
    type: "object",
    properties: {
      host: { type: "string", title: "Server", pattern: "^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$" },
      port: { type: "integer", title: "Port", description: "587, where it is left out", minimum: 1, maximum: 65_535 },
      security: {
        type: "string",
        title: "Security",
        description: "starttls, where it is left out: plain at first, then TLS or nothing. tls: from the first byte",
        enum: ["starttls", "tls", "none"]
      },
      from: { type: "string", title: "Sender", description: "Of messages that name none: Ada Byron <ada@example.com>" }
    },
    required: ["host"]
  },
  auth: [
    { id: "login", type: "basic", title: "User name and password", default: true },
    { id: "none", type: "none", title: "No login, for a relay that knows this service" }
  ],
  test: { action: "verify", accountLabel: "$.server" },
  rateLimit: { scope: "connection", concurrency: 5 },
  // A message without a confirmation may have been sent, so only one that never reached the server is retried.
  retry: { on: [421, 450, 451, 452] },
  actions: [
    {
      name: "verify",
      title: "Log in and leave again",
      request: { method: "VERIFY", path: "/", headers: security },
      response,
      inputSchema: args(),
      outputSchema: record({ server: text }, "server"),
      mocks: [{ name: "ok", output: { server: "smtp.example.com" } }]
    },
    {
      ...sendEmail,
      version: 2,
      description: "Absent, from is the sender of the connection's config.",
      request: {
        ...sendEmail.request,
        body: { ...sendEmail.request.body, from: "{{args.from ?? connection.config.from}}" }
      },
      inputSchema: { ...args(mail, "to"), anyOf: [{ required: ["text"] }, { required: ["html"] }] }
    }
  ],
  entities: [
    {
      name: "message",
      unified: "messaging/direct-message",
      create: "sendEmail",
      unifiedFields: pairs({ messageId: "id", "accepted[0]": "email" }),
      // The subject and other headers are remote fields.
      unifiedFieldsOut: pairs({
        email: "to",
        text: "text",
        attachments: "attachments",
        threadId: 'headers["In-Reply-To"]'
      })
    }
  ]
}

export const email = defineBuiltIn(manifest, [{ ...sendEmail, version: 1 }])
