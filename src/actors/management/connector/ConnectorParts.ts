/**
 * Use cases that change a connector's draft by its actions, auth methods and webhooks, one at a time. Published versions stay
 * as they are. Contract: connector definition; versioning policy.
 */
import { Effect } from "effect"
import { isSameAction } from "../../../domain/connector/Versions.js"
import { findAction } from "../../../domain/connector/Definition.js"
import {
  actionPart,
  addPart,
  authMethodPart,
  findPart,
  type PartKind,
  patchPart,
  putPart,
  removePart,
  replacePart,
  setDefaultMethod,
  webhookPart
} from "../../../domain/connector/part/DefinitionPart.js"
import { Conflict, type Failure } from "../../../domain/Failure.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { CallContext } from "../CallContext.js"
import type { SavedConnector } from "./ConnectorDrafts.js"
import { type DraftEdit, type DraftSource, make as makeDraftEdits } from "./DraftEdits.js"
import { jsonOf } from "./ConnectorRecords.js"

/** A part as it was saved. `revision`: counts the changes of the connector. */
export interface SavedPart {
  readonly part: JsonObject
  readonly revision: number
}

/** The part with this key in a saved connector. */
const savedPart = (
  kind: PartKind,
  key: string,
  { revision, view }: SavedConnector
): Effect.Effect<SavedPart, Failure> =>
  Effect.map(findPart({ ...jsonOf(view), auth: view.authMethods }, kind, key), (part) => ({ part, revision }))

/** The text of a member that validation has found to be one. */
const textOf = (part: JsonObject, member: string): string => String(part[member])

/**
 * A new action's version: above those that an action of this name had before it was removed, to which workflows may still be
 * bound.
 */
const withUnusedVersion = ({ record, tx }: DraftSource, action: JsonObject) => {
  const { name, version } = action
  if (typeof name !== "string") return Effect.succeed(action)
  return Effect.map(tx.actionVersions({ connectorId: record.id, name, limit: 1 }), ([newest]) =>
    newest === undefined || (typeof version === "number" && version > newest.version)
      ? action
      : { ...action, version: newest.version + 1 }
  )
}

const unchanged = (name: string, version: number) =>
  new Conflict({
    code: "CONFLICT",
    message: `the action ${name} is the same as its published version ${version}: a new version needs a change`
  })

const make = Effect.gen(function* () {
  const { edit } = yield* makeDraftEdits

  /** Changes one part. Answers with the part as it was saved. */
  const editPart = (context: CallContext, idOrSlug: string, kind: PartKind, key: string, change: DraftEdit) =>
    Effect.flatMap(edit(context, idOrSlug, { part: `${kind.noun} ${key}`, ...change }), (saved) =>
      savedPart(kind, key, saved)
    )

  /** The operations on parts of one kind. `key`: the part's name or id. */
  const ofKind = (kind: PartKind) => ({
    create: (context: CallContext, idOrSlug: string, part: JsonObject) =>
      editPart(context, idOrSlug, kind, textOf(part, kind.key), {
        changed: ({ document }) => addPart(document, kind, part)
      }),

    /** Replaces the part with the same key, or adds it. */
    put: (context: CallContext, idOrSlug: string, part: JsonObject) =>
      editPart(context, idOrSlug, kind, textOf(part, kind.key), {
        changed: ({ document }) => Effect.succeed(putPart(document, kind, part))
      }),

    /** `patch`: a JSON merge patch of the part. */
    update: (context: CallContext, idOrSlug: string, key: string, patch: JsonObject) =>
      editPart(context, idOrSlug, kind, key, { changed: ({ document }) => patchPart(document, kind, key, patch) }),

    remove: (context: CallContext, idOrSlug: string, key: string) =>
      Effect.map(
        edit(context, idOrSlug, {
          part: `${kind.noun} ${key}`,
          changed: ({ document }) => removePart(document, kind, key)
        }),
        ({ revision }) => revision
      )
  })

  const createAction = (context: CallContext, idOrSlug: string, action: JsonObject) =>
    editPart(context, idOrSlug, actionPart, textOf(action, "name"), {
      changed: (source) =>
        Effect.flatMap(withUnusedVersion(source, action), (versioned) =>
          addPart(source.document, actionPart, versioned)
        )
    })

  /** Replaces an action by its next version, which publication keeps. Fails if it equals the published one. */
  const newVersion = (context: CallContext, idOrSlug: string, name: string, action: JsonObject) =>
    editPart(context, idOrSlug, actionPart, name, {
      changed: ({ document }) =>
        replacePart(document, actionPart, name, ({ version }) => ({ ...action, version: Number(version) + 1 })),
      refusal: (definition, published) => {
        const before = published === undefined ? undefined : findAction(published, name)
        const after = findAction(definition, name)
        return before !== undefined && after !== undefined && isSameAction(before, after)
          ? unchanged(name, before.version)
          : undefined
      }
    })

  /** The others lose it. */
  const setDefault = (context: CallContext, idOrSlug: string, id: string) =>
    editPart(context, idOrSlug, authMethodPart, id, { changed: ({ document }) => setDefaultMethod(document, id) })

  return {
    actions: { ...ofKind(actionPart), create: createAction, newVersion },
    authMethods: { ...ofKind(authMethodPart), setDefault },
    webhooks: ofKind(webhookPart)
  }
})

/** `idOrSlug`: of the connector. A change answers with the part, as later reads show it. */
export class ConnectorParts extends Effect.Service<ConnectorParts>()("svc/ConnectorParts", { effect: make }) {}
