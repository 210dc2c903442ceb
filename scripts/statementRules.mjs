// Rules on the texts of statements. A value that may be null is compared by `=` or `<>` only where this file says why: the
// comparison is null then, neither true nor false. What stands in a text, other than parameters, is made of constants.
import ts from "typescript"

/**
 * Comparisons with a value that may be null, each looked at: `finds nothing` where that is meant, `assigned` in a list of
 * assignments, `asked before` where the statement or the code asks for null first.
 */
const reviewed = {
  "src/runtime/cluster/Seat.ts: address = $1 address": "finds nothing",
  "src/runtime/postgres/connection/ConnectSessionRows.ts: verifier = verifier": "assigned",
  "src/runtime/postgres/connection/ConnectionReads.ts: customer_id = $2 customerId": "finds nothing",
  "src/runtime/postgres/connection/ConnectionReads.ts: id = $5 named": "asked before, and ordered with NULLS LAST",
  "src/runtime/postgres/connection/ConnectionReads.ts: label = $5 named": "asked before",
  "src/runtime/postgres/connection/ConnectionReads.ts: user_id = $3 userId": "finds nothing",
  "src/runtime/postgres/connection/ConnectionReads.ts: user_id = $4 userId": "finds nothing",
  "src/runtime/postgres/connection/ConnectionStore.ts: error = error": "assigned",
  'src/runtime/postgres/delivery/Deliveries.ts: last_error = $6 verdict._tag === "Delivered" ? null : verdict.reason':
    "assigned",
  "src/runtime/postgres/delivery/Deliveries.ts: last_status = $5 verdict.status": "assigned",
  "src/runtime/postgres/delivery/WebhookSecretReads.ts: s.customer_id = customerId": "finds nothing",
  "src/runtime/postgres/delivery/WebhookSecretReads.ts: s.space = spaceId": "asked before",
  "src/runtime/postgres/event/DeadLetters.ts: replay_cause = resolved?.cause ?? null": "assigned",
  "src/runtime/postgres/event/EventReads.ts: customer_id = customerIds[0]": "asked before",
  "src/runtime/postgres/journal/JournalReads.ts: id = $1 record.parentId": "finds nothing",
  "src/runtime/postgres/journal/RefusedChange.ts: epoch = $3 change.epoch ?? change.open?.epoch": "finds nothing",
  "src/runtime/postgres/organisation/InstallationReads.ts: c.value = connectionId": "finds nothing",
  "src/runtime/postgres/run/RunReads.ts: id = reader.installationId": "finds nothing",
  "src/runtime/postgres/run/RunReads.ts: s.customer_id = reader.customerId": "finds nothing",
  "src/runtime/postgres/run/RunReads.ts: scope_id = reader.workflowId": "finds nothing",
  "src/runtime/postgres/run/Runnables.ts: customer_id = $4 customer": "finds nothing",
  "src/runtime/postgres/run/SyncReports.ts: op = $3 op ?? null": "asked before",
  "src/runtime/postgres/trigger/Schedules.ts: next_fire_at = $2 nextAt === null ? null : new Date(nextAt)": "assigned",
  "src/runtime/postgres/trigger/TriggerDisabling.ts: auto_disabled_at = $2 autoDisabledAt": "assigned",
  "src/runtime/postgres/unified/FieldMapReads.ts: customer_id = query.customerId": "finds nothing",
  "src/runtime/postgres/workflow/Deploying.ts: customer_id = customerId": "finds nothing, or asked before",
  "src/runtime/postgres/workflow/Deploying.ts: e.customer_id = $1 customerId": "asked before",
  "src/runtime/postgres/workflow/Deploying.ts: s.customer_id = $1 customerId": "asked before"
}

const nothing = ts.TypeFlags.Null | ts.TypeFlags.Undefined

/** Calls that give a value its parameter: `add(value)` returns `$3`, `is(column, value)` a comparison with it. */
const isParameter = (node) => ts.isCallExpression(node) && /^(?:add|is$)/.test(node.expression.getText())

/** What a function takes as a part of a statement has one of these names: values of tenants never have. */
const parts =
  /^(?:tables?|columns?|conditions?|statements?|assignments|text|part|select|change|lock|member|write|hashes|settings|task|\w+Sql)$/

