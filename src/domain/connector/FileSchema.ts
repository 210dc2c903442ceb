/** The JSON Schema of the file `*.connector.json`: by it an editor completes and checks what a person writes. */
import { JSONSchema, Schema, SchemaAST } from "effect"
import { isObject, type Json, type JsonObject } from "../Json.js"
import { ConnectorDefinition, type ConnectorManifest } from "./Definition.js"

/** What may be sent, as a schema by itself: with what is told of each member, which an encoded side lacks. */
const encodedSide = (ast: SchemaAST.AST): SchemaAST.AST => {
  switch (ast._tag) {
    case "Transformation": {
      const { from, to } = ast
      // Defaults are the only transformation there is: names and types are the same on both sides.
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
  told: SchemaAST.TypeLiteral,
  annotations: SchemaAST.Annotations
) =>
  new SchemaAST.TypeLiteral(
    propertySignatures.map(({ isOptional, isReadonly, name, type }) => {
      const named = told.propertySignatures.find((one) => one.name === name)
      return new SchemaAST.PropertySignature(name, encodedSide(type), isOptional, isReadonly, named?.annotations)
    }),
    indexSignatures,
    annotations
  )

const $schema = Schema.optionalWith(Schema.String, { exact: true }).annotations({
  description: "Where an editor finds the schema of this file. It is not kept."
})

/** For documents: what is sent is judged by `validate`. */
export const ConnectorFile = Schema.extend(
  Schema.Struct({ $schema }),
  Schema.make<ConnectorManifest>(encodedSide(ConnectorDefinition.ast))
).annotations({ identifier: "ConnectorDefinition" })

/** The form only: what the parts of a definition say of each other is judged where it is saved. */
export const fileSchema = (): JsonObject => {
  // Its making is plain JSON.
  const made: Json = JSON.parse(JSON.stringify(JSONSchema.make(ConnectorFile, { target: "jsonSchema2020-12" })))
  const { $defs: defs = {}, $schema: dialect = "" } = objectOf(withoutNames(made))
  const { ConnectorDefinition: whole = {}, ...parts } = objectOf(defs)
  return {
    $schema: dialect,
    $id: "urn:svc:connector-definition:1",
    title: "Connector definition",
    description: "How to speak to a system over HTTP, as data: a *.connector.json file of svc. See docs/connectors.md.",
    ...objectOf(whole),
    $defs: parts
  }
}

const objectOf = (value: Json): JsonObject => (isObject(value) ? value : {})

/** The library titles a number `between(1, 10)`. */
const withoutNames = (value: Json): Json => {
  if (isList(value)) return value.map(withoutNames)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) =>
      name === "title" && typeof child === "string" ? [] : [[name, withoutNames(child)]]
    )
  )
}

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)
