/** Bindings of a workflow's code to versions of connector actions, frozen when it is published. Contract: versioning policy. */
import { Schema } from "effect"
import { isObject, type Json } from "../Json.js"
import { findAction, type ConnectorDefinition } from "./Definition.js"

/** An action that the code calls, with its version. */
export const BoundAction = Schema.Struct({
  /** The slug; in a draft, the spelling of the code. `*`: computed at run time. `unified`, `cdm`: common records. */
  connector: Schema.String,
  action: Schema.String.annotations({ description: "`*`: any action of the connector." }),
  version: Schema.NullOr(Schema.Number).annotations({
    description:
      "null: the newest. So for a draft, and for an action that did not exist when the version was published. Of common records: the revision of the organisation's field maps and connectors."
  }),
  perCustomer: Schema.Boolean.annotations({ description: "Each customer's own connection is used." })
}).annotations({ identifier: "BoundAction" })
export type BoundAction = typeof BoundAction.Type

/** A slug as a JavaScript name: `acmeCrm` for `acme-crm`. */
export const camelSlug = (slug: string): string =>
  slug.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** The slugs that a name in code can mean, the likeliest first. */
export const possibleSlugs = (written: string): ReadonlyArray<string> => {
  const dashed = written.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return dashed === written ? [written] : [dashed, written]
}

/** Reads stored bindings; those of a draft have no version. */
export const readBindings = (stored: Json): ReadonlyArray<BoundAction> =>
  (Array.isArray(stored) ? stored : []).flatMap((one: Json) => {
    if (!isObject(one)) return []
    const { action, connector, version } = one
    return typeof connector === "string" && typeof action === "string"
      ? [{ connector, action, version: typeof version === "number" ? version : null, perCustomer: true }]
      : []
  })

const isSpellingOf = (written: string, slug: string): boolean => written === slug || camelSlug(slug) === written

/** The binding of a call in the code; `undefined` if it is not bound. */
export const findBinding = (
  bindings: ReadonlyArray<BoundAction>,
  connector: string,
  action: string
): Pick<BoundAction, "connector" | "version"> | undefined => {
  const own = bindings.filter(
    (one) => one.connector !== "*" && (isSpellingOf(connector, one.connector) || one.connector === connector)
  )
  return own.find((one) => one.action === action) ?? own.find((one) => one.action === "*")
}

/** The slug of a connector that the code names. */
export const boundSlug = (bindings: ReadonlyArray<BoundAction>, connector: string, action: string): string => {
  const bound = findBinding(bindings, connector, action)?.connector ?? connector
  return possibleSlugs(bound)[0] ?? bound
}

/** The binding with the action's current version. */
export const freezeBinding = (binding: BoundAction, definition: ConnectorDefinition | undefined): BoundAction => {
  if (definition === undefined) return binding
  const version = binding.action === "*" ? null : (findAction(definition, binding.action)?.version ?? null)
  return { ...binding, connector: definition.slug, version }
}
