/** Builds entities of HubSpot: pairs below `properties`, and the associations of records. */
import type { FieldMapEncoded } from "../../mapping/FieldMap.js"
import { type EntityManifest, pairs } from "../SchemaShorthands.js"
import type { HubspotObject } from "./Requests.js"

type Pairs = ReadonlyArray<FieldMapEncoded>

/** Members that every record has. */
export const hubspotCommon: Pairs = pairs({
  id: "id",
  createdAt: "remoteCreatedAt",
  updatedAt: "remoteUpdatedAt",
  archived: "remoteWasDeleted",
  url: "url"
})

const property = (name: string) => `properties.${name}`

/** Pairs of properties: property → common path. */
export const readProperties = (paths: Readonly<Record<string, string>>): Pairs =>
  Object.entries(paths).map(([name, to]) => ({ from: property(name), to }))

/** The same pairs for writing. HubSpot clears a property by the empty text. */
export const writtenProperties = (paths: Readonly<Record<string, string>>): Pairs =>
  Object.entries(paths).map(([name, from]) => ({ from, to: property(name), default: "" }))

/** A property with words of its own: the provider's word → the common one, of which the first is written. */
export const writtenWords = (from: string, name: string, words: Readonly<Record<string, string>>): FieldMapEncoded => ({
  from,
  to: property(name),
  enum: words,
  default: ""
})

/** Associations with a new record: HubSpot wants the type of each. `from`: the common member. */
export const writtenLinks = (from: string, to: HubspotObject["linked"][number], associationTypeId: number): Pairs => {
  const item = `${to}${from.endsWith("[*]") ? "[*]" : "[0]"}`
  const types = [{ associationCategory: "HUBSPOT_DEFINED", associationTypeId }]
  return [
    { from, to: `${item}.to.id` },
    { from, to: `${item}.types`, enum: {}, fallback: types }
  ]
}

/** The first associated record. */
export const readLink = (from: HubspotObject["linked"][number], to: string): FieldMapEncoded => ({
  from: `associations.${from}.results[0].id`,
  to
})

/** All associated records. */
export const readLinks = (from: HubspotObject["linked"][number], to: string): FieldMapEncoded => ({
  from: `associations.${from}.results[*].id`,
  to: `${to}[*]`
})

type Verbs = Pick<EntityManifest, "args" | "create" | "delete" | "get" | "read" | "search" | "update">

interface HubspotVerbOptions {
  /** Objects whose associated records are read along. */
  readonly associations?: ReadonlyArray<string>
  readonly isSearched: boolean
  readonly isCreated?: boolean
}

/** The actions of an object with their arguments. */
export const hubspotVerbs = (
  { plural, singular }: HubspotObject,
  { associations = [], isCreated = true, isSearched }: HubspotVerbOptions
): Verbs => {
  const wanted = { properties: "{{query.fields}}", ...(associations.length === 0 ? {} : { associations }) }
  return {
    read: `list${plural}`,
    ...(isSearched ? { search: `list${plural}Since` } : {}),
    get: `get${singular}`,
    ...(isCreated ? { create: [`create${singular}`, `get${singular}`] } : {}),
    update: [`update${singular}`, `get${singular}`],
    delete: `delete${singular}`,
    args: {
      read: { limit: "{{query.pageSize}}", ...wanted },
      ...(isSearched
        ? {
            search: {
              limit: "{{query.pageSize}}",
              properties: "{{query.fields}}",
              modifiedAfter: "{{query.modifiedAfter.ms}}",
              createdAfter: "{{query.createdAfter.ms}}"
            }
          }
        : {}),
      get: { id: "{{id}}", ...wanted },
      // The answers to changes have only what was changed.
      ...(isCreated ? { create: [{}, { id: "{{results[0].id}}", ...wanted }] } : {}),
      update: [{ id: "{{id}}" }, { id: "{{id}}", ...wanted }]
    }
  }
}

/** How an object's own properties are read. */
export const describedProperties = (objectType: string): NonNullable<EntityManifest["describe"]> => ({
  action: "listProperties",
  args: { objectType },
  items: "$.results",
  name: "name",
  title: "label",
  type: "type",
  readOnly: { path: "modificationMetadata.readOnlyValue", op: "eq", value: true },
  custom: { not: { path: "hubspotDefined", op: "eq", value: true } }
})
