/**
 * Widgets: which connectors, integrations and actions a company's panel offers its customers, in which look, and on which
 * pages. Publishing freezes a numbered version, which the sessions of a widget keep. Contract: widget record.
 */
import { Schema } from "effect"
import { EmbedOrigins } from "../access/EmbedOrigin.js"
import { withDefault } from "../connector/Members.js"
import type { Mistakes } from "../expression/Checks.js"
import { OrganisationId, WidgetId } from "../Ids.js"
import { canonicalJson, JsonObject, storedDocument } from "../Json.js"
import { installationLimits } from "../Limits.js"
import { generatedValue, hidden, optional, owner, recordOf, required } from "../Record.js"
import { Slug } from "../Slug.js"
import { AnsweredTime } from "../Time.js"
import { formMistakes } from "./WidgetForm.js"
import { ThemeView, WidgetTheme } from "./WidgetTheme.js"

/** Widgets of one organisation, versions of one widget, what one offers, and characters of its texts. */
export const widgetLimits = {
  widgets: 100,
  versions: 1_000,
  name: 200,
  connectors: 50,
  integrations: 50,
  actions: 50,
  title: 200,
  description: 2_000,
  confirm: 500,
  /** Bytes of JSON of all features. */
  features: 64 * 1024
} as const

/** The languages of the panel. */
export const Locale = Schema.Literal("en", "de")
export type Locale = typeof Locale.Type

// --- What a widget offers ---

/** An issue for each item of a list that has the value of an earlier one in this member. */
const repeated = <Member extends string>(
  member: Member,
  list: ReadonlyArray<{ readonly [M in Member]: string }>
): ReadonlyArray<Schema.FilterIssue> => {
  const first = new Map(list.map((one, at) => [one[member], at] as const).toReversed())
  return list.flatMap((one, at) =>
    first.get(one[member]) === at ? [] : [{ path: [at, member], message: "is that of another one: choose another" }]
  )
}

const isDistinct = (values: ReadonlyArray<string>): boolean => new Set(values).size === values.length

const connectorSlugs = (most: number) =>
  Schema.Array(Slug).pipe(
    Schema.maxItems(most),
    Schema.filter((all) => isDistinct(all) || "must name each connector once")
  )

const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))
const Title = text(widgetLimits.title).pipe(Schema.minLength(1))
const Form = Schema.NullOr(JsonObject)

const workflowName = Schema.String.pipe(Schema.maxLength(64))

const Integration = Schema.Struct({
  slug: Slug.annotations({ description: "The `integration` of the installations that are made of it." }),
  title: Title,
  description: withDefault(text(widgetLimits.description), () => ""),
  connectors: withDefault(connectorSlugs(installationLimits.connections), () => []),
  workflowIds: withDefault(
    Schema.Array(workflowName).pipe(
      Schema.maxItems(installationLimits.workflows),
      Schema.filter((all) => isDistinct(all) || "must name each workflow once")
    ),
    () => []
  ),
  configSchema: withDefault(
    Form,
    () => null,
    "JSON Schema (2020-12) of its settings: an object of texts, numbers, choices and one level of objects of these."
  )
})

const Action = Schema.Struct({
  id: Slug,
  title: Title,
  workflowId: workflowName,
  inputSchema: withDefault(Form, () => null, "JSON Schema (2020-12) of the workflow's input, as that of settings."),
  confirm: withDefault(
    Schema.NullOr(text(widgetLimits.confirm).pipe(Schema.minLength(1))),
    () => null,
    "The question that is asked before the workflow starts."
  )
})

const utf8 = new TextEncoder()

/** What the panel offers besides accounts. */
const FeatureMembers = Schema.Struct({
  integrations: withDefault(
    Schema.Array(Integration).pipe(
      Schema.maxItems(widgetLimits.integrations),
      Schema.filter((all) => repeated("slug", all))
    ),
    () => []
  ),
  actions: withDefault(
    Schema.Array(Action).pipe(
      Schema.maxItems(widgetLimits.actions),
      Schema.filter((all) => repeated("id", all))
    ),
    () => []
  ),
  runs: withDefault(Schema.Boolean, () => false, "Whether customers see their runs."),
  disconnect: withDefault(Schema.Boolean, () => true, "Whether customers may disconnect accounts.")
})
const WidgetFeatures = FeatureMembers.pipe(
  Schema.filter(
    (features) =>
      utf8.encode(JSON.stringify(features)).length <= widgetLimits.features ||
      `must have at most ${widgetLimits.features} bytes of JSON`
  )
)
/** What a widget offers besides accounts. */
export type WidgetFeatures = typeof WidgetFeatures.Type

/** What a widget offers besides accounts unless it says so. */
export const noFeatures: WidgetFeatures = { integrations: [], actions: [], runs: false, disconnect: true }

// --- The records ---

