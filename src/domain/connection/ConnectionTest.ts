/** What a test of a connection finds: a call of its provider with its credential. Contract: connection record. */
import { Schema } from "effect"
import { Connection } from "./Connection.js"

/** The outcome of a test. `message`: why it failed. */
export const ConnectionTest = Schema.Struct({
  ok: Schema.Boolean,
  message: Schema.NullOr(Schema.String),
  accountLabel: Schema.NullOr(Schema.String),
  connection: Connection.View
}).annotations({ identifier: "ConnectionTest" })
export type ConnectionTest = typeof ConnectionTest.Type
