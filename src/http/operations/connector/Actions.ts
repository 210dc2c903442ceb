/** The operations on the actions of a connector's draft, and on their versions. Specification: Surface C. */
import { Schema } from "effect"
import { PartList } from "../../../actors/management/connector/ConnectorPartReads.js"
import type { JsonObject } from "../../../domain/Json.js"
import { empty, newRecord, page, record } from "../../operation/Output.js"
import {
  ActionPart,
  ActionSummary,
  ActionVersionView,
  newPartReply,
  partReply,
  PatchBody,
  readReply,
  removedReply
} from "./PartSchemas.js"
import { changesOfParts, readsOfParts } from "./PartRows.js"

const parameters = { act: "The name of the action." }

const ofReads = readsOfParts(parameters)
const ofChanges = changesOfParts(parameters)

const ActionQuery = Schema.Struct({
  version: Schema.optional(
    Schema.NumberFromString.pipe(Schema.int(), Schema.positive()).annotations({
      jsonSchema: { type: "integer", minimum: 1 }
    })
  )
})

const placeOf = (connector: string, { name }: JsonObject): string => `/api/v1/connectors/${connector}/actions/${name}`

/** The operations of the group `actions`, in the order of the documents. */
export const actionsOperations = [
  ofReads({
    name: "actions.list",
    summary: "List the actions of a connector",
    description: "Lists the actions of the draft, or of the newest version without one, in the definition's order.",
    answers: { 200: "A page of actions." },
    route: "GET /api/v1/connectors/:ctr/actions",
    query: PartList,
    output: page(ActionSummary),
    use: (reads, { context, path, query }) => readReply(context, reads.listActions(context, path.ctr, query))
  }),
  ofReads({
    name: "actions.get",
    summary: "Read an action",
    description:
      "Reads an action of the draft, or of the newest version without one. With `version`: that version of the action, from the newest definition that has it.",
    answers: { 200: "The action with all defaults." },
    route: "GET /api/v1/connectors/:ctr/actions/:act",
    query: ActionQuery,
    output: record(ActionPart),
    use: (reads, { context, path, query }) =>
      readReply(context, reads.getAction(context, path.ctr, path.act, query.version))
  }),
  ofChanges({
    name: "actions.create",
    summary: "Add an action",
    description:
      "Adds an action to the draft. The whole draft is validated, and mistakes have their paths in it. A name that an action had before gets a version above that one's.",
    answers: { 201: "The action with all defaults." },
    example: { name: "getContact", request: { method: "GET", path: "/contacts/{{args.id}}" } },
    route: "POST /api/v1/connectors/:ctr/actions",
    body: ActionPart,
    output: newRecord(ActionPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path, body }) =>
      newPartReply(context, parts.actions.create(context, path.ctr, body), (part) => placeOf(path.ctr, part))
  }),
  ofChanges({
    name: "actions.update",
    summary: "Change an action",
    description:
      "Changes an action of the draft by a JSON merge patch (RFC 7396). A published action that changes gets its next version.",
    answers: { 200: "The action with all defaults." },
    example: { title: "All contacts", request: { query: { limit: "{{args.limit ?? 50}}" } } },
    route: "PATCH /api/v1/connectors/:ctr/actions/:act",
    body: PatchBody,
    output: record(ActionPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path, body }) => partReply(context, parts.actions.update(context, path.ctr, path.act, body))
  }),
  ofChanges({
    name: "actions.delete",
    summary: "Remove an action",
    description: "Removes an action from the draft. Published versions keep it. Fails if another part refers to it.",
    answers: { 204: "The action is removed." },
    route: "DELETE /api/v1/connectors/:ctr/actions/:act",
    output: empty,
    form: { idempotency: "lease" },
    use: (parts, { context, path }) => removedReply(context, parts.actions.remove(context, path.ctr, path.act))
  }),
  ofChanges({
    name: "actions.newVersion",
    summary: "Replace an action by a new version",
    description:
      "Replaces an action of the draft by its next version, whatever `version` the body has. Workflows that are bound to an earlier version keep it. Fails with 409 if the action equals its published version.",
    answers: { 201: "The action with its version." },
    example: {
      name: "listContacts",
      title: "List contacts",
      request: { method: "GET", path: "/contacts", query: { limit: "{{args.limit ?? 50}}" } }
    },
    route: "POST /api/v1/connectors/:ctr/actions/:act/versions",
    body: ActionPart,
    output: newRecord(ActionPart),
    form: { idempotency: "lease" },
    use: (parts, { context, path, body }) =>
      newPartReply(
        context,
        parts.actions.newVersion(context, path.ctr, path.act, body),
        (part) => `${placeOf(path.ctr, part)}?version=${part["version"]}`
      )
  }),
  ofReads({
    name: "actions.versions",
    summary: "List the versions of an action",
    description:
      "Lists the versions of an action, newest first, with the first version of the connector that has each.",
    answers: { 200: "A page of versions." },
    route: "GET /api/v1/connectors/:ctr/actions/:act/versions",
    query: PartList,
    output: page(ActionVersionView),
    use: (reads, { context, path, query }) => readReply(context, reads.listVersions(context, path.ctr, path.act, query))
  })
] as const
