// Reads the shapes of types from the source, in the form of `MessageShape` (test/support/messageLock.ts).
import ts from "typescript"

/** The shape of each member of an interface. */
export const typeShapes = (file, name) => {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined }
  const { options } = ts.getParsedCommandLineOfConfigFile("tsconfig.json", { noEmit: true }, host)
  const program = ts.createProgram([file], { ...options, skipLibCheck: true, types: [] })
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const declared = source.statements.find((one) => ts.isInterfaceDeclaration(one) && one.name.text === name)
  const shapeOf = shapesBy(checker, declared)
  return shapeOf(checker.getTypeAtLocation(declared)).members
}

const shapesBy = (checker, node) => {
  /** Named types that are being described: one that contains itself is named. */
  const open = new Set()
  const has = (type, flag) => (type.flags & flag) !== 0
  const isPrimitive = (type) => has(type, ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike)

  const union = (types) => {
    const shapes = types.filter((type) => !has(type, ts.TypeFlags.Undefined)).map(shapeOf)
    const texts = new Map(shapes.map((shape) => [JSON.stringify(shape), shape]))
    // Both literals: any boolean.
    if (texts.delete('{"literal":true}') && texts.delete('{"literal":false}')) texts.set('"boolean"', "boolean")
    const found = [...texts.keys()].sort().map((text) => texts.get(text))
    return found.length === 1 ? found[0] : { anyOf: found }
  }

  const object = (type) => {
    const members = Object.fromEntries(
      checker
        .getPropertiesOfType(type)
        .map((member) => {
          const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0
          return [
            isOptional ? `${member.name}?` : member.name,
            shapeOf(checker.getTypeOfSymbolAtLocation(member, node))
          ]
        })
        .sort(([one], [other]) => (one < other ? -1 : 1))
    )
    const index = checker.getIndexInfoOfType(type, ts.IndexKind.String)
    return { members, ...(index === undefined ? {} : { others: shapeOf(index.type) }) }
  }

  const named = (type, describe) => {
    const name = type.aliasSymbol?.name ?? (type.isClassOrInterface() ? type.symbol.name : undefined)
    if (name === undefined) return describe()
    if (open.has(type)) return { type: name }
    open.add(type)
    const shape = describe()
    open.delete(type)
    return shape
  }

  const shapeOf = (type) => {
    if (type.isStringLiteral() || type.isNumberLiteral()) return { literal: type.value }
    if (has(type, ts.TypeFlags.BooleanLiteral))
      return checker.typeToString(type) === "true" ? { literal: true } : { literal: false }
    if (has(type, ts.TypeFlags.Null)) return "null"
    if (has(type, ts.TypeFlags.StringLike)) return "string"
    if (has(type, ts.TypeFlags.NumberLike)) return "number"
    if (has(type, ts.TypeFlags.BooleanLike)) return "boolean"
    // A branded text or number.
    if (type.isIntersection() && type.types.some(isPrimitive)) return shapeOf(type.types.find(isPrimitive))
    if (type.isUnion()) return named(type, () => union(type.types))
    if (checker.isArrayType(type)) return { items: shapeOf(checker.getTypeArguments(type)[0]) }
    if (checker.isTupleType(type)) return { tuple: checker.getTypeArguments(type).map(shapeOf) }
    if (has(type, ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return named(type, () => object(type))
    return checker.typeToString(type)
  }
  return shapeOf
}
