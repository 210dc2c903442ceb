/** The JSON Schema of `*.connector.json` files, with which editors complete and check them. */
import { JSONSchema, Schema, SchemaAST } from "effect"
import { isObject, type Json, type JsonObject, isList } from "../Json.js"
import { ConnectorDefinition } from "./Definition.js"

/** The encoded side of a schema with the descriptions of its members, which the library drops. */
const encodedSide = (ast: SchemaAST.AST): SchemaAST.AST => {
  switch (ast._tag) {
    case "Transformation": {
      const { from, to } = ast
      // Defaults are the only transformation, so names and types are the same on both sides.
      return SchemaAST.isTypeLiteral(from) && SchemaAST.isTypeLiteral(to)
        ? encodedMembers(from, to, ast.annotations)
        : ast
    }
    case "TypeLiteral":
      return encodedMembers(ast, ast, ast.annotations)
    case "TupleType":
      return new SchemaAST.TupleType(
        ast.elements,
        ast.rest.map(({ annotations, type }) => new SchemaAST.Type(encodedSide(type), annotations)),
        ast.isReadonly,
        ast.annotations
      )
    case "Union":
      return SchemaAST.Union.make(ast.types.map(encodedSide), ast.annotations)
    default:
      return ast
  }
}

const encodedMembers = (
  { indexSignatures, propertySignatures }: SchemaAST.TypeLiteral,
  described: SchemaAST.TypeLiteral,
  annotations: SchemaAST.Annotations
) =>
  new SchemaAST.TypeLiteral(
    propertySignatures.map(({ isOptional, isReadonly, name, type }) => {
      const named = described.propertySignatures.find((one) => one.name === name)
      return new SchemaAST.PropertySignature(name, encodedSide(type), isOptional, isReadonly, named?.annotations)
    }),
    indexSignatures,
    annotations
  )

/** The schema of a definition's part as it is written, for the documents: with the descriptions of its members. */
export const writtenForm = <A, I>(part: Schema.Schema<A, I>): Schema.Schema<I> => Schema.make(encodedSide(part.ast))

const $schema = Schema.optionalWith(Schema.String, { exact: true }).annotations({
  description: "The location of this schema, for editors. It is not stored."
})

/** The schema of a file for the documents. Requests are checked by `validateDefinition` instead. */
export const ConnectorFile = Schema.extend(Schema.Struct({ $schema }), writtenForm(ConnectorDefinition)).annotations({
  identifier: "ConnectorDefinition"
})

/** The JSON Schema of a file. It checks the form; relations between parts are checked when a definition is saved. */
export const fileSchema = (): JsonObject => {
  // The library's schema is plain JSON.
  const schema: Json = JSON.parse(JSON.stringify(JSONSchema.make(ConnectorFile, { target: "jsonSchema2020-12" })))
  const { $defs: defs = {}, $schema: dialect = "" } = membersOf(withoutTitles(schema))
  const { ConnectorDefinition: definition = {}, ...parts } = membersOf(defs)
  return {
    $schema: dialect,
    $id: "urn:svc:connector-definition:1",
    title: "Connector definition",
    description: "A system's HTTP API described as data: a *.connector.json file of svc. See docs/connectors.md.",
    ...membersOf(definition),
    $defs: parts
  }
}

/** The value if it is an object, else an empty one. */
export const membersOf = (value: Json): JsonObject => (isObject(value) ? value : {})

/** A schema without the titles of the library, such as `between(1, 10)`. */
export const withoutTitles = (value: Json): Json => {
  if (isList(value)) return value.map(withoutTitles)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) =>
      name === "title" && typeof child === "string" ? [] : [[name, withoutTitles(child)]]
    )
  )
}
