/** Completes the API of a workflow's code: `svc`, the context, connectors, their actions, and the arguments of these. */
import {
  type Completion,
  type CompletionResult,
  type CompletionSource,
  snippetCompletion
} from "@codemirror/autocomplete"
import { syntaxTree } from "@codemirror/language"
import type { EditorState } from "@codemirror/state"
import type { EditorKnowledge, JsonSchema, KnownAction } from "./Knowledge.js"
import { recordMembers } from "./Records.js"

const call = (label: string, template: string, detail: string, info: string): Completion =>
  snippetCompletion(template, { label, type: "function", detail, info })
const member = (label: string, detail: string): Completion => ({ label, type: "property", detail })

/** The members of what the workflow's API has, by their path. */
const members: Readonly<Record<string, ReadonlyArray<Completion>>> = {
  svc: [
    member("connector", "actions of connectors"),
    call(
      "step",
      'step("${name}", async (svc) => {\n\t${}\n})',
      "(name, options?, body)",
      "Names a part of the code, which is retried and traced as one step."
    ),
    call(
      "approval",
      'approval("${name}", { message: "${}", approvers: ["${owner}"] })',
      "(name?, options)",
      "Asks people, and waits until one of them decides. Tier long only."
    ),
    call(
      "notify",
      'notify({ channel: "in_app", body: "${}" })',
      "(message)",
      "Sends a notification, once however often the run is replayed."
    ),
    member("db", "the workspace's own Postgres"),
    member("state", "values that outlive a run"),
    member("secrets", "stored secrets"),
    member("envConfig", "configuration"),
    member("unified", "records in one form over connectors"),
    member("cdm", "records of the common data model"),
    member("sync", "pairs of records in two systems"),
    member("diff", "differences of two lists of records")
  ],
  "svc.db": [
    call("query", 'query("${SELECT 1}", [${}])', "(sql, values)", "Runs one statement and gives its rows."),
    call(
      "transaction",
      'transaction(async (tx) => {\n\tawait tx.query("${}")\n})',
      "(body)",
      "Runs statements that take effect together."
    )
  ],
  "svc.state": [
    call("get", 'get("${key}")', "(key)", "The value, or null."),
    call("set", 'set("${key}", ${value})', "(key, value)", "Stores a value of at most 256 KiB."),
    call("delete", 'delete("${key}")', "(key)", "Removes a value."),
    call("increment", 'increment("${key}", ${1})', "(key, by)", "Adds to a number, and gives the sum."),
    call(
      "compareAndSet",
      'compareAndSet("${key}", ${before}, ${after})',
      "(key, before, after)",
      "Stores a value if the stored one is as expected."
    )
  ],
  "svc.secrets": [call("get", 'get("${NAME}")', "(name)", "The value of a secret.")],
  "svc.envConfig": [
    call(
      "get",
      'get("${KEY}")',
      "(key)",
      "The most specific value: workflow, integration, customer, organisation, platform."
    )
  ],
  "svc.diff": [
    call(
      "compare",
      'compare({ name: "${contacts}", source: ${}, target: ${}, key: "id" })',
      "(lists)",
      "What the target lacks, what differs, and what the source lacks; stored as a report."
    )
  ],
  "svc.sync": [
    call(
      "upsert",
      "upsert({ entityType: ${}, source: ${}, target: ${} })",
      "(request)",
      "Keeps two systems' records paired."
    )
  ],
  ctx: [
    member("input", "the input of the run"),
    member("headers", "headers of the request"),
    member("customer", "the customer, or null"),
    member("installation", "{ id, config }, or null"),
    member("event", "the event of a trigger"),
    member("execution", "{ id, attempt, environment, workflowVersion }")
  ],
  "ctx.execution": ["id", "attempt", "environment", "workflowVersion"].map((name) => member(name, "")),
  "ctx.installation": ["id", "config"].map((name) => member(name, "")),
  console: ["log", "info", "warn", "error", "debug"].map((name) => ({
    label: name,
    type: "function",
    detail: "to the run's log"
  })),
  crypto: ["randomUUID", "getRandomValues", "subtle"].map((name) => member(name, ""))
}

const globals: ReadonlyArray<Completion> = [
  { label: "svc", type: "variable", detail: "connectors, steps, state …" },
  { label: "ctx", type: "variable", detail: "input, customer, event …" },
  ...["fetch", "setTimeout", "structuredClone", "queueMicrotask", "atob", "btoa"].map((label) => ({
    label,
    type: "function"
  })),
  ...[
    "ConnectorError",
    "Headers",
    "Request",
    "Response",
    "AbortController",
    "URL",
    "URLSearchParams",
    "TextEncoder",
    "TextDecoder",
    "Math",
    "JSON",
    "Object",
    "Array",
    "Date",
    "Map",
    "Set",
    "Promise",
    "String",
    "Number",
    "BigInt",
    "RegExp",
    "console",
    "crypto"
  ].map((label) => ({ label, type: "class" })),
  snippetCompletion("for await (const page of svc.connector.${slug}.${action}.pages({ ${} })) {\n\t\n}", {
    label: "pages",
    type: "keyword",
    detail: "all pages of an action"
  })
]