const StoredTheme = storedDocument<WidgetTheme>()
const StoredFeatures = storedDocument<WidgetFeatures>()
const FeaturesView = Schema.typeSchema(FeatureMembers)
const Texts = Schema.Array(Schema.String)

/** A widget with its draft: its record, bodies and view. Times are RFC 3339. */
export const Widget = recordOf("Widget", {
  id: generatedValue(WidgetId),
  organisationId: owner(OrganisationId),
  name: required(Schema.String, text(widgetLimits.name).pipe(Schema.minLength(1))),
  slug: optional(Schema.String, undefined, Slug),
  connectors: optional(
    Texts,
    [],
    connectorSlugs(widgetLimits.connectors).annotations({ description: "The slugs of the connectors it offers." })
  ),
  theme: optional(StoredTheme, {}, WidgetTheme, ThemeView),
  locale: optional(Locale, "en"),
  allowedOrigins: optional(
    Texts,
    [],
    EmbedOrigins.annotations({ description: "The origins of the pages that may show it. None: no page may." })
  ),
  features: optional(StoredFeatures, noFeatures, WidgetFeatures, FeaturesView),
  status: generatedValue(Schema.Literal("draft", "published")),
  publishedVersion: generatedValue(
    Schema.NullOr(Schema.Number).annotations({ description: "The number of the version that new sessions have." })
  ),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored widget. */
export type Widget = typeof Widget.stored.Type
export type CreateWidget = typeof Widget.Create.Type
export type UpdateWidget = typeof Widget.Update.Type

/** A published, immutable version: its record and view. The versions of a widget are numbered from 1, without gaps. */
export const WidgetVersion = recordOf("WidgetVersion", {
  organisationId: owner(OrganisationId),
  widgetId: hidden(WidgetId),
  number: generatedValue(Schema.Number),
  name: generatedValue(Schema.String),
  connectors: generatedValue(Texts),
  theme: generatedValue(StoredTheme, ThemeView),
  locale: generatedValue(Locale),
  allowedOrigins: generatedValue(Texts),
  features: generatedValue(StoredFeatures, FeaturesView),
  publishedAt: generatedValue(AnsweredTime),
  publishedBy: generatedValue(Schema.String)
})
/** The stored version. */
export type WidgetVersion = typeof WidgetVersion.stored.Type

/** What publishing freezes. */
export type WidgetContent = Pick<Widget, "name" | "connectors" | "theme" | "locale" | "allowedOrigins" | "features">

/** The content of a draft or a version. */
export const contentOf = ({
  allowedOrigins,
  connectors,
  features,
  locale,
  name,
  theme
}: WidgetContent): WidgetContent => ({ name, connectors, theme, locale, allowedOrigins, features })

/** Whether publishing the one would freeze the same as the other has. */
export const isSameContent = (one: WidgetContent, other: WidgetContent): boolean =>
  canonicalJson(contentOf(one)) === canonicalJson(contentOf(other))

// --- What a widget names ---

/** A record that a widget names, with the place where it does. `id`: of a workflow; of a connector the slug. */
export interface WidgetPart {
  readonly type: "connector" | "workflow"
  readonly id: string
  readonly path: string
}

const partsOfList = (type: WidgetPart["type"], path: string, ids: ReadonlyArray<string>): ReadonlyArray<WidgetPart> =>
  ids.map((id, at) => ({ type, id, path: `${path}[${at}]` }))

/** All connectors and workflows that a widget names, as often as it does. */
export const widgetParts = ({
  connectors,
  features: { actions, integrations }
}: Pick<WidgetContent, "connectors" | "features">): ReadonlyArray<WidgetPart> => [
  ...partsOfList("connector", "connectors", connectors),
  ...integrations.flatMap((one, at) => [
    ...partsOfList("connector", `features.integrations[${at}].connectors`, one.connectors),
    ...partsOfList("workflow", `features.integrations[${at}].workflowIds`, one.workflowIds)
  ]),
  ...actions.map(({ workflowId }, at) => ({
    type: "workflow" as const,
    id: workflowId,
    path: `features.actions[${at}].workflowId`
  }))
]

/** The schemas of a widget's forms, by their paths. */
export const widgetForms = ({
  features: { actions, integrations }
}: Pick<WidgetContent, "features">): { readonly [path: string]: JsonObject } =>
  Object.fromEntries([
    ...integrations.flatMap(({ configSchema }, at) =>
      configSchema === null ? [] : [[`features.integrations[${at}].configSchema`, configSchema] as const]
    ),
    ...actions.flatMap(({ inputSchema }, at) =>
      inputSchema === null ? [] : [[`features.actions[${at}].inputSchema`, inputSchema] as const]
    )
  ])

/** What of its schemas the panel cannot make a form of. */
export const widgetFormMistakes = (content: Pick<WidgetContent, "features">): Mistakes =>
  Object.entries(widgetForms(content)).flatMap(([path, schema]) => formMistakes(path, schema))
