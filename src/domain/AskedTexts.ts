/**
 * Finds where contracts ask for a text: a place of a JSON value at which the schema of one of them names the type `string` and
 * no number. The search is bounded: places beyond its bounds ask for nothing.
 */
import { isList, type Json, type JsonObject } from "./Json.js"

/** Schemas of one place, and places of one value with their members' names, that are looked at. */
const mostSchemas = 64
const mostPlaces = 256
const mostNames = 20_000
/** Contracts that are looked at. */
export const mostContracts = 50

/** A schema at a place, of which contract it is. */
interface PlacedSchema {
  readonly contract: number
  readonly schema: JsonObject
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !isList(value)

const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** The schema of the same document that a reference such as `#/$defs/id` names. */
const referenced = (root: JsonObject, reference: string): Json | undefined => {
  if (!reference.startsWith("#/") || reference.length > 500) return undefined
  let found: Json | undefined = root
  for (const part of reference.slice(2).split("/"))
    found = memberOf(found, part.replaceAll("~1", "/").replaceAll("~0", "~"))
  return found
}

const typesOf = ({ type }: JsonObject): ReadonlyArray<Json> => (isList(type) ? type : type === undefined ? [] : [type])

/** One place of a value. Its members and items are found when they are asked for, each once. */
export interface AskedText {
  readonly isAsked: boolean
  readonly member: (name: string) => AskedText | undefined
  readonly item: (index: number) => AskedText | undefined
}

/** What is left of the bounds. */
interface Budget {
  places: number
  names: number
}

/** The members that schemas name. */
const namesOf = (schemas: ReadonlyArray<PlacedSchema>, budget: Budget): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const { schema } of schemas)
    if (isObject(schema["properties"]))
      for (const name in schema["properties"]) {
        if ((budget.names -= 1) < 0) return names
        names.add(name)
      }
  return names
}

/** A place that was looked for. */
interface Child {
  readonly place: Place | undefined
}

class Place implements AskedText {
  readonly isAsked: boolean
  private readonly schemas: ReadonlyArray<PlacedSchema>
  private readonly names: ReadonlySet<string>
  private readonly prefixes: number
  private readonly members = new Map<string, Child>()
  private readonly first: Array<Child | undefined> = []
  private others: Child | undefined
  private rest: Child | undefined

  constructor(
    private readonly roots: ReadonlyArray<JsonObject>,
    schemas: ReadonlyArray<PlacedSchema>,
    private readonly budget: Budget
  ) {
    this.schemas = expand(roots, schemas)
    this.names = namesOf(this.schemas, budget)
    this.prefixes = Math.max(
      ...this.schemas.map(({ schema: { prefixItems } }) => (isList(prefixItems) ? prefixItems.length : 0))
    )
    const asking = (type: ReadonlyArray<string>) =>
      new Set(
        this.schemas.flatMap(({ contract, schema }) =>
          typesOf(schema).some((one) => typeof one === "string" && type.includes(one)) ? [contract] : []
        )
      )
    const numbers = asking(["number", "integer"])
    this.isAsked = [...asking(["string"])].some((contract) => !numbers.has(contract))
  }

  member(name: string): Place | undefined {
    if (!this.names.has(name))
      return (this.others ??= this.child(({ additionalProperties }) => additionalProperties)).place
    let found = this.members.get(name)
    if (found === undefined) {
      found = this.child(({ additionalProperties, properties }) => memberOf(properties, name) ?? additionalProperties)
      this.members.set(name, found)
    }
    return found.place
  }

  item(index: number): Place | undefined {
    if (index >= this.prefixes) return (this.rest ??= this.child(({ items }) => items)).place
    return (this.first[index] ??= this.child(
      ({ items, prefixItems }) => (isList(prefixItems) ? prefixItems[index] : undefined) ?? items
    )).place
  }

  private child(schemaOf: (schema: JsonObject) => Json | undefined): Child {
    const found = this.schemas.flatMap(({ contract, schema }) => {
      const next = schemaOf(schema)
      return isObject(next) ? [{ contract, schema: next }] : []
    })
    const isBounded = found.length > 0 && (this.budget.places -= 1) >= 0
    return { place: isBounded ? new Place(this.roots, found, this.budget) : undefined }
  }
}

/** The schemas with those that they refer to or combine. */
const expand = (roots: ReadonlyArray<JsonObject>, schemas: ReadonlyArray<PlacedSchema>) => {
  const all = schemas.slice(0, mostSchemas)
  const seen = new Set(all.map(({ schema }) => schema))
  const add = (contract: number, schema: Json | undefined): void => {
    if (!isObject(schema) || seen.has(schema) || all.length >= mostSchemas) return
    seen.add(schema)
    all.push({ contract, schema })
  }
  for (const { contract, schema } of all) {
    const root = roots[contract]
    const { $ref } = schema
    if (typeof $ref === "string" && root !== undefined) add(contract, referenced(root, $ref))
    for (const name of ["allOf", "anyOf", "oneOf"]) {
      const branches = schema[name]
      if (isList(branches)) for (const branch of branches.slice(0, mostSchemas)) add(contract, branch)
    }
    for (const name of ["then", "else"]) add(contract, schema[name])
  }
  return all
}

/** The whole value, by these contracts; `undefined` if there are none. */
export const askedTexts = (contracts: ReadonlyArray<JsonObject>): AskedText | undefined => {
  const roots = contracts.slice(0, mostContracts)
  return roots.length === 0
    ? undefined
    : new Place(
        roots,
        roots.map((schema, contract) => ({ contract, schema })),
        { places: mostPlaces, names: mostNames }
      )
}

/** Everything is asked for as text. */
export const everyText: AskedText = { isAsked: true, member: () => everyText, item: () => everyText }

/** What is asked for in one member of an object; the others ask for nothing. */
export const memberAsked = (name: string, asked: AskedText | undefined): AskedText => ({
  isAsked: false,
  member: (one) => (one === name ? asked : undefined),
  item: () => undefined
})