const ofSchema = ({ properties = {}, required = [] }: JsonSchema): ReadonlyArray<Completion> =>
  Object.entries(properties).map(([label, { description, type }]) => ({
    label,
    type: "property",
    detail: [required.includes(label) ? "required" : "", Array.isArray(type) ? type.join(" or ") : (type ?? "")]
      .filter(Boolean)
      .join(", "),
    ...(description === undefined ? {} : { info: description })
  }))

/** Slugs and names as code has them: `cin7-core` is `cin7_core`. */
const inCode = (slug: string): string => slug.replaceAll("-", "_")
const isConnectorPath = (path: string): boolean => path === "svc.connector" || path === "svc.connectors"

const actionOf = (path: string, { connectors = [] }: EditorKnowledge): KnownAction | undefined => {
  const [, slug, name] = /^(?:\w+)\.connectors?\.(\w+)\.(\w+)/.exec(path) ?? []
  return connectors.find((one) => inCode(one.slug) === slug)?.actions.find((one) => one.name === name)
}

/** What stands behind a path, such as `svc.connector.github`. */
const membersOfPath = (path: string, known: EditorKnowledge): ReadonlyArray<Completion> => {
  const { connectors = [], input } = known
  if (isConnectorPath(path))
    return connectors.map(({ name, slug }) => ({ label: inCode(slug), type: "namespace", detail: name }))
  const slug = /^svc\.connectors?\.(\w+)$/.exec(path)?.[1]
  if (slug !== undefined)
    return (connectors.find((one) => inCode(one.slug) === slug)?.actions ?? []).map(({ name, title }) =>
      snippetCompletion(`${name}({ \${} })`, {
        label: name,
        type: "method",
        ...(title === undefined ? {} : { detail: title })
      })
    )
  if (path === "ctx.input" && input !== undefined) return ofSchema(input)
  if (actionOf(path, known) !== undefined)
    return [
      call("pages", "pages({ ${} })", "(args)", "Goes through the pages of the answer."),
      call("all", "all({ ${} }, { max: ${1000} })", "(args, { max })", "Collects the items of all pages.")
    ]
  return recordMembers(path) ?? members[path] ?? []
}

/** The action whose arguments are typed, if the place is a name inside of its first object. */
const calledAction = (state: EditorState, pos: number, known: EditorKnowledge): KnownAction | undefined => {
  for (let node = syntaxTree(state).resolveInner(pos, -1), depth = 0; depth < 8; depth++) {
    if (node.name === "ObjectExpression" && node.parent?.name === "ArgList") {
      const callee = node.parent.parent?.firstChild
      const text = callee === null || callee === undefined ? "" : state.sliceDoc(callee.from, callee.to)
      return actionOf(text.replaceAll(/\s/g, ""), known)
    }
    if (node.parent === null) return undefined
    node = node.parent
  }
  return undefined
}

const silent = ["String", "LineComment", "BlockComment", "TemplateString", "RegExp"]

/** Members behind a path that ends at the place. */
const ofPath = (pos: number, typed: string, known: EditorKnowledge): CompletionResult | null => {
  const parts = typed.replaceAll(/\s/g, "").split(".")
  const last = parts.pop() ?? ""
  return resultOf(pos - last.length, membersOfPath(parts.join("."), known))
}

const resultOf = (from: number, options: ReadonlyArray<Completion>): CompletionResult | null =>
  options.length === 0 ? null : { from, options, validFor: /^[\w$]*$/ }

/** Arguments of the action that is called, if a member's name begins at `from`. */
const ofArguments = (state: EditorState, from: number, known: EditorKnowledge): CompletionResult | null => {
  if (!/[{,]\s*$/.test(state.sliceDoc(Math.max(0, from - 40), from))) return null
  const schema = calledAction(state, from, known)?.inputSchema
  const options = schema === undefined ? [] : ofSchema(schema)
  return resultOf(
    from,
    options.map((one) => ({ ...one, apply: `${one.label}: ` }))
  )
}

/** `knowledge` is asked at each completion, since what is known may be loaded later. */
export const guestCompletion =
  (knowledge: () => EditorKnowledge): CompletionSource =>
  (context) => {
    const { explicit, pos, state } = context
    const known = knowledge()
    if (silent.includes(syntaxTree(state).resolveInner(pos, -1).name)) return null
    const path = context.matchBefore(/[A-Za-z_$][\w$]*(?:\s*\.\s*[\w$]*)+$/)
    if (path !== null) return ofPath(pos, path.text, known)
    const word = context.matchBefore(/[\w$]+$/)
    if (word === null && !explicit) return null
    const from = word?.from ?? pos
    return ofArguments(state, from, known) ?? resultOf(from, globals)
  }
