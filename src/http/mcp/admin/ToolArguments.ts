/** The arguments that the tools of the admin gateway have in common. */
import type { JsonObject } from "../../../domain/Json.js"
import { connectionStatuses } from "../../../domain/connection/Connection.js"
import { ConnectorKind } from "../../../domain/connector/Definition.js"
import type { ToolArgument } from "../OperationTool.js"

const argument = (schema: JsonObject): ToolArgument => ({ schema, isRequired: true })

/** A text. */
export const text = (description: string): ToolArgument => argument({ type: "string", description })

/** One of some texts. */
export const choice = (choices: ReadonlyArray<string>, description: string): ToolArgument =>
  argument({ type: "string", enum: [...choices], description })

export const integer = (description: string): ToolArgument => argument({ type: "integer", description })
export const boolean = (description: string): ToolArgument => argument({ type: "boolean", description })
export const object = (description: string): ToolArgument => argument({ type: "object", description })
export const texts = (description: string): ToolArgument =>
  argument({ type: "array", items: { type: "string" }, description })

/** An object, or a text: a URL, or the document itself. */
export const source: ToolArgument = argument({
  type: ["object", "string"],
  description: "The document as an object, its text in JSON or YAML, or its URL."
})

/** The same argument, which a call may leave out. */
export const optional = ({ schema }: ToolArgument): ToolArgument => ({ schema, isRequired: false })

export const connector = text("The connector's slug.")
export const connectorVersion = optional(
  text("A published version, as in 1.2.0. Left out: the draft, or the newest version without one.")
)
export const cursor = optional(text("The nextCursor of the page before."))
export const limit = optional(integer("The most records of a page, up to 200."))
export const connectionId = text("The connection's id, as in conn_….")
export const customerId = text("The customer's id, as in cus_…, or ref: and the customer's external reference.")
export const revision = optional(
  integer("The `revision` that was read: if there has been another change since, the call is refused.")
)
export const kind = optional(choice(ConnectorKind.literals, "Only connectors of this kind."))
export const status = optional(choice(connectionStatuses, "Only connections in this state."))
