/**
 * Evaluates the expressions, mappings and conditions of a flow, from their description alone: nothing here is shared with the
 * service.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- Documents and data of any kind.
type Any = any

export const isPlain = (value: Any): boolean => typeof value === "object" && value !== null && !Array.isArray(value)

const lookUp = (path: string, scope: Any): Any => {
  let value = scope
  for (const [, name, index] of path.matchAll(/([A-Za-z_]\w*)|\[(\d+)\]/g)) {
    const isMember = name === undefined ? Array.isArray(value) : isPlain(value)
    value = isMember && Object.hasOwn(value, name ?? index ?? "") ? value[name ?? index ?? ""] : undefined
  }
  return value
}

export const expression = /\{\{\s*("\{\{"|[\w.[\]]+)\s*\}\}/g

export const asText = (value: Any): string =>
  value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)

export const render = (template: string, scope: Any): Any => {
  const valueOf = (source: string) => (source === '"{{"' ? "{{" : (lookUp(source, scope) ?? null))
  const [only] = template.matchAll(expression)
  if (only?.[0] === template) return valueOf(only[1] ?? "")
  return template.replaceAll(expression, (_, source: string) => asText(valueOf(source)))
}

export const renderAll = (value: Any, scope: Any): Any => {
  if (typeof value === "string") return render(value, scope)
  if (Array.isArray(value)) return value.map((one) => renderAll(one, scope))
  return isPlain(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, renderAll(one, scope)]))
    : value
}

/** One transform, of those that cannot fail on what the random flows give them. */
const transformed = (value: Any, { args = [], fn }: Any, scope: Any): Any => {
  const values = (paths: ReadonlyArray<string>) =>
    [value, ...paths.map((path) => lookUp(path, scope) ?? null)].filter((one) => one !== null)
  switch (fn) {
    case "CONCAT":
      return values(args.slice(1)).map(asText).join(args[0])
    case "COALESCE":
      return values(args)[0] ?? null
    case "UPPER":
      return value === null ? null : asText(value).toUpperCase()
    case "LOWER":
      return value === null ? null : asText(value).toLowerCase()
    case "TRIM":
      return value === null ? null : asText(value).trim()
    case "ROUND":
      return value === null ? null : Math.round(value)
    case "MULTIPLY":
      return value === null ? null : value * args[0]
    case "ADD":
      return value === null ? null : value + args[0]
    default:
      throw new Error(`another transform: ${fn}`)
  }
}

const mapped = ({ default: or, from, transforms = [] }: Any, scope: Any): Any => {
  const value = transforms.reduce((one: Any, step: Any) => transformed(one, step, scope), lookUp(from, scope) ?? null)
  return value ?? renderAll(or ?? null, scope)
}

export const mapOver = (base: Any, mapping: Any, scope: Any): Any => {
  const made = structuredClone(base)
  for (const [target, of] of Object.entries<Any>(mapping)) {
    const names = target.split(".")
    const last = names.pop() ?? ""
    let at = made
    for (const name of names) at = at[name] = isPlain(at[name]) ? at[name] : {}
    at[last] = isPlain(of) && "from" in of ? mapped(of, scope) : renderAll(of, scope)
  }
  return made
}

/** The value of a condition: what it refers to, if it is one reference and no pattern. */
const comparedWith = ({ op, value }: Any, scope: Any): Any =>
  op !== "matches" && typeof value === "string" && /^\{\{[^{}]*\}\}$/.test(value) ? render(value, scope) : value

export const holds = (condition: Any, scope: Any): boolean => {
  if (condition.all !== undefined) return condition.all.every((one: Any) => holds(one, scope))
  if (condition.any !== undefined) return condition.any.some((one: Any) => holds(one, scope))
  if (condition.not !== undefined) return !holds(condition.not, scope)
  const found = lookUp(condition.path, scope)
  const { op } = condition
  const value = comparedWith(condition, scope)
  const isMissing = found === undefined
  switch (op) {
    case "exists":
      return isMissing !== value
    case "eq":
      return !isMissing && found === value
    case "neq":
      return isMissing || found !== value
    case "gt":
      return typeof found === "number" && typeof value === "number" && found > value
    case "lte":
      return typeof found === "number" && typeof value === "number" && found <= value
    case "in":
      return !isMissing && Array.isArray(value) && value.includes(found)
    case "matches":
      return typeof found === "string" && new RegExp(value).test(found)
    default:
      throw new Error(`another operator: ${op}`)
  }
}