/** The types of objects that describe tables and work. */
const descriptions = new Set(["Table", "WorkKind", "LeasedKind"])

const comparison = /([\w."]+)\s*(=|<>|!=)\s*$/

/** Statements: tagged by the client, or the first argument of these methods. */
const isStatementCall = (node) =>
  ts.isCallExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  ["unsafe", "query"].includes(node.expression.name.text)

const wrappers = [ts.isParenthesizedExpression, ts.isAsExpression, ts.isNonNullExpression, ts.isSpreadElement]

/** The expressions that an expression is made of; `undefined`: it is a name, a call or a member. */
const madeOf = (node) => {
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression)
  if (wrappers.some((is) => is(node))) return [node.expression]
  if (ts.isBinaryExpression(node)) return [node.left, node.right]
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse]
  if (ts.isArrayLiteralExpression(node)) return node.elements
  if (ts.isArrowFunction(node)) return ts.isBlock(node.body) ? [] : [node.body]
  return undefined
}

const makeReader = (program) => {
  const checker = program.getTypeChecker()
  const mayBeNull = (node) => {
    const type = checker.getTypeAtLocation(node)
    return (type.isUnion() ? type.types : [type]).some(({ flags }) => (flags & nothing) !== 0)
  }

  const declarationOf = (node) => {
    let symbol = checker.getSymbolAtLocation(node)
    if (symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0) symbol = checker.getAliasedSymbol(symbol)
    return symbol?.valueDeclaration
  }

  /** The text of a constant, as far as it is known: that of parameters of functions is not. */
  const textOf = (node, depth = 0) => {
    if (node === undefined || depth > 8) return ""
    const inner = (one) => textOf(one, depth + 1)
    if (ts.isStringLiteralLike(node)) return node.text
    if (ts.isTemplateExpression(node))
      return node.head.text + node.templateSpans.map((span) => inner(span.expression) + span.literal.text).join("")
    if (ts.isBinaryExpression(node)) return inner(node.left) + inner(node.right)
    if (ts.isConditionalExpression(node)) return `${inner(node.whenTrue)} ; ${inner(node.whenFalse)}`
    if (ts.isCallExpression(node)) return node.arguments.map(inner).join(" ; ")
    if (!ts.isIdentifier(node)) return ""
    const declaration = declarationOf(node)
    return declaration !== undefined && ts.isVariableDeclaration(declaration) ? inner(declaration.initializer) : ""
  }

  const isLiteralType = (node) => {
    const type = checker.getTypeAtLocation(node)
    return (type.isUnion() ? type.types : [type]).every(
      ({ flags }) =>
        (flags & (ts.TypeFlags.StringLiteral | ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike | nothing)) !== 0
    )
  }

  const isText = (node) => {
    const type = checker.getTypeAtLocation(node)
    return (type.isUnion() ? type.types : [type]).some(
      ({ flags }) => (flags & (ts.TypeFlags.String | ts.TypeFlags.Any | ts.TypeFlags.TemplateLiteral)) !== 0
    )
  }

  /** Whether a parameter is that of a function in a call, such as of `map`: then its values are those of the receiver. */
  const receiverOf = (parameter) => {
    const call = parameter.parent.parent
    return ts.isArrowFunction(parameter.parent) &&
      ts.isCallExpression(call) &&
      ts.isPropertyAccessExpression(call.expression)
      ? call.expression.expression
      : undefined
  }

  /** What of a name's value is not made of constants. */
  const foreignInName = (node, inner) => {
    const declaration = declarationOf(node)
    if (declaration === undefined) return isText(node) ? [node] : []
    if (ts.isVariableDeclaration(declaration))
      return declaration.initializer === undefined ? [] : inner(declaration.initializer)
    if (isPart(node)) return []
    if (ts.isBindingElement(declaration)) return ofConstant(node) ? [] : [node]
    if (!ts.isParameter(declaration)) return []
    const receiver = receiverOf(declaration)
    return receiver === undefined ? [node] : inner(receiver)
  }

  /** The parts of an expression that are texts and not made of constants. */
  const foreignIn = (node, depth = 0) => {
    if (depth > 20) return [node]
    if (ts.isStringLiteralLike(node) || isParameter(node) || isLiteralType(node)) return []
    const inner = (one) => foreignIn(one, depth + 1)
    const whole = madeOf(node)
    if (whole !== undefined) return whole.flatMap(inner)
    if (ts.isIdentifier(node)) return foreignInName(node, inner)
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node))
      return ofConstant(node.expression) || isPart(node.expression) ? [] : [node]
    if (!ts.isCallExpression(node)) return isText(node) ? [node] : []
    const receiver = ts.isPropertyAccessExpression(node.expression) ? [node.expression.expression] : []
    return [...receiver, ...node.arguments.filter((one) => isText(one) || ts.isArrowFunction(one))].flatMap(inner)
  }

  const isPart = (node) => ts.isIdentifier(node) && parts.test(node.text)

  /** Whether an object is a constant, or a description of a table or of work. */
  const ofConstant = (node) => {
    const { aliasSymbol, symbol } = checker.getTypeAtLocation(node)
    if (descriptions.has((aliasSymbol ?? symbol)?.name)) return true
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) return ofConstant(node.expression)
    if (ts.isCallExpression(node)) return foreignIn(node).length === 0
    if (!ts.isIdentifier(node)) return false
    let declaration = declarationOf(node)
    while (declaration !== undefined && ts.isBindingElement(declaration)) declaration = declaration.parent.parent
    return (
      declaration !== undefined &&
      ts.isVariableDeclaration(declaration) &&
      ts.isSourceFile(declaration.parent.parent.parent)
    )
  }

  /** Comparisons with what may be null, and parts of texts that are no constants, as `file: text`. */
  return (source) => {
    const nulls = []
    const foreign = []
    const visit = (node) => {
      if (ts.isTemplateExpression(node)) {
        let before = node.head.text
        for (const { expression, literal } of node.templateSpans) {
          const [text] = comparison.exec(before) ?? []
          const value = isParameter(expression) ? expression.arguments[0] : expression
          const isValue = isParameter(expression) || ts.isTaggedTemplateExpression(node.parent)
          if (text !== undefined && isValue && mayBeNull(value)) nulls.push(`${text.trim()} ${value.getText()}`)
          before = literal.text
        }
      }
      if (isStatementCall(node)) {
        const [text, values] = node.arguments
        if (values !== undefined && ts.isArrayLiteralExpression(values))
          for (const [match, , , place] of textOf(text).matchAll(/([\w."]+)\s*(=|<>|!=)\s*\$(\d+)/g)) {
            const value = values.elements[Number(place) - 1]
            if (value !== undefined && !ts.isSpreadElement(value) && mayBeNull(value))
              nulls.push(`${match} ${value.getText()}`)
          }
        if (text !== undefined && node.expression.name.text === "unsafe")
          foreign.push(...foreignIn(text).map((one) => one.getText().slice(0, 80)))
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
    return { nulls, foreign }
  }
}

/** What is wrong with the statements of these files of a program, as sentences. `accepted`: the comparisons that were looked at. */
export const statementProblems = (program, files, accepted = reviewed) => {
  const read = makeReader(program)
  const found = new Set()
  const problems = files.flatMap((file) => {
    const source = program.getSourceFile(file)
    if (source === undefined || !/\b(?:unsafe|query)\(|\bsql\b/.test(source.text)) return []
    const { foreign, nulls } = read(source)
    const places = nulls.map((text) => `${file}: ${text}`)
    for (const place of places) found.add(place)
    return [
      ...places
        .filter((place) => !Object.hasOwn(accepted, place))
        .map(
          (place) =>
            `${place}: the value may be null, and the comparison is null then; write IS NOT DISTINCT FROM, or say in scripts/statementRules.mjs why it is right`
        ),
      ...foreign.map(
        (text) => `${file}: ${text} stands in the text of a statement, and is neither a constant nor a parameter`
      )
    ]
  })
  const gone = Object.keys(accepted).filter((place) => !found.has(place))
  return [...problems, ...gone.map((place) => `${place}: scripts/statementRules.mjs names it, and it is gone`)]
}
