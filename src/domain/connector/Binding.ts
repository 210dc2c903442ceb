/** Which actions a workflow's code may call, and in which version: frozen when it is published. Contract: versioning policy. */
import { isObject, type Json } from "../Json.js"
import { findAction, type ConnectorDefinition } from "./Definition.js"

export interface BoundAction {
  /** The slug; before it is published, as the code writes it. `*`: computed. */
  readonly connector: string
  /** `*`: any of the connector's. */
  readonly action: string
  /** `null`: whichever is newest; a draft, or an action that was not there when the workflow was published. */
  readonly version: number | null
  /** Each customer's own connection is used. */
  readonly perCustomer: boolean
}

/** `acme-crm` as a member name of JavaScript. */
export const camelSlug = (slug: string): string =>
  slug.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Slugs that a name in code may stand for, the likeliest first. */
export const possibleSlugs = (written: string): ReadonlyArray<string> => {
  const dashed = written.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return dashed === written ? [written] : [dashed, written]
}

/** Bindings as they are stored: with a version or, of a draft, without. */
export const readBindings = (stored: Json): ReadonlyArray<BoundAction> =>
  (Array.isArray(stored) ? stored : []).flatMap((one: Json) => {
    if (!isObject(one)) return []
    const { action, connector, version } = one
    return typeof connector === "string" && typeof action === "string"
      ? [{ connector, action, version: typeof version === "number" ? version : null, perCustomer: true }]
      : []
  })

const isSpellingOf = (written: string, slug: string): boolean => written === slug || camelSlug(slug) === written

/** What the code's call of a connector's action is bound to; `undefined` where nothing binds it. */
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

/** The slug that the code's spelling of a connector stands for. */
export const boundSlug = (bindings: ReadonlyArray<BoundAction>, connector: string, action: string): string => {
  const bound = findBinding(bindings, connector, action)?.connector ?? connector
  return possibleSlugs(bound)[0] ?? bound
}

/** The binding with the version that the action has now. */
export const freezeBinding = (binding: BoundAction, definition: ConnectorDefinition | undefined): BoundAction => {
  if (definition === undefined) return binding
  const version = binding.action === "*" ? null : (findAction(definition, binding.action)?.version ?? null)
  return { ...binding, connector: definition.slug, version }
}
